// The YAML of assembly files: its forms, what is refused, what is written; and that nothing of clang's is lost on the
// way from -S through asm and disasm.
#include "jit/rdna/assembly/assembly_metadata.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "jit/rdna/assembly/assembly_file.h"
#include "jit/rdna/assembly/assembly_object.h"
#include "jit/rdna/assembly/object_listing.h"
#include "jit/rdna/object/elf_reader.h"
#include "jit/rdna/object/loader.h"
#include "tests/host/oracle.h"
#include "tests/host/scratch.h"

namespace riftjit::rdna {
namespace assembly_metadata_test {

constexpr std::string_view kRequired =
    ".symbol: k.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8, .group_segment_fixed_size: 0, "
    ".private_segment_fixed_size: 0, .wavefront_size: 32, .sgpr_count: 8, .vgpr_count: 8, "
    ".max_flat_workgroup_size: 64";

// A kernel with an entry more, which starts in line 12, column 12.
std::string with_entry(std::string_view entry) {
    return fmt::format("amdhsa.version: [1, 2]\namdhsa.kernels:\n  - {{.name: k, {},\n      {}}}\n", kRequired, entry);
}

std::string refusal(std::string_view text) {
    const Result<Metadata> metadata = parse_metadata(text, 9, "k.s");
    return metadata ? "accepted" : metadata.error().message;
}

TEST(AssemblyMetadata, MeansTheSameInBlocksAndInFlows) {
    const Result<Metadata> flow = parse_metadata(
        with_entry(".args: [{.offset: 0x8, .size: 010, .value_kind: global_buffer, .address_space: global, .name: y}], "
                   ".reqd_workgroup_size: [8, 4, 2], .language: \"OpenCL C\""),
        1, "k.s");
    const Result<Metadata> block = parse_metadata(R"(---
amdhsa.version:  # the minor one says 5
  - 1
  - 2
amdhsa.kernels:
  - .args:
      - .offset:  8  ; bytes
        .size:  8  // a pointer
        .value_kind:  'global_buffer'
        .address_space:  "global"
        .name: !str y

    .name: k # comment
    .language: OpenCL C
    .symbol: 'k.kd'
    .reqd_workgroup_size:
    - 8
    - 4
    - 2
    .kernarg_segment_size: 16
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 32
    .sgpr_count: 0b1000
    .vgpr_count: 0o10
    .max_flat_workgroup_size: 64
...
)",
                                                  1, "k.s");
    ASSERT_TRUE(flow) << flow.error().message;
    ASSERT_TRUE(block) << block.error().message;
    EXPECT_EQ(*flow, *block);
    const KernelMetadata& kernel = flow->kernels.at(0);
    EXPECT_EQ(kernel.name, "k");
    EXPECT_EQ(kernel.args.at(0), (KernelArgument{8, 8, ValueKind::global_buffer, AddressSpace::global, "y"}));
    EXPECT_EQ(kernel.required_workgroup_size, (std::array<uint32_t, 3>{8, 4, 2}));
    EXPECT_EQ(kernel.others, (MetadataValue::Map{{".language", {std::string("OpenCL C")}}}));
}

TEST(AssemblyMetadata, SayWhereTheyAreWrong) {
    EXPECT_EQ(refusal(with_entry(".x: 1")), "accepted");
    EXPECT_EQ(refusal(with_entry(".x: a;b")),
              "k.s:12:11: metadata: 'a;b' needs quotes: a comment could begin inside it");
    EXPECT_EQ(refusal(with_entry(".x: &a 3")), "k.s:12:11: metadata: an anchor is not read");
    EXPECT_EQ(refusal(with_entry(".x: &a []")), "k.s:12:11: metadata: an anchor is not read");
    EXPECT_EQ(refusal(with_entry(".x: *a")), "k.s:12:11: metadata: an alias is not read");
    EXPECT_EQ(refusal(with_entry(".x: !foo 3")), "k.s:12:11: metadata: '3' is not read as !foo");
    EXPECT_EQ(refusal(with_entry(".x: !foo [3]")), "k.s:12:11: metadata: the tag !foo is not known");
    EXPECT_EQ(refusal(with_entry(".x: !int three")), "k.s:12:11: metadata: 'three' is not read as !int");
    EXPECT_EQ(refusal(with_entry("[1]: 2")), "k.s:12:7: metadata: a key that is no string");
    EXPECT_EQ(refusal(with_entry(".symbol: m.kd")), "k.s:12:7: metadata: a second value of .symbol");
    EXPECT_EQ(refusal(with_entry(".sgpr_spill_count: few")),
              "k.s:12:26: metadata: kernel \"k\": .sgpr_spill_count 'few' is not a number of 32 bits");
    EXPECT_EQ(refusal(with_entry(".sgpr_spill_count: '8'")),
              "k.s:12:26: metadata: kernel \"k\": .sgpr_spill_count is not a number of 32 bits");
    EXPECT_EQ(refusal(with_entry(".uses_dynamic_stack: 2")),
              "k.s:12:28: metadata: kernel \"k\": .uses_dynamic_stack is neither a boolean nor 0 or 1");
    EXPECT_EQ(refusal(with_entry(".args: [{.offset: 0, .size: 8}]")),
              "k.s:12:15: metadata: kernel \"k\", argument 0: .value_kind is absent");
    EXPECT_EQ(refusal(with_entry(".args: [{.offset: 0, .size: 8, .value_kind: pointer}]")),
              "k.s:12:51: metadata: kernel \"k\", argument 0: unknown .value_kind \"pointer\"");
    EXPECT_EQ(refusal(with_entry(".args: {.offset: 0}")), "k.s:12:14: metadata: kernel \"k\": .args is not an array");
    EXPECT_EQ(refusal(with_entry(".x: " + std::string(1000, '['))), "k.s:12:24: metadata: nested more than 16 deep");
    EXPECT_EQ(refusal(with_entry(".x: 'never ends")),
              "k.s:13:1: metadata: found unexpected end of stream while scanning a quoted scalar (line 12)");
    EXPECT_EQ(refusal("--- 3\n"), "k.s:9:5: metadata: not a map");
    EXPECT_EQ(refusal("--- {}\n--- {}\n"), "k.s:10:1: metadata: a second document");
    EXPECT_EQ(refusal("# nothing\n"), "k.s:9:1: metadata: empty");
    EXPECT_EQ(refusal("a: \xFF\n"), "k.s:9:1: metadata: invalid leading UTF-8 octet");
    EXPECT_EQ(refusal("amdhsa.kernels: []\n"), "k.s:9:1: metadata: amdhsa.version is absent");
}

// Text that looks like something else, quotes, what begins comments, and every character below a blank.
TEST(AssemblyMetadata, SurviveWritingAndReading) {
    Result<Metadata> metadata =
        parse_metadata(with_entry(".x: {a: [], b: {}, c: [[1, -2], {d: on}], e: !nil ''}"), 1, "");
    ASSERT_TRUE(metadata) << metadata.error().message;
    std::string controls;
    for (char c = 1; c < ' '; ++c) controls += c;
    MetadataValue::Array texts;
    for (const std::string& text : {std::string("y"), std::string("0x10"), std::string("1.5"), std::string(""),
                                    std::string("it's; a // \"path\\n\" # 1"), std::string("  a: b  "),
                                    std::string("- [x"), std::string("caf\xC3\xA9"), controls})
        texts.push_back({text});
    metadata->others = {{"amdhsa.printf", {texts}}, {"odd key: #1", {0.1}}};
    const std::string text = format_metadata(*metadata);
    const Result<Metadata> again = parse_metadata(text, 1, "again");
    ASSERT_TRUE(again) << again.error().message << '\n' << text;
    EXPECT_EQ(*again, *metadata) << text;
}

constexpr std::string_view kKernels = R"(
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef struct { int a; float b[3]; } pair_t;
typedef float float4 __attribute__((ext_vector_type(4)));
__attribute__((reqd_work_group_size(64, 2, 1))) kernel void sized(
    global unsigned* restrict o, const global float* restrict in, pair_t p, local int* l, constant char* c, int y, int n,
    volatile global int* v) {
    o[__builtin_amdgcn_workitem_id_x()] = in[__builtin_amdgcn_workitem_id_y()] + p.a + y + n + c[3] + *v;
    l[0] = 1;
}
kernel __attribute__((vec_type_hint(float4))) __attribute__((work_group_size_hint(8, 4, 2)))
void hinted(float4 on, global half* nan) { *nan = on.x; }
kernel void none() {}
)";

