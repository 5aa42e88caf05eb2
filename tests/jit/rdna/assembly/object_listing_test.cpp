// Whole code objects of clang-19 as text, and assembled again: the same code, descriptors, metadata and results.
#include "jit/rdna/assembly/object_listing.h"

#include <gtest/gtest.h>

#include "jit/rdna/assembly/assembly_file.h"
#include "jit/rdna/assembly/assembly_object.h"
#include "tests/host/oracle.h"
#include "tests/jit/rdna/emulator/compiled/compiled_kernels.h"

namespace riftjit::rdna {
namespace object_listing_test {

std::vector<std::byte> text_of(const LoadedObject& object) {
    const auto bytes = object.bytes(object.text.at(0));
    return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> again(const LoadedObject& object) {
    const std::string listing = format_object(object, list_functions(object));
    const auto file = assemble(listing, "k.s", std::nullopt);
    EXPECT_TRUE(file) << file.error().message;
    if (!file) return {};
    const auto bytes = write_code_object(*file);
    EXPECT_TRUE(bytes) << bytes.error().message;
    return bytes ? *bytes : std::vector<std::byte>();
}

constexpr std::string_view kSources[] = {"basic.cl", "cooperation.cl", "matrix.cl", "calls.cl"};

class ObjectListing : public testing::TestWithParam<Target> {};

TEST_P(ObjectListing, AssemblesToTheSameCodeDescriptorsAndMetadata) {
    for (const std::string_view source : kSources)
        for (const std::string_view level : {"-O0", "-O2"})
            for (const WaveSize wave : {WaveSize::wave32, WaveSize::wave64}) {
                SCOPED_TRACE(testing::Message() << source << " " << level << " wave" << lanes(wave));
                const auto bytes = emulator::compile(source, {GetParam(), level, wave});
                if (bytes.empty()) return lack_oracle("a clang-19 that compiles for AMD GPUs");
                const auto first = load_code_object(bytes);
                ASSERT_TRUE(first) << first.error().message;
                const auto second = load_code_object(again(*first));
                ASSERT_TRUE(second) << second.error().message;
                ASSERT_EQ(second->kernels.size(), first->kernels.size());
                // What refers to the data changes with the distance to it.
                EXPECT_TRUE(source == "calls.cl" || text_of(*second) == text_of(*first));
                EXPECT_EQ(second->functions.size(), first->functions.size());
                for (size_t i = 0; i < first->kernels.size(); ++i) {
                    KernelDescriptor expected = first->kernels[i].descriptor;
                    expected.entry_offset = second->kernels[i].descriptor.entry_offset;
                    EXPECT_TRUE(second->kernels[i].descriptor == expected) << first->kernels[i].name;
                    EXPECT_TRUE(second->kernels[i].metadata == first->kernels[i].metadata) << first->kernels[i].name;
                }
            }
}

TEST_P(ObjectListing, KeepsCallsAndTablesRight) {
    for (const std::string_view level : {"-O0", "-O2"}) {
        const emulator::CompilerOptions options{GetParam(), level, WaveSize::wave32};
        const auto bytes = emulator::compile("calls.cl", options);
        if (bytes.empty()) return lack_oracle("a clang-19 that compiles for AMD GPUs");
        const auto object = load_code_object(bytes);
        ASSERT_TRUE(object) << object.error().message;
        const std::string listing = format_object(*object, list_functions(*object));
        EXPECT_NE(listing.find(".type mix,@function"), std::string::npos);
        EXPECT_NE(listing.find("@rel32@lo"), std::string::npos);
        const auto table = [](uint32_t i) {
            constexpr uint32_t kTable[] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4, 6, 2, 6, 4, 69};
            return i < std::size(kTable) ? kTable[i] : 0;
        };
        const auto mix = [&](uint32_t a, uint32_t b) { return a * 2654435761u ^ table(b % 70); };
        const auto calls = emulator::make_case<uint32_t>(
            "calls", emulator::some_number, emulator::other_number, [&](const auto& a, const auto& b) {
                return emulator::filled<uint32_t>(emulator::kItems,
                                                  [&](uint32_t i) { return mix(a[i], b[i]) + mix(b[i], a[i]); });
            });
        const auto looks_up = emulator::make_case<uint32_t>(
            "looks_up", emulator::some_number, emulator::other_number, [&](const auto& a, const auto& b) {
                return emulator::filled<uint32_t>(emulator::kItems,
                                                  [&](uint32_t i) { return table(a[i] % 70) + b[i]; });
            });
        const auto assembled = again(*object);
        emulator::run_case(calls, options, assembled, {emulator::Schedule::long_quanta, 7});
        emulator::run_case(looks_up, options, assembled, {emulator::Schedule::long_quanta, 7});
    }
}

TEST_P(ObjectListing, OfAKernelWithoutWhatItCallsIsRefusedByTheAssembler) {
    const auto bytes = emulator::compile("calls.cl", {GetParam(), "-O2", WaveSize::wave32});
    if (bytes.empty()) return lack_oracle("a clang-19 that compiles for AMD GPUs");
    const auto object = load_code_object(bytes);
    ASSERT_TRUE(object) << object.error().message;
    const auto alone = assemble(format_object(*object, list_functions(*object, "calls")), "k.s", std::nullopt);
    ASSERT_FALSE(alone);
    EXPECT_NE(alone.error().message.find("is not listed"), std::string::npos) << alone.error().message;
    const auto free = assemble(format_object(*object, list_functions(*object, "looks_up")), "k.s", std::nullopt);
    EXPECT_TRUE(free) << free.error().message;
}

INSTANTIATE_TEST_SUITE_P(Targets, ObjectListing, testing::Values(Target::gfx1030, Target::gfx1100, Target::gfx1201),
                         [](const auto& parameter) { return std::string(name(parameter.param)); });

// s_addc_u32 s1, s1, 0 with the zero in a literal word, as LLVM's assembler never writes it.
TEST(Listing, WritesALongerFormAsItsWords) {
    const std::vector<uint32_t> code = {0x8201FF01, 0x00000000, 0xBFB00000};
    const auto listed = list_instructions(Target::gfx1100, WaveSize::wave32, code, 0);
    ASSERT_EQ(listed.size(), 2U);
    EXPECT_EQ(listed[0].text, "s_addc_u32 s1, s1, 0");
    EXPECT_TRUE(listed[0].is_longer_form);
    EXPECT_FALSE(listed[1].is_longer_form);
    const std::string text = format_listing(listed);
    EXPECT_NE(text.find(".long 0x8201ff01, 0x00000000 "), std::string::npos) << text;
    EXPECT_NE(text.find("s_addc_u32 s1, s1, 0"), std::string::npos) << text;
}

}  // namespace object_listing_test
}  // namespace riftjit::rdna
