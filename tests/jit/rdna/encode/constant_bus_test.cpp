// How many scalar values an instruction may read: whatever mask and sources name, and in whichever size, llvm-mc-19
// takes what we take.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "jit/rdna/encode/encoding.h"
#include "jit/rdna/text/text.h"
#include "tests/host/oracle.h"
#include "tests/jit/rdna/llvm_oracle.h"

namespace riftjit::rdna {
namespace constant_bus_test {

using test::LlvmOracle;

constexpr std::string_view kSingles[] = {"v1",      "vcc_lo",          "vcc_hi", "s4",    "s5",
                                         "src_scc", "src_shared_base", "1",      "0x1234"};
constexpr std::string_view kPairs[] = {"v[2:3]", "vcc", "s[4:5]", "src_scc", "src_shared_base", "1", "0x1234"};
constexpr std::string_view kMasks32[] = {"vcc_lo", "vcc_hi", "s4"}, kMasks64[] = {"vcc", "s[4:5]"};

// `pattern` with every pair of sources, and every mask where it has a third place.
void add_lines(std::vector<std::string>& lines, std::string_view pattern, std::span<const std::string_view> sources,
               std::span<const std::string_view> masks) {
    for (const std::string_view a : sources)
        for (const std::string_view b : sources)
            for (const std::string_view mask : masks) lines.push_back(fmt::format(fmt::runtime(pattern), a, b, mask));
}

std::vector<std::string> lines_for(Target target, WaveSize wave) {
    const std::span<const std::string_view> masks =
        wave == WaveSize::wave32 ? std::span<const std::string_view>(kMasks32) : kMasks64;
    const std::string_view vcc = wave == WaveSize::wave32 ? "vcc_lo" : "vcc", none[] = {""};
    std::vector<std::string> lines;
    add_lines(lines, "v_cndmask_b32_e64 v0, {}, {}, {}", kSingles, masks);
    add_lines(lines, fmt::format("v_add_co_ci_u32_e64 v0, {}, {{}}, {{}}, {{}}", vcc), kSingles, masks);
    add_lines(lines, "v_div_fmas_f32 v0, {}, {}, v4{}", kSingles, none);
    add_lines(lines, "v_div_fmas_f64 v[0:1], {}, {}, v[4:5]{}", kPairs, none);
    add_lines(lines, "v_div_fmas_f64 v[0:1], {}, v[4:5], {}{}", kPairs, none);
    add_lines(lines, "v_fma_f64 v[0:1], {}, {}, vcc{}", kPairs, none);
    add_lines(lines, "v_fma_f32 v0, {}, {}, {}", kSingles, kSingles);
    for (const std::string_view shift : {"v_lshlrev_b64", "v_lshrrev_b64", "v_ashrrev_i64"})
        for (const std::string_view single : kSingles)
            for (const std::string_view pair : kPairs)
                lines.push_back(fmt::format("{} v[0:1], {}, {}", shift, single, pair));
    // Sources of two sizes, which may share the literal.
    for (const std::string_view pair : kPairs)
        for (const std::string_view single : kSingles) {
            lines.push_back(fmt::format("v_ldexp_f64 v[0:1], {}, {}", pair, single));
            for (const std::string_view third : kPairs)
                lines.push_back(fmt::format("v_mqsad_pk_u16_u8 v[0:1], {}, {}, {}", pair, single, third));
        }
    if (generation(target) == Generation::gfx10)  // beside SDWA the table takes registers alone
        add_lines(lines, fmt::format("v_cndmask_b32_sdwa v0, {{}}, {{}}, {}{{}} src0_sel:BYTE_0 src1_sel:DWORD", vcc),
                  std::span(kSingles).first(5), none);
    return lines;
}

class ConstantBus : public testing::TestWithParam<std::tuple<Target, WaveSize>> {};

TEST_P(ConstantBus, CarriesWhatItDoesForLlvm) {
    if (!LlvmOracle::is_present()) return lack_oracle("llvm-mc-19");
    const auto [target, wave] = GetParam();
    const std::vector<std::string> lines = lines_for(target, wave);
    const auto theirs = LlvmOracle(target, wave).assemble(lines);
    size_t taken = 0;
    for (size_t i = 0; i < lines.size(); ++i) {
        const Result<Parsed> ours = parse(target, wave, lines[i]);
        EXPECT_EQ(ours.has_value(), theirs[i].has_value())
            << lines[i] << ": " << (ours ? "taken" : ours.error().message);
        if (!ours || !theirs[i]) continue;
        const auto encoded = encode(target, wave, ours->instruction);
        ASSERT_TRUE(encoded) << lines[i] << ": " << encoded.error().message;
        EXPECT_TRUE(std::ranges::equal(encoded->span(), *theirs[i])) << lines[i];
        ++taken;
    }
    EXPECT_GT(taken, lines.size() / 8);
    EXPECT_LT(taken, lines.size());
}

INSTANTIATE_TEST_SUITE_P(Targets, ConstantBus,
                         testing::Combine(testing::Values(Target::gfx1030, Target::gfx1100, Target::gfx1201),
                                          testing::Values(WaveSize::wave32, WaveSize::wave64)),
                         [](const auto& info) {
                             return fmt::format("{}_wave{}", name(std::get<0>(info.param)),
                                                lanes(std::get<1>(info.param)));
                         });

}  // namespace constant_bus_test
}  // namespace riftjit::rdna
