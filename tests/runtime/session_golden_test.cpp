// Every golden at every level that this machine has: how exact logits are, which tokens win, and that threads and
// levels do not change a bit.
#include <fstream>

#include "tests/runtime/golden_run.h"

namespace riftjit::runtime {
namespace session_golden_test {

// Bounds are in standard deviations of the logits, with keys and values cached as f32.
//
// Float weights multiply f32 activations: what is left is f32 rounding, 2^-24 per operation over a few hundred
// operations in a row.
constexpr double kFloatBound = 5e-5;
// VDPBF16PS and TDPBF16PS take activations rounded to 8 bits, off by 2^-9 / sqrt(3) = 0.00113 of themselves before each
// of the 15 matmuls on a logit's way: 0.00113 * sqrt(15) = 0.00437. Beyond 5.4 times that lies one in 15 million of
// logits that are off by chance, where the golden has some ten thousands. Measured on a Xeon: 0.0227 and 0.0206.
constexpr double kBf16Bound = 0.0236;
// Quantised weights multiply 13-bit activations (jit/kernel_spec.h, RowFormat::i16): with a block's largest value at
// three deviations, rounding adds 3 / 4095 / sqrt(12) = 2.1e-4 of the activations' deviation. Over the 15 (nano) to 57
// (storyteller) matmuls on a logit's way independent errors grow with the square root, to 0.0008 to 0.0016; the largest
// of thousands is four to five times that.
constexpr double kQuantisedBound = 0.008;
// Activations of 8 bits: of 32 values with a normal distribution the largest has 2.1 deviations, so rounding adds
// 2.1 / 127 / sqrt(12) = 0.0048 of the activations' deviation, after 15 to 57 matmuls 0.018 to 0.036, and the largest
// of thousands is four to five times that. llama.cpp, which has such activations too, reaches 0.07 to 0.16 on these
// files.
constexpr double kByteBound = 0.16;
// f16 keys and values are off by up to 2^-12; scores and outputs by as much, in each layer.
constexpr double kF16CacheBound = 0.006;

// Goldens of families that transformers has no class of are llama.cpp's (make_peer_files.py), whose GELU comes from a
// table: its argument and its value are rounded to f16, off by 2^-12 of themselves each, 2^-12 sqrt(2 / 3) = 2.0e-4 of
// the deviation of a block's inner row. Over three blocks that is 3.5e-4 of the logits' deviation, and the largest of
// thousands four to five times as much.
constexpr double kTableOfGeluBound = 0.0017;

double bound_for(const std::string& golden, Isa isa) {
    if (golden == "nano-bf16" && has_bf16(isa)) return kBf16Bound;
    if (golden == "family-codeshell" || golden == "family-grok") return kTableOfGeluBound;
    const bool is_float = golden.starts_with("family-") || golden.starts_with("lora-") || golden == "nano-f32" ||
                          golden == "nano-f16" || golden == "nano-bf16";
    return is_float ? kFloatBound : kQuantisedBound;
}

// What llama.cpp reaches on the same file, rounded to four decimals.
double llama_cpp_error(const std::string& golden) {
    std::ifstream file(source_path("tests/data/goldens/llama-cpp-errors.json"));
    const nlohmann::json files = nlohmann::json::parse(file).at("files");
    return files.contains(golden) ? double(files.at(golden).at("max_error_sd")) : INFINITY;  // not run there
}

// A token may differ only where the two best logits are closer than both can be wrong together.
void expect_outcome(const Outcome& outcome, double bound, const std::string& what) {
    EXPECT_LE(outcome.max_error, bound) << what;
    for (const double gap : outcome.unequal_gaps) EXPECT_LE(gap, 2 * bound) << what << ": another token won";
}

class SessionGolden : public testing::TestWithParam<GoldenCase> {
protected:
    const Golden golden_{GetParam().name};
    const std::vector<Isa> levels_ = x86::detect().levels;
};

TEST_P(SessionGolden, BoundIsNoLargerThanWhatLlamaCppReaches) {
    constexpr double kRounding = 5e-5;  // of the recorded figure
    for (const Isa isa : levels_)
        EXPECT_LE(bound_for(GetParam().name, isa), llama_cpp_error(GetParam().name) + kRounding);
}

TEST_P(SessionGolden, LogitsAndTokensAreThoseOfTheGoldenAtEveryLevel) {
    for (const Isa isa : levels_) {
        TestModel model(GetParam().model, isa, GetParam().adapter);
        const Outcome outcome = run_golden(model.session(2), golden_);
        expect_outcome(outcome, bound_for(GetParam().name, isa), std::string(name(isa)));
        RecordProperty("error_sd_" + std::string(name(isa)), std::to_string(outcome.max_error));
    }
}

TEST_P(SessionGolden, ThreadsAndLevelsDoNotChangeABit) {
    std::string expected;
    for (const Isa isa : levels_) {
        TestModel model(GetParam().model, isa, GetParam().adapter);
        // Only VDPBF16PS and TDPBF16PS compute another way.
        if (GetParam().name == "nano-bf16" && has_bf16(isa)) expected.clear();
        for (const uint32_t threads : {1u, 2u, 3u, 7u}) {
            const std::string hash = run_golden(model.session(threads, DType::F16), golden_).hash;
            if (expected.empty()) expected = hash;
            EXPECT_EQ(hash, expected) << name(isa) << ", " << threads << " threads";
        }
    }
}

// With activations of 8 bits; where weights are floats there are none.
TEST_P(SessionGolden, BytesCostWhatTheirRoundingDoesAtEveryLevel) {
    std::string expected;
    for (const Isa isa : levels_) {
        TestModel model(GetParam().model, isa, GetParam().adapter);
        if (GetParam().name == "nano-bf16" && has_bf16(isa)) expected.clear();
        for (const uint32_t threads : {1u, 3u}) {
            const Outcome outcome =
                run_golden(model.session(threads, DType::F32, 512, 256, "all", Activations::i8), golden_);
            expect_outcome(outcome, std::max(kByteBound, bound_for(GetParam().name, isa)), std::string(name(isa)));
            if (expected.empty()) expected = outcome.hash;
            EXPECT_EQ(outcome.hash, expected) << name(isa) << ", " << threads << " threads";
            RecordProperty("error_sd_" + std::string(name(isa)), std::to_string(outcome.max_error));
        }
    }
}

TEST_P(SessionGolden, TheDefaultCacheTypeCostsLittle) {
    const Isa isa = levels_.back();
    TestModel model(GetParam().model, isa, GetParam().adapter);
    const Outcome outcome = run_golden(model.session(2, DType::F16), golden_);
    expect_outcome(outcome, bound_for(GetParam().name, isa) + kF16CacheBound, "f16 cache");
    RecordProperty("error_sd_f16_cache", std::to_string(outcome.max_error));
}

std::string test_name(const testing::TestParamInfo<GoldenCase>& info) {
    std::string name = info.param.name;
    std::ranges::replace_if(name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
    return name;
}

INSTANTIATE_TEST_SUITE_P(Files, SessionGolden, testing::ValuesIn(golden_cases()), test_name);

}  // namespace session_golden_test
}  // namespace riftjit::runtime
