#include <gtest/gtest.h>

#include "tests/jit/x86/ops/cache_reference.h"
#include "tests/jit/x86/ops/kernel_runner.h"
#include "tests/jit/x86/ops/paged_batch.h"
#include "tests/kernel_cases.h"

namespace riftjit::x86 {
namespace rope_test {

constexpr uint32_t kTokens = 5, kPosition = 253;  // over the end of a page

struct Inputs {
    GuardedBuffer<float> x, gain, table;
};

Inputs random_inputs(const RopeSpec& spec, double size = 1.0) {
    Random random(spec.head_dim + 7 * spec.rotary_dims);
    Inputs inputs{GuardedBuffer<float>((kTokens - 1) * spec.row_stride + spec.heads * spec.head_dim),
                  GuardedBuffer<float>(spec.head_dim), GuardedBuffer<float>(kTokens * spec.rotary_dims)};
    for (size_t i = 0; i < inputs.x.size(); ++i) inputs.x[i] = random.normal(size);
    for (size_t i = 0; i < inputs.gain.size(); ++i) inputs.gain[i] = random.normal();
    for (size_t i = 0; i < inputs.table.size(); i += 2) {
        const double angle = 1000.0 * random.uniform();
        inputs.table[i] = static_cast<float>(std::cos(angle));
        inputs.table[i + 1] = static_cast<float>(std::sin(angle));
    }
    return inputs;
}

// Runs over all units in two pieces. x is changed in place where there is no key cache.
void run(const RopeSpec& spec, Isa isa, const Inputs& inputs, GuardedBuffer<float>& x, std::byte* cache) {
    const PagedBatch batch(kTokens, kPosition, reversed_pages(kPosition + kTokens), kMaxTileRows);
    const RopeArgs args{x.data(), inputs.gain.data(), inputs.table.data(), cache, batch.state()};
    const uint32_t units = kTokens * spec.heads, split = units / 3;
    const RunnableKernel kernel(spec, isa);
    kernel(&args, split, units);
    kernel(&args, 0, split);
}

RopeSpec in_place(RopeSpec spec) {
    spec.key_cache.reset();
    return spec;
}

// What the head becomes, and the size of the terms it was made of.
struct Expected {
    double value, terms;
};

std::vector<Expected> reference_head(const RopeSpec& spec, const float* x, const float* gain, const float* table) {
    std::vector<double> head(x, x + spec.head_dim);
    if (spec.norm == Presence::present) {
        double squares = 0;
        for (double value : head) squares += value * value;
        const double scale = 1.0 / std::sqrt(squares / spec.head_dim + double(spec.epsilon));
        for (uint32_t d = 0; d < spec.head_dim; ++d) head[d] *= scale * gain[d];
    }
    std::vector<Expected> out;
    for (double value : head) out.push_back({value, std::fabs(value)});
    for (uint32_t pair = 0; pair < spec.rotary_dims / 2; ++pair) {
        const bool is_adjacent = spec.pairing == RopePairing::adjacent;
        const uint32_t a = is_adjacent ? 2 * pair : pair, b = is_adjacent ? a + 1 : pair + spec.rotary_dims / 2;
        const double cosine = table[2 * pair], sine = table[2 * pair + 1];
        out[a] = {head[a] * cosine - head[b] * sine, std::fabs(head[a] * cosine) + std::fabs(head[b] * sine)};
        out[b] = {head[a] * sine + head[b] * cosine, std::fabs(head[a] * sine) + std::fabs(head[b] * cosine)};
    }
    return out;
}

// The norm's bound (rms_norm_test.cpp), then one rounding of a product and one of the sum.
double relative_bound(const RopeSpec& spec) {
    const double norm = spec.norm == Presence::present ? (round_up(spec.head_dim, 64) / 64 + 8) / 2.0 + 4 : 0;
    return kHalfUlp * (norm + 2) * 1.001;
}

void expect_close_to_reference(const RopeSpec& spec, const Inputs& inputs) {
    for (Isa isa : machine_isas()) {
        GuardedBuffer<float> x = inputs.x;
        run(spec, isa, inputs, x, nullptr);
        for (uint32_t token = 0; token < kTokens; ++token)
            for (uint32_t head = 0; head < spec.heads; ++head) {
                const uint32_t start = token * spec.row_stride + head * spec.head_dim;
                const auto expected = reference_head(spec, inputs.x.data() + start, inputs.gain.data(),
                                                     inputs.table.data() + token * spec.rotary_dims);
                for (uint32_t d = 0; d < spec.head_dim; ++d)
                    ASSERT_NEAR(x[start + d], expected[d].value, expected[d].terms * relative_bound(spec) + 0x1p-149)
                        << name(isa) << " " << kernel_name(spec) << " token " << token << " head " << head << " " << d;
            }
    }
}

TEST(RopeX86, MatchesReferenceForEveryHeadSizeAndPairing) {
    for (const RopeSpec& spec : kernel_cases::rope())
        if (!spec.key_cache) expect_close_to_reference(spec, random_inputs(spec));
}

TEST(RopeX86, HoldsFromTinyToLargeMagnitudes) {
    for (double size : {1e-20, 1e-3, 1e4, 1e15})
        expect_close_to_reference({3, 40, 24, 128, RopePairing::half, Presence::present, 1e-6f, {}},
                                  random_inputs({3, 40, 24, 128, {}, {}, {}, {}}, size));
}

TEST(RopeX86, LeavesWhatLiesBetweenTheRowsAlone) {
    const RopeSpec spec{3, 40, 24, 128, RopePairing::half, Presence::present, 1e-6f, {}};
    const Inputs inputs = random_inputs(spec);
    for (Isa isa : machine_isas()) {
        GuardedBuffer<float> x = inputs.x;
        run(spec, isa, inputs, x, nullptr);
        for (uint32_t token = 0; token + 1 < kTokens; ++token)
            for (uint32_t i = 120; i < 128; ++i) EXPECT_EQ(x[token * 128 + i], inputs.x[token * 128 + i]);
    }
}

TEST(RopeX86, StoresInTheKeyCacheWhatItWouldWriteToRows) {
    for (const RopeSpec& spec : kernel_cases::rope()) {
        if (!spec.key_cache) continue;
        const Inputs inputs = random_inputs(spec);
        const CacheLayout layout{*spec.key_cache, spec.heads, spec.head_dim, reversed_pages(kPosition + kTokens)};
        const size_t cache_bytes = layout.key_bytes(kPosition + kTokens);
        for (Isa isa : machine_isas()) {
            GuardedBuffer<float> rows = inputs.x, x = inputs.x;
            GuardedBuffer<std::byte> expected(cache_bytes), cache(cache_bytes);
            run(in_place(spec), isa, inputs, rows, nullptr);
            for (uint32_t token = 0; token < kTokens; ++token)
                for (uint32_t head = 0; head < spec.heads; ++head) {
                    const float* values = rows.data() + token * spec.row_stride + head * spec.head_dim;
                    store_key(layout, expected.data(), kPosition + token, head, {values, spec.head_dim});
                }
            run(spec, isa, inputs, x, cache.data());
            EXPECT_EQ(cache, expected) << name(isa) << " " << kernel_name(spec);
            EXPECT_EQ(x, inputs.x) << "the row itself is not changed";
        }
    }
}

TEST(RopeX86, EveryLevelGivesTheSameBits) {
    for (const RopeSpec& spec : kernel_cases::rope()) {
        const Inputs inputs = random_inputs(spec);
        GuardedBuffer<float> first = inputs.x;
        run(in_place(spec), machine_isas().front(), inputs, first, nullptr);
        for (Isa isa : machine_isas()) {
            GuardedBuffer<float> x = inputs.x;
            run(in_place(spec), isa, inputs, x, nullptr);
            EXPECT_EQ(x, first) << name(isa) << " " << kernel_name(spec);
        }
    }
}

}  // namespace rope_test
}  // namespace riftjit::x86
