// Whole assembly files: what clang-19 -S and LLVM 22 write against what they assemble and ld.lld links, and the simple
// form.
#include "jit/rdna/assembly/assembly_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "jit/rdna/assembly/assembly_object.h"
#include "jit/rdna/object/loader.h"
#include "tests/host/oracle.h"
#include "tests/host/scratch.h"

namespace riftjit::rdna {
namespace assembly_file_test {

// Divergence, loops, LDS with barriers, atomics, f64, f16, a called function, a large stack frame and constant tables.
constexpr std::string_view kKernels = R"(
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define ID (__builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x())
#define LANE __builtin_amdgcn_workitem_id_x()
kernel void add(global float* a, global const float* b, int n) { int i = ID; if (i < n) a[i] += b[i]; }
kernel void loop(global int* a, int n) {
    int l = ID, s = 0;
    for (int i = 0; i < n; i++) { if (a[i] & 1) s += a[i] * l; else s ^= a[i]; }
    a[l] = s;
}
kernel void shared(global float* a, local float* dynamic) {
    local float s[256];
    int l = LANE;
    s[l] = a[l];
    dynamic[l] = s[l];
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    a[l] = s[255 - l] + dynamic[0];
}
kernel void wide(global double* a, global half* h, global long* n) {
    int l = ID;
    a[l] = a[l] * a[l + 1] + 1.5;
    h[l] = h[l] * h[l + 1] + (half)0.25;
    n[l] = n[l] / (n[l + 1] | 1);
}
kernel void atomic(global int* a, global float* f) {
    __opencl_atomic_fetch_add((global atomic_int*)a, 3, __ATOMIC_RELAXED, __OPENCL_MEMORY_SCOPE_DEVICE);
    int old = __opencl_atomic_fetch_max((global atomic_int*)a + 1, LANE, __ATOMIC_SEQ_CST, __OPENCL_MEMORY_SCOPE_ALL_SVM_DEVICES);
    f[old & 63] = native_like(f[0]);
}
)";

constexpr std::string_view kPrelude =
    "float native_like(float x) { return __builtin_sqrtf(x) + __builtin_floorf(x); }\n";

constexpr std::string_view kCalls = R"(
__attribute__((noinline)) int helper(int x) { return x * x + 1; }
kernel void call(global int* a) { a[__builtin_amdgcn_workitem_id_x()] = helper(a[__builtin_amdgcn_workitem_id_x()]); }
kernel void stack(global int* a, int k) {
    volatile int t[64];
    for (int i = 0; i < 64; i++) t[i] = a[i];
    a[__builtin_amdgcn_workitem_id_x()] = t[k & 63];
}
)";

constexpr std::string_view kTables = R"(
constant int table[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, -16};
constant float numbers[4] = {1.5f, 2.0f, -3.25f, 0.0f};
constant char text[] = "a \"word\"\n\033";
kernel void look_up(global int* a, global float* f, global char* c) {
    int l = __builtin_amdgcn_workitem_id_x();
    a[l] = table[a[l] & 15];
    f[l] = numbers[l & 3];
    c[l] = text[l & 7];
}
)";

struct Case {
    Target target;
    std::string_view options;
    int llvm = 19;  // 22: from clang-19's bitcode
};

class AssemblyFile : public testing::TestWithParam<Case> {
protected:
    void SetUp() override {
        if (!has_command("clang-19") || !has_command("ld.lld-19")) return lack_oracle("clang-19 and ld.lld-19");
        if (GetParam().llvm == 22 && !has_command("llc-22")) return lack_oracle("llc-22");
    }

