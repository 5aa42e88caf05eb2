// Kernels to write into code objects, and LLVM's tools to compare with, shared by the tests of code objects.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "jit/rdna/object/code_object.h"
#include "jit/rdna/object/loader.h"
#include "tests/host/scratch.h"

namespace riftjit::rdna::test {

// LLVM 19 knows every target of ours but this one.
inline bool known_to_llvm(Target target) { return target != Target::gfx1153; }

inline uint32_t end_program(Target target) {
    return generation(target) == Generation::gfx10 ? 0xBF810000 : 0xBFB00000;  // s_endpgm
}

inline KernelCode empty_kernel(Target target, std::string name) {
    KernelCode kernel;
    kernel.name = std::move(name);
    kernel.code = {0xBF800000, end_program(target)};  // s_nop 0
    kernel.args = {{.offset = 0,
                    .size = 8,
                    .value_kind = ValueKind::global_buffer,
                    .address_space = AddressSpace::global,
                    .name = "out"}};
    kernel.kernarg_size = 8;
    kernel.resources = {.vgprs = 1, .sgprs = 3};
    return kernel;
}

// Kernels that between them use every field a kernel of ours can set.
inline std::vector<KernelCode> varied_kernels(Target target) {
    KernelCode plain = empty_kernel(target, "plain");

    KernelCode large = empty_kernel(target, std::string(200, 'k'));  // str8, the widest of name lengths
    large.code = std::vector<uint32_t>(100, 0xBF800000);
    large.code.push_back(end_program(target));
    large.resources = {.vgprs = 137, .sgprs = 54, .lds_bytes = 4096, .scratch_bytes = 0, .vgpr_spills = 1};
    large.args.clear();
    for (uint32_t i = 0; i < 20; ++i)  // more than a fixarray holds
        large.args.push_back({.offset = 8 * i, .size = 4, .value_kind = ValueKind::by_value, .name = "argument"});
    large.kernarg_size = 160;
    large.workgroup_ids = {.x = true, .y = true, .z = true};
    large.work_item_ids = WorkItemIds::xyz;
    large.max_flat_workgroup_size = 256;

    KernelCode wide = empty_kernel(target, "wide_wave");
    wide.wave_size = WaveSize::wave64;
    wide.resources = {.vgprs = 33, .sgprs = 20, .lds_bytes = 65536, .scratch_bytes = 128};
    wide.user_sgprs = {.dispatch_ptr = true, .kernarg_ptr = true, .dispatch_id = true};
    wide.workgroup_ids = {.x = true, .y = false, .z = true};
    wide.work_item_ids = WorkItemIds::xy;
    wide.float_modes = {.round_f32 = Rounding::toward_zero,
                        .round_f16_f64 = Rounding::up,
                        .denormals_f32 = Denormals::flush,
                        .denormals_f16_f64 = Denormals::flush_output};
    wide.workgroup_mode = WorkgroupMode::cu;
    wide.forward_progress = true;

    KernelCode no_ids = empty_kernel(target, "no_ids");
    no_ids.args.clear();
    no_ids.kernarg_size = 0;
    no_ids.user_sgprs = {};
    no_ids.workgroup_ids = {.x = false};
    return {plain, large, wide, no_ids};
}

inline std::vector<std::byte> written(Target target, CodeObjectVersion version = CodeObjectVersion::v5) {
    const auto object = write_code_object(target, version, varied_kernels(target));
    EXPECT_TRUE(object.has_value()) << object.error().message;
    return object.value_or(std::vector<std::byte>());
}

inline LoadedObject loaded(std::span<const std::byte> file, std::optional<Target> wanted = std::nullopt) {
    auto object = load_code_object(file, wanted);
    EXPECT_TRUE(object.has_value()) << object.error().message;
    return object ? std::move(*object) : LoadedObject{};
}

inline void write_text(const std::string& path, const std::string& text) {
    std::ofstream file(path);
    file << text;
    ASSERT_TRUE(file.good()) << path;
}

inline std::string kernel_error(Target target, const KernelCode& kernel) {
    const auto object = write_code_object(target, CodeObjectVersion::v5, std::span(&kernel, 1));
    return object ? "no error" : object.error().message;
}

}  // namespace riftjit::rdna::test
