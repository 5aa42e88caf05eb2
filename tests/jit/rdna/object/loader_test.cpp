#include "jit/rdna/object/loader.h"

#include <algorithm>

#include "host/little_endian.h"
#include "tests/host/oracle.h"
#include "tests/jit/rdna/object/code_object_cases.h"

namespace riftjit::rdna {
namespace loader_test {

using namespace test;

// Ten kernels that between them have LDS, scratch, dynamic LDS, calls, tables of addresses, and constants.
constexpr std::string_view kOpenCl = R"(
#define ID (__builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x())
__constant int eleven = 11; __constant int twenty_two = 22;
__constant int* __constant table[2] = {&eleven, &twenty_two};
__kernel void copy(__global const float* a, __global float* b) { b[ID] = a[ID]; }
__kernel void scale(__global float* b, float s) { b[ID] *= s; }
__kernel void lds(__global int* b) {
  __local int l[256]; int i = __builtin_amdgcn_workitem_id_x();
  l[i] = b[ID]; __builtin_amdgcn_s_barrier(); b[ID] = l[i ^ 1]; }
__kernel void dynamic_lds(__global int* b, __local int* l) { int i = __builtin_amdgcn_workitem_id_x();
  l[i] = b[ID]; __builtin_amdgcn_s_barrier(); b[ID] = l[i ^ 1]; }
__kernel void scratch(__global int* b, int n) { volatile int a[40]; for (int i = 0; i < n; ++i) a[(b[i] + i) % 40] = i;
  b[ID] = a[n % 40]; }
__attribute__((noinline)) int helper(int x) { return x * x + 3; }
__kernel void calls(__global int* b) { b[ID] = helper(b[ID]); }
__kernel void addresses(__global int* b) { b[ID] = *table[b[ID] & 1]; }
__kernel void two_dims(__global int* b) { b[__builtin_amdgcn_workgroup_id_y() * 8 + __builtin_amdgcn_workitem_id_y()] = 1; }
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void sized(__global long* b) { b[ID] += 5; }
__kernel void many(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j, int k, int l, int m, int n, int o,
                   int p, int q, __global int* r) { r[ID] = a+b+c+d+e+f+g+h+i+j+k+l+m+n+o+p+q; }
)";
constexpr size_t kKernels = 10;

class ClangObjects : public ::testing::Test {
protected:
    void SetUp() override {
        if (!has_command("clang-19") || !has_command("ld.lld-19")) return lack_oracle("clang-19 and ld.lld-19");
        write_text(scratch_.path("k.cl"), std::string(kOpenCl));
    }
    std::string path(std::string_view target) { return scratch_.path(fmt::format("{}.co", target)); }
    std::vector<std::byte> compile(std::string_view target, std::string_view flags) {
        const std::string told = output_of(fmt::format(
            "{{ clang-19 -x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -mcpu={0} -nogpulib {1} {2} -c -o {3} "
            "&& ld.lld-19 -shared {3} -o {3}; }} 2>&1",
            target, flags, scratch_.path("k.cl"), path(target)));
        EXPECT_EQ(told, "");
        return read_file(path(target));
    }
    Scratch scratch_;
};

std::string error_of(std::span<const std::byte> file, std::optional<Target> wanted = std::nullopt) {
    const auto object = load_code_object(file, wanted);
    return object ? "no error" : object.error().message;
}

// What must hold of any object of these kernels, whatever the compiler made of them.
void expect_whole(const LoadedObject& object) {
    ASSERT_EQ(object.kernels.size(), kKernels);
    for (const LoadedKernel& kernel : object.kernels) {
        EXPECT_GT(kernel.code.size, 0U) << kernel.name;
        EXPECT_EQ(object.bytes(kernel.code).size(), kernel.code.size) << kernel.name;
        EXPECT_TRUE(kernel.descriptor.user_sgprs.kernarg_ptr) << kernel.name;
        EXPECT_GE(kernel.descriptor.vgprs(), kernel.metadata.vgpr_count) << kernel.name;
        EXPECT_EQ(kernel.descriptor.kernarg_bytes, kernel.metadata.kernarg_bytes) << kernel.name;
    }
    EXPECT_EQ(object.find("lds")->descriptor.lds_bytes, 1024U);
    EXPECT_GE(object.find("scratch")->descriptor.scratch_bytes, 160U);
    EXPECT_TRUE(object.find("scratch")->descriptor.scratch_enabled);
    EXPECT_EQ(object.find("sized")->metadata.max_flat_workgroup_size, 64U);
    EXPECT_TRUE(object.find("two_dims")->descriptor.workgroup_ids.y);
    EXPECT_EQ(object.find("dynamic_lds")->metadata.args[1].value_kind, ValueKind::dynamic_shared_pointer);
    EXPECT_EQ(object.find("dynamic_lds")->metadata.args[1].address_space, AddressSpace::local);
    EXPECT_EQ(object.find("scale")->metadata.args[1].offset, 8U);
    EXPECT_EQ(object.find("many")->metadata.args[17].value_kind, ValueKind::global_buffer);
    const auto is_helper = [](const LoadedFunction& function) { return function.name == "helper"; };
    EXPECT_TRUE(std::ranges::any_of(object.functions, is_helper));
}

// The table's two words hold the addresses of 11 and 22.
void expect_relocated(const LoadedObject& object) {
    std::vector<uint32_t> pointed;
    for (uint64_t word : object.address_words) {
        const auto address = get_little_endian<uint64_t>(object.bytes({word, 8}), 0);
        const auto value = object.bytes({address, 4});
        if (value.size() == 4) pointed.push_back(get_little_endian<uint32_t>(value, 0));
    }
    EXPECT_TRUE(std::ranges::count(pointed, 11U) == 1 && std::ranges::count(pointed, 22U) == 1);
}

// As C++ that is compiled for the chip by itself has them, unless told otherwise; .dynsym knows none of them.
TEST_F(ClangObjects, OfHiddenKernelsHaveThemInTheSymbolTable) {
    write_text(scratch_.path("k.cpp"),
               "extern \"C\" __attribute__((amdgpu_kernel)) void hidden(int* p) { *p = 1; }\n"
               "extern \"C\" __attribute__((amdgpu_kernel, visibility(\"protected\")))\n"
               "void shown(int* p) { *p = 2; }\n"
               "__attribute__((used, visibility(\"hidden\"))) char other[3] asm(\"other.kd\");\n");
    ASSERT_EQ(output_of("clang-19 -x c++ -target amdgcn-amd-amdhsa -mcpu=gfx1100 -nogpulib -O2 " +
                        scratch_.path("k.cpp") + " -o " + path("k") + " 2>&1"),
              "");
    const LoadedObject object = loaded(read_file(path("k")));
    ASSERT_EQ(object.kernels.size(), 2U);
    EXPECT_EQ(object.find("hidden")->code, object.functions[0].code);
    EXPECT_EQ(object.find("shown")->code, object.functions[1].code);
    ASSERT_EQ(output_of("llvm-strip-19 " + path("k") + " 2>&1"), "");
    EXPECT_EQ(error_of(read_file(path("k"))), "code object: kernel \"hidden\" has no symbol \"hidden.kd\"");
}

TEST_F(ClangObjects, LoadForSeveralTargetsAtBothLevels) {
    for (const std::string_view target : {"gfx1030", "gfx1102", "gfx1151", "gfx1201"})
        for (const std::string_view flags : {"-O0", "-O2", "-O2 -mwavefrontsize64"}) {
            const LoadedObject object = loaded(compile(target, flags), target_from_name(target));
            EXPECT_EQ(name(object.target), target);
            EXPECT_EQ(object.version, CodeObjectVersion::v5);
            expect_whole(object);
            expect_relocated(object);
            const WaveSize size = flags.ends_with("64") ? WaveSize::wave64 : WaveSize::wave32;
            EXPECT_EQ(object.find("copy")->descriptor.wave_size, size);
        }
}

TEST_F(ClangObjects, LoadInEveryVersion) {
    for (const auto version : {CodeObjectVersion::v4, CodeObjectVersion::v5, CodeObjectVersion::v6}) {
        const LoadedObject object =
            loaded(compile("gfx1100", fmt::format("-w -O0 -mcode-object-version={}", static_cast<int>(version))));
        EXPECT_EQ(object.version, version);
        expect_whole(object);
        // At -O0 clang asks for every hidden argument that the version has.
        const auto has_kind = [&](ValueKind kind) {
            const auto& args = object.find("calls")->metadata.args;
            return std::ranges::find(args, kind, &KernelArgument::value_kind) != args.end();
        };
        EXPECT_TRUE(has_kind(ValueKind::hidden_global_offset_x));
        EXPECT_EQ(has_kind(ValueKind::hidden_block_count_x), version != CodeObjectVersion::v4);
    }
}

TEST_F(ClangObjects, MoveWithTheirAddresses) {
    LoadedObject object = loaded(compile("gfx1100", "-O2"));
    const uint64_t entry = object.find("copy")->code.address;
    move_object(object, 0x7f0000000000);
    EXPECT_EQ(object.find("copy")->code.address, entry + 0x7f0000000000);
    expect_whole(object);
    expect_relocated(object);
}

TEST_F(ClangObjects, LoadWhenStripped) {
    if (!has_command("llvm-strip-19")) return lack_oracle("llvm-strip-19");
    compile("gfx1100", "-O2");
    EXPECT_EQ(output_of("llvm-strip-19 " + path("gfx1100") + " 2>&1"), "");
    const LoadedObject object = loaded(read_file(path("gfx1100")));
    EXPECT_EQ(object.kernels.size(), kKernels);
    output_of("llvm-strip-19 --strip-sections " + path("gfx1100"));
    EXPECT_TRUE(has_text(error_of(read_file(path("gfx1100"))), "no section headers"));
}

TEST_F(ClangObjects, ArePickedFromBundles) {
    if (!has_command("clang-offload-bundler-19")) return lack_oracle("clang-offload-bundler-19");
    const std::vector<std::byte> plain = compile("gfx1030", "-O2");
    compile("gfx1201", "-O2");
    const auto bundle = [&](const std::string& targets, const std::string& inputs, const std::string& flags = "") {
        const std::string told = output_of(fmt::format(
            "clang-offload-bundler-19 -type=o -bundle-align=4096 {} -targets=host-x86_64-unknown-linux-gnu,{} "
            "-input=/dev/null {} -output={} 2>&1",
            flags, targets, inputs, scratch_.path("bundle")));
        EXPECT_EQ(told, "");
        return read_file(scratch_.path("bundle"));
    };
    const std::string one = "hipv4-amdgcn-amd-amdhsa--gfx1030", other = "hip-amdgcn-amd-amdhsa--gfx1201";
    const auto both = bundle(one + "," + other, "-input=" + path("gfx1030") + " -input=" + path("gfx1201"));
    EXPECT_EQ(loaded(both, Target::gfx1030).target, Target::gfx1030);
    EXPECT_EQ(loaded(both, Target::gfx1201).target, Target::gfx1201);
    EXPECT_TRUE(has_text(error_of(both, Target::gfx1100), "no object for gfx1100; it holds host-x86_64"));
    EXPECT_TRUE(has_text(error_of(both), "choose a target; it holds hipv4-amdgcn-amd-amdhsa--gfx1030"));
    EXPECT_EQ(loaded(bundle(one, "-input=" + path("gfx1030"))).kernels.size(), kKernels);
    const auto packed = bundle(one, "-input=" + path("gfx1030"), "-compress");
    EXPECT_TRUE(has_text(error_of(packed), "compressed (CCOB)"));
}

TEST(Loader, RefusesAnotherTarget) {
    const auto file = written(Target::gfx1100);
    EXPECT_TRUE(has_text(error_of(file, Target::gfx1101), "made for gfx1100, not for gfx1101"));
}

template <class T>
std::string error_with(size_t offset, T value) {
    std::vector<std::byte> file = written(Target::gfx1100);
    put_little_endian(std::span(file), offset, value);
    return error_of(file);
}

// Program headers begin at 64 and have 56 bytes: 0 PT_PHDR, 1 to 3 PT_LOAD; see elf_writer.cpp.
TEST(Loader, NamesWhatIsWrongInTheHeaders) {
    EXPECT_TRUE(has_text(error_with<uint8_t>(0, 0), "neither an ELF file nor an offload bundle"));
    EXPECT_TRUE(has_text(error_with<uint8_t>(4, 1), "ELF class is 0x1, not 0x2"));
    EXPECT_TRUE(has_text(error_with<uint8_t>(7, 0), "OS ABI is 0x0, not 0x40"));
    EXPECT_TRUE(has_text(error_with<uint8_t>(8, 1), "ABI version 1 is not 2 to 4"));
    EXPECT_TRUE(has_text(error_with<uint8_t>(8, 2), "metadata of version 5 in an object of version 4"));
    EXPECT_TRUE(has_text(error_with<uint16_t>(16, 1), "link it with ld.lld -shared"));
    EXPECT_TRUE(has_text(error_with<uint16_t>(16, 2), "file type is 0x2, not 0x3"));
    EXPECT_TRUE(has_text(error_with<uint16_t>(18, 62), "machine is 0x3e, not 0xe0"));
    EXPECT_TRUE(has_text(error_with<uint32_t>(48, 0x42), "e_flags 0x42 name none of gfx1030"));
    EXPECT_TRUE(has_text(error_with<uint32_t>(48, 0x141), "e_flags 0x141 set more than the chip"));
    EXPECT_TRUE(has_text(error_with<uint32_t>(48, 0x46), "metadata for \"amdgcn-amd-amdhsa--gfx1100\""));
    EXPECT_TRUE(has_text(error_with<uint64_t>(32, 1U << 30), "program headers: 448 bytes at 0x40000000 lie outside"));
    EXPECT_TRUE(has_text(error_with<uint64_t>(40, 1U << 30), "section headers: 832 bytes at 0x40000000 lie outside"));
    EXPECT_TRUE(has_text(error_with<uint16_t>(60, 0), "no section headers"));
    EXPECT_TRUE(has_text(error_with<uint64_t>(64 + 2 * 56 + 16, 0), "does not lie beyond the one before"));
    EXPECT_TRUE(has_text(error_with<uint64_t>(64 + 2 * 56 + 16, 0x10001), "breaks its alignment"));
    EXPECT_TRUE(has_text(error_with<uint64_t>(64 + 3 * 56 + 40, uint64_t{1} << 32), "makes 4294"));
    EXPECT_TRUE(has_text(error_with<uint32_t>(64 + 2 * 56 + 4, 7), "has flags 0x7"));
    EXPECT_TRUE(has_text(error_with<uint32_t>(64 + 7 * 56, 0), "no AMDGPU metadata note"));
    EXPECT_TRUE(has_text(error_of({}), "ELF header: 64 bytes at 0x0 lie outside the file of 0"));
}

TEST(Loader, NamesWhatIsWrongInADescriptor) {
    const auto file = written(Target::gfx1100);
    const uint64_t at = loaded(file).find("plain")->descriptor_address;  // its file offset too
    EXPECT_TRUE(has_text(error_with<uint32_t>(at, 4), "\"plain\": LDS size is 4 in the descriptor, 0 in the metadata"));
    EXPECT_TRUE(has_text(error_with<uint8_t>(at + 12, 1), "\"plain\": kernel descriptor: reserved byte 12 is 0x1"));
    EXPECT_TRUE(has_text(error_with<uint64_t>(at + 16, 4), "which is not aligned code"));
    EXPECT_TRUE(has_text(error_with<uint16_t>(at + 56, 8), "wave size is 64 in the descriptor, 32 in the metadata"));
}

TEST(Loader, RefusesTruncatedBundles) {
    const std::string magic = "__CLANG_OFFLOAD_BUNDLE__";
    std::vector<std::byte> file(magic.size());
    std::memcpy(file.data(), magic.data(), magic.size());
    EXPECT_TRUE(has_text(error_of(file), "offload bundle: 24 bytes end it"));
    file.resize(32);
    file[31] = std::byte{0x10};
    EXPECT_TRUE(has_text(error_of(file), "entries do not fit 32 bytes"));
    file[31] = std::byte{0};
    EXPECT_TRUE(has_text(error_of(file), "no object for a chip we know; it holds nothing"));
}

}  // namespace loader_test
}  // namespace riftjit::rdna
