#include "jit/rdna/object/kernel_descriptor.h"

#include <random>

#include "host/little_endian.h"
#include "tests/host/oracle.h"
#include "tests/jit/rdna/object/code_object_cases.h"

namespace riftjit::rdna {
namespace kernel_descriptor_test {

using namespace test;

constexpr std::array kGenerations = {Generation::gfx10, Generation::gfx11, Generation::gfx12};

uint32_t word_of(const KernelCode& kernel, Target target, size_t offset) {
    const auto descriptor = describe(kernel, target);
    EXPECT_TRUE(descriptor.has_value());
    const auto bytes = encode(*descriptor, generation(target));
    EXPECT_TRUE(bytes.has_value());
    return get_little_endian<uint32_t>(*bytes, offset);
}

// Register words as LLVM's usage guide tabulates their bits.
TEST(KernelDescriptor, HasTheDocumentedWordsOfAPlainKernel) {
    for (const TargetInfo& target : all_targets()) {
        const KernelCode kernel = empty_kernel(target.target, "k");
        const bool gfx12 = target.generation == Generation::gfx12;
        EXPECT_EQ(word_of(kernel, target.target, 48), gfx12 ? 0x600F0000U : 0x60AF0000U) << target.name;
        EXPECT_EQ(word_of(kernel, target.target, 52), target.workgroup_id_in_s15 ? 0x9EU : 0x84U) << target.name;
        EXPECT_EQ(word_of(kernel, target.target, 56), 0x0408U) << target.name;
    }
    KernelCode kernel = empty_kernel(Target::gfx1100, "k");
    kernel.workgroup_ids = {.x = true, .y = true, .z = true};
    EXPECT_EQ(word_of(kernel, Target::gfx1100, 52), 0x39AU);
    kernel.forward_progress = true;
    EXPECT_EQ(word_of(kernel, Target::gfx1100, 48), 0xE0AF0000U);
}

TEST(KernelDescriptor, SurvivesDecodingAndEncodingWhateverBitsAreNotReserved) {
    std::mt19937 random(1);
    for (const Generation generation : kGenerations) {
        size_t accepted = 0;
        for (int i = 0; i < 20000; ++i) {
            KernelDescriptorBytes bytes{};
            for (size_t at : {0, 4, 8, 16, 20}) put_little_endian(bytes, at, static_cast<uint32_t>(random()));
            // One bit of each word, or a reserved one is nearly always among them; and user SGPRs enough for any wish.
            for (size_t at : {44, 48}) put_little_endian(bytes, at, 1U << random() % 32);
            put_little_endian(bytes, 52, 15U << 1 | 1U << random() % 32);
            put_little_endian(bytes, 56, static_cast<uint16_t>(1U << random() % 16));
            const auto descriptor = decode_kernel_descriptor(bytes, generation);
            if (!descriptor) continue;
            ++accepted;
            const auto again = encode(*descriptor, generation);
            ASSERT_TRUE(again.has_value()) << again.error().message;
            ASSERT_EQ(*again, bytes);
        }
        EXPECT_GT(accepted, 100U) << name(generation);
    }
}

TEST(KernelDescriptor, RefusesReservedBits) {
    const auto error_of = [](size_t offset, uint32_t value, Generation generation) {
        KernelDescriptorBytes bytes{};
        put_little_endian(bytes, offset, value);
        const auto descriptor = decode_kernel_descriptor(bytes, generation);
        return descriptor ? "no error" : descriptor.error().message;
    };
    EXPECT_TRUE(has_text(error_of(24, 1, Generation::gfx11), "reserved byte 24"));
    EXPECT_TRUE(has_text(error_of(48, 1U << 20, Generation::gfx11), "compute_pgm_rsrc1 0x100000 sets bits 0x100000"));
    EXPECT_TRUE(has_text(error_of(52, 1U << 15, Generation::gfx12), "compute_pgm_rsrc2 0x8000 sets bits 0x8000"));
    EXPECT_TRUE(has_text(error_of(44, 1U << 4, Generation::gfx10), "reserved on gfx10"));
    EXPECT_TRUE(has_text(error_of(44, 1, Generation::gfx12), "reserved on gfx12"));
    EXPECT_TRUE(has_text(error_of(56, 1, Generation::gfx11), "kernel_code_properties 0x1"));
    EXPECT_TRUE(has_text(error_of(56, 1U << 16, Generation::gfx10), "kernel_code_properties 0x10000"));
    EXPECT_TRUE(has_text(error_of(52, 3U << 11, Generation::gfx10), "work_item_ids 3 is reserved"));
    EXPECT_TRUE(has_text(error_of(52, 17U << 1, Generation::gfx10), "user_sgpr_count 17"));
    EXPECT_TRUE(has_text(error_of(56, 8, Generation::gfx10), "user_sgpr_count 0 is not between the 2 asked for"));
    EXPECT_TRUE(has_text(error_of(48, 64 - 1, Generation::gfx10), "no error"));  // wave64: 256 registers
}

TEST(KernelDescriptor, RefusesFieldsTheGenerationLacks) {
    const auto error_of = [](auto change, Generation generation) {
        KernelDescriptor descriptor;
        change(descriptor);
        const auto bytes = encode(descriptor, generation);
        return bytes ? "no error" : bytes.error().message;
    };
    EXPECT_TRUE(has_text(error_of([](auto& d) { d.dx10_clamp = true; }, Generation::gfx12), "dx10_clamp 1"));
    EXPECT_TRUE(has_text(error_of([](auto& d) { d.round_robin = true; }, Generation::gfx11), "round_robin 1"));
    EXPECT_TRUE(has_text(error_of([](auto& d) { d.instruction_prefetch = 64; }, Generation::gfx11),
                         "instruction_prefetch 64 does not fit 6 bits"));
    EXPECT_TRUE(has_text(error_of([](auto& d) { d.vgpr_blocks = 32; }, Generation::gfx11), "264 VGPRs"));
}

TEST(KernelDescriptor, PlacesUserSgprsInTheDocumentedOrder) {
    const UserSgprLayout all = layout({true, true, true, true, true, true, true});
    EXPECT_EQ(all.private_segment_buffer, 0);
    EXPECT_EQ(all.dispatch_ptr, 4);
    EXPECT_EQ(all.queue_ptr, 6);
    EXPECT_EQ(all.kernarg_ptr, 8);
    EXPECT_EQ(all.dispatch_id, 10);
    EXPECT_EQ(all.flat_scratch_init, 12);
    EXPECT_EQ(all.private_segment_size, 14);
    EXPECT_EQ(all.count, 15);
    EXPECT_EQ(layout({.kernarg_ptr = true}).kernarg_ptr, 0);
    EXPECT_FALSE(layout({.kernarg_ptr = true}).queue_ptr.has_value());
}

TEST(KernelDescriptor, DeclaresAtLeastTheRegistersAsked) {
    for (const WaveSize wave_size : {WaveSize::wave32, WaveSize::wave64})
        for (uint32_t vgprs = 0; vgprs <= 256; ++vgprs) {
            KernelDescriptor descriptor;
            descriptor.wave_size = wave_size;
            descriptor.vgpr_blocks = vgpr_blocks(vgprs, wave_size);
            const uint32_t block = wave_size == WaveSize::wave32 ? 8 : 4;
            EXPECT_GE(descriptor.vgprs(), vgprs);
            EXPECT_LT(descriptor.vgprs(), std::max(vgprs, 1U) + block);
        }
}

// The descriptor of a kernel that clang compiled is the one we give the same kernel: clang pads user SGPRs by itself.
TEST(KernelDescriptor, IsClangsForTheSameKernel) {
    if (!has_command("clang-19") || !has_command("ld.lld-19")) return lack_oracle("clang-19 and ld.lld-19");
    const Scratch scratch;
    write_text(
        scratch.path("k.cl"),
        "__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void one(__global int* b) {"
        "b[__builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x()] = 1; }"
        "__kernel __attribute__((reqd_work_group_size(8, 8, 8))) void three(__global int* b) { __local int l[512];"
        "l[__builtin_amdgcn_workitem_id_z() * 8 + __builtin_amdgcn_workitem_id_y()] = 2;"
        "__builtin_amdgcn_s_barrier(); b[__builtin_amdgcn_workgroup_id_x() +"
        "__builtin_amdgcn_workgroup_id_y() * 8 + __builtin_amdgcn_workgroup_id_z() * 64] ="
        "l[__builtin_amdgcn_workitem_id_x()]; }");
    for (const TargetInfo& target : all_targets()) {
        if (!known_to_llvm(target.target)) continue;
        for (const std::string_view flags : {"", "-mwavefrontsize64"}) {
            EXPECT_EQ(output_of(fmt::format(
                          "{{ clang-19 -x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -mcpu={0} -nogpulib -O2 {1} {2} "
                          "-c -o {3} && ld.lld-19 -shared {3} -o {3}; }} 2>&1",
                          target.name, flags, scratch.path("k.cl"), scratch.path("k.co"))),
                      "");
            const LoadedObject object = loaded(read_file(scratch.path("k.co")));
            ASSERT_EQ(object.kernels.size(), 2U);
            for (const LoadedKernel& clangs : object.kernels) {
                KernelCode kernel = empty_kernel(target.target, clangs.name);
                const bool is_three = clangs.name == "three";
                kernel.wave_size = flags.empty() ? WaveSize::wave32 : WaveSize::wave64;
                kernel.resources.vgprs = clangs.metadata.vgpr_count;
                kernel.resources.lds_bytes = is_three ? 2048 : 0;
                // clang asks for a scratch buffer on gfx10 whether it spills or not.
                kernel.user_sgprs.private_segment_buffer = clangs.descriptor.user_sgprs.private_segment_buffer;
                kernel.workgroup_ids = {.x = true, .y = is_three, .z = is_three};
                kernel.work_item_ids = is_three ? WorkItemIds::xyz : WorkItemIds::x;
                kernel.kernarg_size = clangs.metadata.kernarg_bytes;
                KernelDescriptor expected = *describe(kernel, target.target);
                expected.entry_offset = clangs.descriptor.entry_offset;
                expected.sgpr_blocks = clangs.descriptor.sgpr_blocks;  // means nothing on RDNA
                EXPECT_EQ(*encode(expected, target.generation), *encode(clangs.descriptor, target.generation))
                    << target.name << ' ' << clangs.name << ' ' << flags;
            }
        }
    }
}

}  // namespace kernel_descriptor_test
}  // namespace riftjit::rdna