class ClangMetadata : public testing::TestWithParam<const char*> {
protected:
    static Result<MetadataValue> value_of(const std::vector<std::byte>& object) {
        RIFTJIT_TRY(elf, elf::ElfReader::open(object));
        RIFTJIT_TRY(note, elf::find_metadata_note(elf));
        return unpack_metadata(note);
    }
    static std::string text_of(const std::vector<std::byte>& bytes) {
        return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }
    static std::vector<std::byte> object_of(const std::string& assembly) {
        const Result<AssembledFile> file = assemble(assembly, "k.s", std::nullopt);
        EXPECT_TRUE(file) << file.error().message;
        if (!file) return {};
        const auto object = write_code_object(*file);
        EXPECT_TRUE(object) << object.error().message;
        return object.value_or(std::vector<std::byte>());
    }
};

// As clang -c writes them, which is LLVM's own way from the same source.
TEST_P(ClangMetadata, KeepEveryKeyThroughAsmAndDisasm) {
    if (std::system("clang-19 --version > /dev/null 2>&1") != 0) return lack_oracle("clang-19");
    const Scratch scratch;
    std::ofstream(scratch.path("k.cl")) << kKernels;
    const std::string compiler = std::string(
                                     "clang-19 -x cl -cl-std=CL2.0 -cl-kernel-arg-info -w -target amdgcn-amd-amdhsa "
                                     "-nogpulib -O2 ") +
                                 GetParam() + " " + scratch.path("k.cl") + " -o ";
    ASSERT_EQ(output_of(compiler + scratch.path("k.s") + " -S 2>&1"), "");
    ASSERT_EQ(output_of(compiler + scratch.path("k.co") + " 2>&1"), "");
    const Result<MetadataValue> expected = value_of(read_file(scratch.path("k.co")));
    ASSERT_TRUE(expected) << expected.error().message;

    const std::vector<std::byte> object = object_of(text_of(read_file(scratch.path("k.s"))));
    const Result<MetadataValue> ours = value_of(object);
    ASSERT_TRUE(ours) << ours.error().message;
    EXPECT_EQ(*ours, *expected);

    const Result<LoadedObject> loaded = load_code_object(object);
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_EQ(loaded->find("sized")->metadata.required_workgroup_size, (std::array<uint32_t, 3>{64, 2, 1}));
    const Result<MetadataValue> again = value_of(object_of(format_object(*loaded, list_functions(*loaded))));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(*again, *expected);
}

INSTANTIATE_TEST_SUITE_P(Options, ClangMetadata,
                         testing::Values("-mcpu=gfx1030 -mcode-object-version=4", "-mcpu=gfx1100",
                                         "-mcpu=gfx1100 -mwavefrontsize64 -mcumode",
                                         "-mcpu=gfx1201 -mcode-object-version=6"));

}  // namespace assembly_metadata_test
}  // namespace riftjit::rdna