    // Compiles to scratch_: k.s and k.co.
    void compile(std::string_view source) {
        std::ofstream(scratch_.path("k.cl")) << source;
        const std::string base =
            "clang-19 -x cl -cl-std=CL2.0 -Wno-everything -target amdgcn-amd-amdhsa -nogpulib -mcpu=" +
            std::string(name(GetParam().target)) + " " + std::string(GetParam().options) + " " + scratch_.path("k.cl") +
            " 2>&1 ";
        if (GetParam().llvm == 19) {
            ASSERT_EQ(output_of(base + "-S -o " + scratch_.path("k.s")), "");
            ASSERT_EQ(output_of(base + "-c -o " + scratch_.path("k.o")), "");
        } else {
            ASSERT_EQ(output_of(base + "-c -emit-llvm -o " + scratch_.path("k.bc")), "");
            const std::string level(GetParam().options.substr(0, 3));
            const std::string chip = "-mcpu=" + std::string(name(GetParam().target)) + " ";
            ASSERT_EQ(output_of("llc-22 " + chip + level + " " + scratch_.path("k.bc") + " -o " + scratch_.path("k.s") +
                                " 2>&1"),
                      "");
            // Of the text: the words that llc writes itself have literals of 16 bits sign-extended.
            const std::string wave = GetParam().options.ends_with("64") ? "-mattr=+wavefrontsize64 " : "";
            ASSERT_EQ(output_of("llvm-mc-22 -triple=amdgcn-amd-amdhsa " + chip + wave + scratch_.path("k.s") +
                                " -filetype=obj -o " + scratch_.path("k.o") + " 2>&1"),
                      "");
        }
        ASSERT_EQ(output_of("ld.lld-19 -shared " + scratch_.path("k.o") + " -o " + scratch_.path("k.co") + " 2>&1"),
                  "");
    }

    std::vector<std::byte> linked_code() const {
        const Result<LoadedObject> linked = load_code_object(read_file(scratch_.path("k.co")));
        EXPECT_TRUE(linked) << linked.error().message;
        if (!linked) return {};
        const std::span<const std::byte> code = linked->bytes(linked->text.at(0));
        return {code.begin(), code.end()};
    }

