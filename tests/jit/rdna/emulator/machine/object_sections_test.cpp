// Objects that are more than one section of code: code in two, and data that kernels change.
#include <algorithm>

#include "tests/host/oracle.h"
#include "tests/jit/rdna/emulator/compiled/compiled_kernels.h"

namespace riftjit::rdna::emulator {

class ObjectSections : public testing::TestWithParam<Target> {};

TEST_P(ObjectSections, HoldCodeApartAndDataThatOutlivesALaunch) {
    for (const std::string_view level : {"-O0", "-O2"}) {
        const CompilerOptions options{GetParam(), level, WaveSize::wave32};
        const std::vector<std::byte> object = compile("sections.cl", options);
        if (object.empty()) return lack_oracle("a clang-19 that compiles for AMD GPUs");
        const auto loaded = load_code_object(object);
        ASSERT_TRUE(loaded) << loaded.error().message;
        EXPECT_EQ(loaded->text.size(), 2u);
        EXPECT_TRUE(std::ranges::any_of(loaded->segments, [](const Segment& segment) {
            return segment.access == SegmentAccess::read_write && !segment.bytes.empty();
        }));

        Machine machine(GetParam(), {.checks = checks_for(options)});
        ASSERT_TRUE(machine.load(object));
        const uint64_t out = machine.allocate("out", std::vector<std::byte>(8));
        const auto results = [&](std::string_view kernel) {
            const auto report = machine.launch(kernel, {}, {32}, std::as_bytes(std::span(&out, 1)));
            EXPECT_TRUE(report) << report.error().message;
            for (const Finding& finding : report->findings) ADD_FAILURE() << finding.text();
            std::vector<uint32_t> words(2);
            std::memcpy(words.data(), machine.read(out, 8)->data(), 8);
            return words;
        };
        // From 40 and 9: the counter grows by 2, and the square by the counter.
        EXPECT_EQ(results("count"), (std::vector<uint32_t>{42, 51}));
        EXPECT_EQ(results("count"), (std::vector<uint32_t>{44, 95}));
        EXPECT_EQ(results("look"), (std::vector<uint32_t>{44, 4}));
    }
}

INSTANTIATE_TEST_SUITE_P(Targets, ObjectSections, testing::Values(Target::gfx1030, Target::gfx1100, Target::gfx1201),
                         [](const auto& info) { return std::string(name(info.param)); });

}  // namespace riftjit::rdna::emulator
