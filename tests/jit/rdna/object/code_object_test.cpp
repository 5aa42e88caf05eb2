#include "jit/rdna/object/code_object.h"

#include "tests/host/oracle.h"
#include "tests/jit/rdna/object/code_object_cases.h"

namespace riftjit::rdna {
namespace code_object_test {

using namespace test;

// A kernel as LLVM's assembler takes it: the same facts, spelled independently of our encoder.
std::string directives(const KernelCode& kernel, Target target) {
    const Generation gen = generation(target);
    std::string text = fmt::format(".amdhsa_kernel {}\n", kernel.name);
    const auto add = [&](std::string_view name, uint32_t value) {
        text += fmt::format(".amdhsa_{} {}\n", name, value);
    };
    add("group_segment_fixed_size", kernel.resources.lds_bytes);
    add("private_segment_fixed_size", kernel.resources.scratch_bytes);
    add("kernarg_size", kernel.kernarg_size);
    add("user_sgpr_count", user_sgpr_count(target, kernel.wave_size, kernel.user_sgprs, kernel.workgroup_ids));
    add("user_sgpr_dispatch_ptr", kernel.user_sgprs.dispatch_ptr);
    add("user_sgpr_kernarg_segment_ptr", kernel.user_sgprs.kernarg_ptr);
    add("user_sgpr_dispatch_id", kernel.user_sgprs.dispatch_id);
    add("wavefront_size32", kernel.wave_size == WaveSize::wave32);
    add(gen == Generation::gfx10 ? "system_sgpr_private_segment_wavefront_offset" : "enable_private_segment",
        kernel.resources.scratch_bytes != 0);
    add("system_sgpr_workgroup_id_x", kernel.workgroup_ids.x);
    add("system_sgpr_workgroup_id_y", kernel.workgroup_ids.y);
    add("system_sgpr_workgroup_id_z", kernel.workgroup_ids.z);
    add("system_vgpr_workitem_id", static_cast<uint32_t>(kernel.work_item_ids));
    add("next_free_vgpr", kernel.resources.vgprs);
    add("next_free_sgpr", kernel.resources.sgprs);
    add("float_round_mode_32", static_cast<uint32_t>(kernel.float_modes.round_f32));
    add("float_round_mode_16_64", static_cast<uint32_t>(kernel.float_modes.round_f16_f64));
    add("float_denorm_mode_32", static_cast<uint32_t>(kernel.float_modes.denormals_f32));
    add("float_denorm_mode_16_64", static_cast<uint32_t>(kernel.float_modes.denormals_f16_f64));
    add("workgroup_processor_mode", kernel.workgroup_mode == WorkgroupMode::wgp);
    add("memory_ordered", 1);
    add("forward_progress", kernel.forward_progress);
    return text + ".end_amdhsa_kernel\n";
}

std::string metadata_yaml(const KernelCode& kernel) {
    std::string text = fmt::format(
        "  - .name: {0}\n    .symbol: {0}.kd\n    .kernarg_segment_size: {1}\n    .kernarg_segment_align: 8\n"
        "    .group_segment_fixed_size: {2}\n    .private_segment_fixed_size: {3}\n    .wavefront_size: {4}\n"
        "    .sgpr_count: {5}\n    .vgpr_count: {6}\n    .max_flat_workgroup_size: {7}\n    .sgpr_spill_count: 0\n"
        "    .vgpr_spill_count: {8}\n    .workgroup_processor_mode: {9}\n    .uses_dynamic_stack: false\n",
        kernel.name, kernel.kernarg_size, kernel.resources.lds_bytes, kernel.resources.scratch_bytes,
        lanes(kernel.wave_size), kernel.resources.sgprs, kernel.resources.vgprs, kernel.max_flat_workgroup_size,
        kernel.resources.vgpr_spills, kernel.workgroup_mode == WorkgroupMode::wgp ? 1 : 0);
    text += kernel.args.empty() ? "    .args: []\n" : "    .args:\n";
    for (const KernelArgument& argument : kernel.args) {
        text += fmt::format("      - .offset: {}\n        .size: {}\n        .value_kind: {}\n        .name: {}\n",
                            argument.offset, argument.size, name(argument.value_kind), argument.name);
        if (argument.address_space) text += fmt::format("        .address_space: {}\n", name(*argument.address_space));
    }
    return text;
}

std::string assembly(std::span<const KernelCode> kernels, Target target) {
    std::string text =
        fmt::format(".amdgcn_target \"amdgcn-amd-amdhsa--{}\"\n.amdhsa_code_object_version 5\n", name(target));
    for (const KernelCode& kernel : kernels) {
        text += fmt::format(".text\n.protected {0}\n.globl {0}\n.p2align 8\n.type {0},@function\n{0}:\n", kernel.name);
        for (uint32_t word : kernel.code) text += fmt::format(".long {:#x}\n", word);
        text +=
            fmt::format(".Lend_{0}:\n.size {0}, .Lend_{0} - {0}\n.section .rodata,\"a\"\n.p2align 6\n", kernel.name);
        text += directives(kernel, target);
    }
    text += ".amdgpu_metadata\n---\namdhsa.version: [1, 2]\n";
    text += fmt::format("amdhsa.target: amdgcn-amd-amdhsa--{}\namdhsa.kernels:\n", name(target));
    for (const KernelCode& kernel : kernels) text += metadata_yaml(kernel);
    return text + "...\n.end_amdgpu_metadata\n";
}

// Everything but the distance to the code, which depends on the layout.
std::vector<std::byte> descriptor_bytes_but_entry(const LoadedObject& object, const LoadedKernel& kernel) {
    const auto bytes = object.bytes({kernel.descriptor_address, kKernelDescriptorBytes});
    std::vector<std::byte> kept(bytes.begin(), bytes.end());
    std::fill(kept.begin() + 16, kept.begin() + 24, std::byte{0});
    return kept;
}

TEST(CodeObject, IsReadByLlvmWithoutAWarning) {
    if (!has_command("llvm-readelf-19") || !has_command("llvm-objdump-19")) return lack_oracle("LLVM 19's tools");
    const Scratch scratch;
    for (const TargetInfo& target : all_targets()) {
        std::string paths;
        for (const auto version : {CodeObjectVersion::v4, CodeObjectVersion::v5, CodeObjectVersion::v6}) {
            const std::string path = scratch.path(fmt::format("v{}.co", static_cast<int>(version)));
            write_file(path, written(target.target, version));
            paths += " " + path;
        }
        const std::string told =
            output_of("llvm-readelf-19 -h -l -S --dyn-syms -d -n --symbols --gnu-hash-table" + paths + " 2>&1");
        EXPECT_FALSE(matches(told, "[Ww]arning|[Ee]rror|[Ii]nvalid")) << told;
        EXPECT_TRUE(matches(told, "amdhsa.target: +amdgcn-amd-amdhsa--" + std::string(target.name))) << told;
        if (!known_to_llvm(target.target)) continue;
        const std::string listing = output_of("llvm-objdump-19 -d" + paths + " 2>&1");
        EXPECT_FALSE(matches(listing, "[Ww]arning|[Ee]rror|<unknown>")) << listing;
        EXPECT_TRUE(has_text(listing, "s_endpgm"));
        EXPECT_TRUE(has_text(listing, "s_code_end"));
    }
}

TEST(CodeObject, SaysWhatLlvmSaysOfTheSameKernels) {
    if (!has_command("llvm-mc-19") || !has_command("ld.lld-19")) return lack_oracle("llvm-mc-19 and ld.lld-19");
    const Scratch scratch;
    size_t compared = 0;
    for (const TargetInfo& target : all_targets()) {
        if (!known_to_llvm(target.target)) continue;
        const std::vector<KernelCode> kernels = varied_kernels(target.target);
        write_text(scratch.path("k.s"), assembly(kernels, target.target));
        const std::string told = output_of(
            fmt::format("cd {0} && llvm-mc-19 -triple amdgcn-amd-amdhsa -mcpu={1} -filetype=obj k.s -o k.o 2>&1 && "
                        "ld.lld-19 -shared k.o -o k.co 2>&1",
                        scratch.directory().string(), target.name));
        ASSERT_EQ(told, "") << target.name;
        const std::vector<std::byte> theirs_file = read_file(scratch.path("k.co")), ours_file = written(target.target);
        const LoadedObject theirs = loaded(theirs_file), ours = loaded(ours_file);
        EXPECT_EQ(theirs.version, ours.version);
        ASSERT_EQ(theirs.target, target.target);
        ASSERT_EQ(theirs.kernels.size(), kernels.size());
        for (const KernelCode& kernel : kernels) {
            const LoadedKernel *their = theirs.find(kernel.name), *our = ours.find(kernel.name);
            ASSERT_TRUE(their && our) << kernel.name;
            EXPECT_EQ(their->metadata, our->metadata) << target.name << ' ' << kernel.name;
            EXPECT_EQ(descriptor_bytes_but_entry(theirs, *their), descriptor_bytes_but_entry(ours, *our))
                << target.name << ' ' << kernel.name;
            EXPECT_TRUE(std::ranges::equal(theirs.bytes(their->code), ours.bytes(our->code)));
            ++compared;
        }
    }
    EXPECT_EQ(compared, 16 * 4U);
}

TEST(CodeObject, IsDeterministic) { EXPECT_EQ(written(Target::gfx1100), written(Target::gfx1100)); }

TEST(CodeObject, HoldsTheCodeItWasGiven) {
    for (const TargetInfo& target : all_targets()) {
        const std::vector<std::byte> file = written(target.target);
        const LoadedObject object = loaded(file, target.target);
        for (const KernelCode& kernel : varied_kernels(target.target)) {
            const LoadedKernel* found = object.find(kernel.name);
            ASSERT_TRUE(found);
            const auto bytes = object.bytes(found->code);
            ASSERT_EQ(bytes.size(), kernel.code.size() * 4);
            EXPECT_EQ(std::memcmp(bytes.data(), kernel.code.data(), bytes.size()), 0);
            EXPECT_EQ(found->code.address % 256, 0U);
            EXPECT_EQ(found->metadata.args, kernel.args);
        }
    }
}

TEST(CodeObject, EndsWithThreeCacheLinesOfCodeEnd) {
    for (const Target target : {Target::gfx1030, Target::gfx1100, Target::gfx1201}) {
        const std::vector<std::byte> file = written(target);
        const LoadedObject object = loaded(file);
        const size_t line_bytes = target == Target::gfx1030 ? 64 : 128;
        ASSERT_EQ(object.text.size(), 1U);
        const auto text = object.bytes(object.text[0]);
        ASSERT_EQ(text.size() % line_bytes, 0U);
        const auto tail = text.last(3 * line_bytes);
        for (size_t at = 0; at < tail.size(); at += 4) {
            uint32_t word;
            std::memcpy(&word, tail.data() + at, 4);
            EXPECT_EQ(word, kCodeEnd);
        }
    }
}

TEST(CodeObject, RefusesKernelsThatCannotBeWritten) {
    const auto error_of = [](auto change) {
        KernelCode kernel = empty_kernel(Target::gfx1100, "k");
        change(kernel);
        return kernel_error(Target::gfx1100, kernel);
    };
    EXPECT_TRUE(has_text(error_of([](auto& k) { k.name = ""; }), "name is empty"));
    EXPECT_TRUE(has_text(error_of([](auto& k) { k.name = "k.kd"; }), "\"k.kd\" is named like a descriptor"));
    EXPECT_TRUE(has_text(error_of([](auto& k) { k.code.clear(); }), "\"k\" has no code"));
    EXPECT_TRUE(has_text(error_of([](auto& k) { k.resources.vgprs = 257; }), "vgprs 257 is more than 256"));
    EXPECT_TRUE(
        has_text(error_of([](auto& k) { k.resources.lds_bytes = 65537; }), "lds_bytes 65537 is more than 65536"));
    EXPECT_TRUE(has_text(error_of([](auto& k) { k.max_flat_workgroup_size = 1025; }), "1025 is more than 1024"));
    EXPECT_TRUE(has_text(error_of([](auto& k) { k.max_flat_workgroup_size = 0; }), "max_flat_workgroup_size is 0"));
    EXPECT_TRUE(has_text(error_of([](auto& k) { k.kernarg_size = 7; }), "argument 0 of 8 bytes at 0 does not lie"));
    EXPECT_TRUE(has_text(error_of([](auto& k) { k.args.push_back(k.args[0]); }), "argument 1 of 8 bytes at 0"));
    EXPECT_TRUE(has_text(error_of([](auto& k) { k.user_sgprs.private_segment_buffer = true; }),
                         "private_segment_buffer 1 does not fit 0 bits on gfx11"));
    EXPECT_TRUE(has_text(error_of([](auto& k) { k.user_sgprs.flat_scratch_init = true; }), "flat_scratch_init"));
    const std::vector<KernelCode> twice(2, empty_kernel(Target::gfx1100, "k"));
    const auto object = write_code_object(Target::gfx1100, CodeObjectVersion::v5, twice);
    ASSERT_FALSE(object.has_value());
    EXPECT_TRUE(has_text(object.error().message, "two kernels are named \"k\""));
    EXPECT_FALSE(write_code_object(Target::gfx1100, CodeObjectVersion::v5, {}).has_value());
}

}  // namespace code_object_test
}  // namespace riftjit::rdna