    Result<AssembledFile> assembled() const {
        const std::vector<std::byte> bytes = read_file(scratch_.path("k.s"));
        return assemble({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, "k.s", std::nullopt);
    }

    void compare_descriptors(const AssembledFile& file) const {
        const Result<LoadedObject> linked = load_code_object(read_file(scratch_.path("k.co")));
        ASSERT_TRUE(linked) << linked.error().message;
        ASSERT_EQ(file.kernels.size(), linked->kernels.size());
        for (const AssembledKernel& kernel : file.kernels) {
            const LoadedKernel* expected = linked->find(kernel.name);
            ASSERT_NE(expected, nullptr) << kernel.name;
            KernelDescriptor descriptor = expected->descriptor;
            descriptor.entry_offset = 0;  // follows from where a linker puts things
            // A count of SGPRs means nothing from gfx10 on; LLVM 19 writes one, LLVM 22 none.
            if (GetParam().llvm == 22) descriptor.sgpr_blocks = kernel.descriptor.sgpr_blocks;
            EXPECT_EQ(kernel.descriptor, descriptor) << kernel.name;
            EXPECT_EQ(kernel.code_size, expected->code.size) << kernel.name;
        }
    }

    void compare_own_object(const AssembledFile& file) const {
        const Result<std::vector<std::byte>> written = write_code_object(file);
        ASSERT_TRUE(written) << written.error().message;
        const Result<LoadedObject> own = load_code_object(*written);
        const Result<LoadedObject> linked = load_code_object(read_file(scratch_.path("k.co")));
        ASSERT_TRUE(own) << own.error().message;
        ASSERT_TRUE(linked) << linked.error().message;
        for (const LoadedKernel& kernel : own->kernels) {
            const LoadedKernel* expected = linked->find(kernel.name);
            ASSERT_NE(expected, nullptr) << kernel.name;
            EXPECT_EQ(kernel.metadata, expected->metadata) << kernel.name;
        }
    }

    Scratch scratch_;
};

void expect_equal_code(const std::vector<std::byte>& ours, const std::vector<std::byte>& theirs) {
    EXPECT_EQ(ours.size(), theirs.size());
    for (size_t i = 0; i < std::min(ours.size(), theirs.size()); ++i)
        if (ours[i] != theirs[i]) {
            ADD_FAILURE() << "first difference at byte " << i;
            return;
        }
}

TEST_P(AssemblyFile, OfClangGivesItsCodeAndDescriptors) {
    for (const std::string& source : {std::string(kPrelude) + std::string(kKernels), std::string(kCalls)}) {
        ASSERT_NO_FATAL_FAILURE(compile(source));
        const Result<AssembledFile> file = assembled();
        ASSERT_TRUE(file) << file.error().message;
        expect_equal_code(file->text().bytes, linked_code());
        compare_descriptors(*file);
        compare_own_object(*file);
    }
}

// ld.lld places .rodata as it likes, so the distances differ; the rest of the code and the data do not.
TEST_P(AssemblyFile, OfClangWithTablesDiffersOnlyInDistances) {
    ASSERT_NO_FATAL_FAILURE(compile(kTables));
    const Result<AssembledFile> file = assembled();
    ASSERT_TRUE(file) << file.error().message;
    std::vector<std::byte> ours = file->text().bytes, theirs = linked_code();
    ASSERT_EQ(ours.size(), theirs.size());
    EXPECT_FALSE(file->distances.empty());
    for (const SectionDistance& distance : file->distances)
        for (uint64_t i = distance.offset; i < distance.offset + 4; ++i) ours[i] = theirs[i] = std::byte{0};
    expect_equal_code(ours, theirs);
    compare_descriptors(*file);
    compare_own_object(*file);
}

INSTANTIATE_TEST_SUITE_P(Targets, AssemblyFile,
                         testing::Values(Case{Target::gfx1030, "-O2"}, Case{Target::gfx1100, "-O2"},
                                         Case{Target::gfx1200, "-O2"}, Case{Target::gfx1030, "-O0"},
                                         Case{Target::gfx1100, "-O0"}, Case{Target::gfx1200, "-O0"},
                                         Case{Target::gfx1100, "-O2 -mwavefrontsize64"},
                                         Case{Target::gfx1030, "-O2", 22}, Case{Target::gfx1100, "-O2", 22},
                                         Case{Target::gfx1150, "-O0", 22}, Case{Target::gfx1200, "-O2", 22},
                                         Case{Target::gfx1100, "-O0 -mwavefrontsize64", 22}),
                         [](const auto& info) {
                             std::string text = std::string(name(info.param.target)) + std::string(info.param.options);
                             std::ranges::replace_if(text, [](char c) { return c == '-' || c == ' '; }, '_');
                             return text + (info.param.llvm == 22 ? "_llvm22" : "");
                         });

TEST(SimpleAssembly, ComputesTheDescriptorFromTheCode) {
    const Result<AssembledFile> file = assemble(R"(
        .globl first
    first:  // the pointer comes in s[0:1]
        s_load_b64 s[2:3], s[0:1], 0x0
        v_lshlrev_b32 v9, 2, v0
        v_mov_b32 v1, 0
    again:  /* a loop
               that never runs twice */
        s_waitcnt lgkmcnt(0)
        global_store_b32 v9, v1, s[2:3]
        s_cbranch_scc1 again
        s_endpgm
        .p2align 8
        .globl second
    second:
        s_endpgm
        .lds_size 512
        .kernarg_size 8
    )",
                                                "simple.s", Target::gfx1100);
    ASSERT_TRUE(file) << file.error().message;
    ASSERT_EQ(file->kernels.size(), 2U);
    EXPECT_EQ(file->kernels[0].name, "first");
    EXPECT_EQ(file->kernels[0].descriptor.vgprs(), 16U);  // v9 is the highest; blocks of eight
    EXPECT_EQ(file->kernels[0].sgprs, 4U);
    EXPECT_EQ(file->kernels[0].descriptor.lds_bytes, 512U);
    EXPECT_EQ(file->kernels[0].descriptor.kernarg_bytes, 8U);
    EXPECT_TRUE(file->kernels[0].descriptor.user_sgprs.kernarg_ptr);
    EXPECT_EQ(file->kernels[1].code_offset, 256U);
    const Result<std::vector<std::byte>> object = write_code_object(*file);
    ASSERT_TRUE(object) << object.error().message;
    const Result<LoadedObject> loaded = load_code_object(*object);
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_NE(loaded->find("second"), nullptr);
}

TEST(SimpleAssembly, BranchesToALabelThatIsCalledAsAModifier) {
    const Result<AssembledFile> file = assemble(R"(
        .globl k
    k:
        s_cbranch_scc1 done
        s_nop 0
    glc:
        s_branch glc
    done:
        s_endpgm
    )",
                                                "k.s", Target::gfx1100);
    ASSERT_TRUE(file) << file.error().message;
    std::vector<uint32_t> words(4);
    ASSERT_EQ(file->text().bytes.size(), 4 * words.size());
    std::memcpy(words.data(), file->text().bytes.data(), 4 * words.size());
    // From the next instruction on, in words: 2 forward, 1 back.
    EXPECT_EQ(words, (std::vector<uint32_t>{0xBFA20002, 0xBF800000, 0xBFA0FFFF, 0xBFB00000}));
}

// Four addresses in data that can be written, to code in a section of its own, data, zeros, and constants; a fifth in
// the table of those that instructions find through it.
TEST(AssemblySections, OfAllKindsAreLoadedWithTheAddressesInThem) {
    const Result<AssembledFile> file = assemble(R"(
        .globl k
    k:  s_getpc_b64 s[2:3]
        s_add_u32 s2, s2, table@rel32@lo+4
        s_addc_u32 s3, s3, table@rel32@hi+12
        s_getpc_b64 s[4:5]
        s_add_u32 s4, s4, zeros@gotpcrel32@lo+4
        s_addc_u32 s5, s5, zeros@gotpcrel32@hi+12
        s_branch far
        .section .text.far,"ax",@progbits
        s_nop 7
    far: s_endpgm
        .section .data.rel.ro,"aw",@progbits
        .p2align 3
        .long 7
        .p2align 3
    table:
        .quad far, table + 4, zeros, constant
        .bss
        .p2align 6
        .zero 8
    zeros: .zero 100
        .section .rodata.constants,"a",@progbits
        .p2align 9
    constant: .quad 9
        .section .debug_info,"",@progbits
        .uleb128 300
        .quad nowhere
    )",
                                                "k.s", Target::gfx1100);
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_TRUE(file->lacks_debug_information);
    EXPECT_FALSE(kernel_codes(*file));
    const Result<std::vector<std::byte>> written = write_code_object(*file);
    ASSERT_TRUE(written) << written.error().message;
    Result<LoadedObject> object = load_code_object(*written);
    ASSERT_TRUE(object) << object.error().message;
    move_object(*object, 0x40000);
    ASSERT_EQ(object->address_words.size(), 5U);
    const auto value = [&](uint64_t address) {
        uint64_t word = 0;
        std::memcpy(&word, object->bytes({address, sizeof word}).data(), sizeof word);
        return word;
    };
    const auto data = [&](std::string_view name) {
        return std::ranges::find(object->data, name, &LoadedData::name)->range;
    };
    const uint64_t code = object->kernels.at(0).code.address, got = object->address_words[0],
                   table = object->address_words[1];
    EXPECT_EQ(got, data(".data").address);  // instructions named it first
    EXPECT_EQ(table, got + 16);
    EXPECT_EQ(value(table), code + 48);  // seven instructions, four of them of two words, and s_nop 7
    EXPECT_EQ(value(table + 8), table + 4);
    EXPECT_EQ(value(table + 16), data(".bss").address + 8);
    EXPECT_EQ(data(".bss").size, 108U);
    EXPECT_EQ(value(table + 24) % 512, 0U);
    EXPECT_EQ(value(value(table + 24)), 9U);
    EXPECT_EQ(value(got), value(table + 16));
    // s_getpc_b64 gives the address of the next instruction, which is 4 before the first distance.
    const auto distance = [&](uint64_t at) { return static_cast<int32_t>(value(at)); };
    EXPECT_EQ(code + 4 + static_cast<uint64_t>(distance(code + 8)), table);
    EXPECT_EQ(code + 24 + static_cast<uint64_t>(distance(code + 28)), got);
}

std::string refusal(std::string_view source) {
    const Result<AssembledFile> file = assemble(source, "k.s", Target::gfx1100);
    return file ? "accepted" : file.error().message;
}

TEST(AssemblyErrors, SayFileLineAndColumn) {
    EXPECT_EQ(refusal("a:\n  v_add_f32 v0, v1, v300\n"),
              "k.s:2:3: v_add_f32: operand 3 'v300' (column 21): is no register and no number (gfx1100)");
    EXPECT_EQ(refusal("a:\na:\n"), "k.s:2:1: symbol 'a' is defined twice");
    EXPECT_EQ(refusal("  .frob 1\n"), "k.s:1:3: .frob is no known directive");
    EXPECT_EQ(refusal("  s_branch nowhere\n"), "k.s:1:3: symbol 'nowhere' is not defined");
    EXPECT_EQ(refusal("/* never\nends\n"), "k.s:1:1: a /* comment without its end");
    EXPECT_EQ(refusal(".amdgcn_target \"amdgcn-amd-amdhsa--gfx1030\"\n"),
              "k.s:1:16: the file is for gfx1030, not for gfx1100");
    EXPECT_EQ(refusal(".amdhsa_kernel k\n"), "k.s:1:1: .amdhsa_kernel without .end_amdhsa_kernel");
    EXPECT_EQ(refusal(".amdhsa_kernel k\n.amdhsa_round_robin_scheduling 1\n"),
              "k.s:2:1: gfx1100 has no .amdhsa_round_robin_scheduling");
    EXPECT_EQ(refusal(".amdhsa_kernel k\n.amdhsa_next_free_vgpr 300\n"),
              "k.s:2:1: .amdhsa_next_free_vgpr 300 is not between 0 and 256");
    EXPECT_EQ(refusal(".amdhsa_kernel k\n.end_amdhsa_kernel\n"),
              "k.s:2:1: kernel k: .amdhsa_next_free_vgpr is missing");
    EXPECT_EQ(refusal(".long 1 +\n"), "k.s:1:7: expression '1 +' ends too early");
    EXPECT_EQ(refusal(".zero -1\n"), "k.s:1:7: too many bytes");
    EXPECT_EQ(refusal(".data\n.long k\nk:\n"), "k.s:2:7: the address of 'k' in 4 bytes, it takes 8");
    EXPECT_EQ(refusal(".rodata\n.quad k\nk:\n"),
              "k.s:2:7: the address of 'k' in section .rodata, which loading does not write to; compilers put it into "
              ".data.rel.ro");
    EXPECT_EQ(refusal(".data\n.quad .\n"), "k.s:2:7: the address of this place: give it a label");
    EXPECT_EQ(refusal(".data\n.uleb128 3\n"), "k.s:2:1: .uleb128 in section .data");
    EXPECT_EQ(refusal("  .section mine\n"), "k.s:1:3: section mine has no flag \"a\": it would not be loaded");
    EXPECT_EQ(refusal("s_nop 0\n"), "k.s: no kernel: neither .amdhsa_kernel nor a .globl label in .text");
}

TEST(AssemblyErrors, NameSizesThatNoChipHas) {
    const auto of_kernel = [](std::string_view chip, std::string_view directives) {
        const std::string source = fmt::format(
            "k:\n s_endpgm\n.amdhsa_kernel k\n.amdhsa_next_free_vgpr 8\n.amdhsa_next_free_sgpr "
            "8\n{}\n.end_amdhsa_kernel\n",
            directives);
        const Result<AssembledFile> file = assemble(source, "k.s", target_from_name(chip));
        return file ? "accepted" : file.error().message;
    };
    EXPECT_EQ(of_kernel("gfx1100", ".amdhsa_group_segment_fixed_size 65536"), "accepted");
    EXPECT_EQ(of_kernel("gfx1100", ".amdhsa_group_segment_fixed_size 65537"),
              "k.s:6:1: .amdhsa_group_segment_fixed_size 65537 is not between 0 and 65536 (gfx1100)");
    EXPECT_EQ(of_kernel("gfx1201", ".amdhsa_kernarg_size 0xffffffff"),
              "k.s:6:1: .amdhsa_kernarg_size 4294967295 is not between 0 and 65536 (gfx1201)");
    // What the field that counts a wave's scratch holds.
    EXPECT_EQ(of_kernel("gfx1030", ".amdhsa_private_segment_fixed_size 262112"), "accepted");
    EXPECT_EQ(
        of_kernel("gfx1030", ".amdhsa_private_segment_fixed_size 262113"),
        "k.s:7:1: kernel k: .amdhsa_private_segment_fixed_size 262113 is not between 0 and 262112 (gfx1030, wave32)");
    EXPECT_EQ(
        of_kernel("gfx1100", ".amdhsa_private_segment_fixed_size 262137"),
        "k.s:7:1: kernel k: .amdhsa_private_segment_fixed_size 262137 is not between 0 and 262136 (gfx1100, wave32)");
    EXPECT_EQ(of_kernel("gfx1201", ".amdhsa_private_segment_fixed_size 2097144"), "accepted");
    EXPECT_EQ(
        of_kernel("gfx1201", ".amdhsa_private_segment_fixed_size 2000000\n.amdhsa_wavefront_size32 0"),
        "k.s:8:1: kernel k: .amdhsa_private_segment_fixed_size 2000000 is not between 0 and 1048572 (gfx1201, wave64)");
    EXPECT_EQ(refusal(".globl k\nk:\n.lds_size 70000\n"), "k.s:3:11: .lds_size 70000 is not between 0 and 65536");
    EXPECT_EQ(refusal(".wave_size 16\n"), "k.s:1:12: .wave_size 16 is neither 32 nor 64");
}

// Whether the descriptor comes from directives or from the code.
TEST(AssemblyErrors, AreTheSameOfMetadataWithAndWithoutDirectives) {
    const std::string code = ".globl k\nk:\n s_endpgm\n",
                      directives =
                          ".amdhsa_kernel k\n.amdhsa_next_free_vgpr 8\n.amdhsa_next_free_sgpr 8\n.end_amdhsa_kernel\n";
    for (const std::string text :
         {"amdhsa.kernels: [\n", "foo: bar\n", "", "amdhsa.version: [1, 2]\namdhsa.kernels: 7\n"}) {
        const std::string metadata = ".amdgpu_metadata\n" + text + ".end_amdgpu_metadata\n";
        const std::string plain = refusal(code + "\n\n\n\n" + metadata);
        EXPECT_TRUE(plain.starts_with("k.s:") && plain.contains("metadata")) << plain;
        EXPECT_EQ(plain, refusal(code + directives + metadata));
    }
}

// As LLVM 20 and later write what a kernel takes from the functions that it calls.
TEST(AssemblyExpressions, MayNameSymbolsThatFollow) {
    const Result<AssembledFile> file = assemble(R"(
    k:  s_endpgm
        .amdhsa_kernel k
        .amdhsa_next_free_vgpr max(totalnumvgprs(k.agprs, k.vgprs), 1, 0)
        .amdhsa_next_free_sgpr max(k.sgprs+extrasgprs(k.vcc, 0, 0), 1, 0)-2
        .amdhsa_reserve_vcc k.vcc
        .end_amdhsa_kernel
        .set k.vgprs, max(9, f.vgprs)
        .set k.agprs, f.vgprs-f.vgprs
        .set k.sgprs, alignto(f.sgprs, 8)
        .set k.vcc, or(0, f.vcc)
        .set f.vgprs, 41
        .set f.sgprs, 33
        .set f.vcc, 1
        .section .rodata
        .long k.vgprs, k.sgprs, max(-1, -2), or(1, 2, 4), extrasgprs(0, 1, 1)
    )",
                                                "k.s", Target::gfx1100);
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(file->kernels.at(0).descriptor.vgpr_blocks, 5);  // of eight: 41 need six, less one
    std::vector<int32_t> values(file->sections.at(1).bytes.size() / 4);
    std::memcpy(values.data(), file->sections[1].bytes.data(), 4 * values.size());
    EXPECT_EQ(values, (std::vector<int32_t>{41, 40, -1, 7, 0}));
}

TEST(AssemblyExpressions, SayWhichSymbolIsMissingInTheEnd) {
    EXPECT_EQ(refusal(".set a, b\n.set b, c + 1\n"), "k.s:2:9: symbol 'c' is not defined");
    EXPECT_EQ(refusal(".set a, b\n.set b, a\n"), "k.s:1:9: symbol 'a' depends on itself");
    EXPECT_EQ(refusal(".set a, b - .\nb = 3\n"), "k.s:1:9: symbol 'b' is not defined");
    EXPECT_EQ(refusal(".amdhsa_kernel k\n.amdhsa_next_free_vgpr n\n.end_amdhsa_kernel\n"),
              "k.s:2:24: symbol 'n' is not defined");
    EXPECT_EQ(refusal(".amdhsa_kernel k\n.amdhsa_next_free_vgpr n\n.end_amdhsa_kernel\nn = 300\n"),
              "k.s:2:24: .amdhsa_next_free_vgpr 300 is not between 0 and 256");
    EXPECT_EQ(refusal(".set a, max()\n"), "k.s:1:9: ')' is no number and no symbol");
    EXPECT_EQ(refusal(".set a, alignto(1)\n"), "k.s:1:9: alignto takes 2 arguments, not 1, in 'alignto(1)'");
    std::string chain;  // of symbols that depend on one another
    for (int i = 0; i < 100'000; ++i) chain += fmt::format(".set a{}, a{}+1\n", i, i + 1);
    EXPECT_EQ(refusal(chain + "a100000 = 1\n"), "k.s: no kernel: neither .amdhsa_kernel nor a .globl label in .text");
}

TEST(AssemblyExpressions, AreThoseOfGnuAssemblers) {
    const Result<AssembledFile> file = assemble(R"(
        .globl k
    k:  s_endpgm
    end:
        .set six, 2 + 2 * 2
        answer = (six << 3) - six
        .section .rodata
        .long six, answer, end - k, ~0 & 0xff, -(3), 7 / 2, 0x10 | 1
        s_count = 3
        .byte 'never' 
    )",
                                                "k.s", Target::gfx1100);
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().message, "k.s:10:15: ''never'' is no number and no symbol");
}

}  // namespace assembly_file_test
}  // namespace riftjit::rdna
