#include <gtest/gtest.h>

#include <functional>

#include "tests/jit/x86/cache_reference.h"
#include "tests/jit/x86/kernel_runner.h"
#include "tests/kernel_cases.h"

namespace riftjit::x86 {
namespace {

// Queries and a cache for positions [0, positions); the rest of the last key panel, and nothing else, is poisoned.
struct Scene {
    AttentionSpec spec;
    uint32_t positions;
    GuardedBuffer<float> q;
    GuardedBuffer<std::byte> keys, values;
    CacheLayout key_layout, value_layout;

    Scene(const AttentionSpec& spec, uint32_t positions, double key_size = 1.0)
        : spec(spec),
          positions(positions),
          q((positions - 1) * spec.q_stride + spec.heads * spec.head_dim),
          keys(round_up(positions, 16) / 16 * key_panel_bytes(spec.key_type, spec.kv_heads, spec.head_dim)),
          values(positions * value_row_bytes(spec.value_type, spec.kv_heads, spec.head_dim)),
          key_layout{spec.key_type, spec.kv_heads, spec.head_dim},
          value_layout{spec.value_type, spec.kv_heads, spec.head_dim} {
        Random random(spec.head_dim * 31 + positions);
        for (size_t i = 0; i < q.size(); ++i) q[i] = random.normal(2.0);
        std::vector<float> head(spec.head_dim);
        for (uint32_t position = 0; position < positions; ++position)
            for (uint32_t kv = 0; kv < spec.kv_heads; ++kv) {
                for (float& value : head) value = random.normal(key_size);
                store_key(key_layout, keys.data(), position, kv, head);
                for (float& value : head) value = random.normal();
                store_value(value_layout, values.data(), position, kv, head);
            }
    }

    // Attention of all positions, a batch per element of `batches` (which add up to `positions`).
    GuardedBuffer<float> run(Isa isa, const std::vector<uint32_t>& batches, MatmulForm form) const {
        AttentionSpec formed = spec;
        formed.form = form;
        const RunnableKernel kernel(formed, isa);
        GuardedBuffer<float> out((positions - 1) * spec.out_stride + spec.heads * spec.head_dim);
        uint32_t position = 0;
        for (uint32_t tokens : batches) {
            const BatchState batch{tokens, position};
            const AttentionArgs args{q.data() + position * spec.q_stride, keys.data(), values.data(),
                                     out.data() + position * spec.out_stride, &batch};
            const uint32_t units = unit_count(formed, tokens), split = units / 2;
            kernel(&args, split, units);  // units in any order
            kernel(&args, 0, split);
            position += tokens;
        }
        return out;
    }
    GuardedBuffer<float> run_whole(Isa isa, MatmulForm form) const { return run(isa, {positions}, form); }
};

// One query head in double, and a bound on how far f32 may be from it.
//
// Scores: head_dim fused multiply-adds of terms q k, then the scale: |error| <= u scale (head_dim + 1) sum |q k|. That,
// twice the largest such error for the maximum's and the score's own, an ulp of the difference and 1.4 of exp make the
// relative error of a probability; every block rescales sum and output by an exp of its own and rounds them, and each
// position adds a rounding: all of them relative to sum p |v| / sum p.
struct Reference {
    std::vector<double> out, bound;
};

Reference reference_head(const Scene& scene, uint32_t position, uint32_t head) {
    const AttentionSpec& spec = scene.spec;
    const uint32_t kv = head / (spec.heads / spec.kv_heads), count = position + 1;
    const float* q = scene.q.data() + position * spec.q_stride + head * spec.head_dim;
    std::vector<double> scores(count);
    double largest = -INFINITY, score_error = 0, sum = 0;
    for (uint32_t j = 0; j < count; ++j) {
        double terms = 0;
        for (uint32_t d = 0; d < spec.head_dim; ++d) {
            const double term = q[d] * load_key(scene.key_layout, scene.keys.data(), j, kv, d);
            scores[j] += term;
            terms += std::fabs(term);
        }
        scores[j] *= double(spec.scale);
        score_error = std::max(score_error, kHalfUlp * (spec.head_dim + 1) * terms * std::fabs(spec.scale));
        largest = std::max(largest, scores[j]);
    }
    for (double& score : scores) sum += score = std::exp(score - largest);
    const double blocks = (count + 63) / 64;
    const double relative =
        2 * (2 * score_error + blocks * 2 * score_error) + kHalfUlp * (blocks * 8 + 2.0 * count + 40);
    Reference reference{std::vector<double>(spec.head_dim), std::vector<double>(spec.head_dim)};
    for (uint32_t d = 0; d < spec.head_dim; ++d) {
        double size = 0;
        for (uint32_t j = 0; j < count; ++j) {
            const double term = scores[j] / sum * load_value(scene.value_layout, scene.values.data(), j, kv, d);
            reference.out[d] += term;
            size += std::fabs(term);
        }
        reference.bound[d] = relative * size + 1e-37;
    }
    return reference;
}

void expect_close_to_reference(const Scene& scene, const GuardedBuffer<float>& out, const std::string& what) {
    const AttentionSpec& spec = scene.spec;
    for (uint32_t position = 0; position < scene.positions; ++position)
        for (uint32_t head = 0; head < spec.heads; ++head) {
            const Reference reference = reference_head(scene, position, head);
            for (uint32_t d = 0; d < spec.head_dim; ++d)
                ASSERT_NEAR(out[position * spec.out_stride + head * spec.head_dim + d], reference.out[d],
                            reference.bound[d])
                    << what << " position " << position << " head " << head << " element " << d;
        }
}

TEST(AttentionX86, MatchesReferenceForEveryShapeAndCacheType) {
    for (const AttentionSpec& spec : kernel_cases::attention()) {
        const Scene scene(spec, 70);
        for (Isa isa : machine_isas())
            expect_close_to_reference(scene, scene.run_whole(isa, spec.form),
                                      fmt::format("{} {}", name(isa), kernel_name(spec)));
    }
}

// The tile form over the whole prompt at the weakest level is what everything else must equal.
void expect_same_bits(const AttentionSpec& spec, uint32_t positions, const std::vector<std::vector<uint32_t>>& splits) {
    const Scene scene(spec, positions);
    const auto expected = scene.run_whole(machine_isas().front(), MatmulForm::tile);
    for (Isa isa : machine_isas())
        for (MatmulForm form : {MatmulForm::vector, MatmulForm::tile})
            for (const auto& batches : splits)
                EXPECT_EQ(scene.run(isa, batches, form), expected)
                    << name(isa) << " " << kernel_name(spec) << (form == MatmulForm::tile ? " tile" : " vector");
}

TEST(AttentionX86, LevelsFormsAndBatchSplitsGiveTheSameBits) {
    for (const AttentionSpec& spec : kernel_cases::attention()) {
        if (spec.form == MatmulForm::vector) continue;  // both forms are run
        expect_same_bits(spec, 70, {{70}, {1, 69}, {63, 1, 6}, {13, 13, 13, 13, 13, 5}});
    }
}

TEST(AttentionX86, AnySplitOfALongPromptGivesTheSameBits) {
    const AttentionSpec spec{4, 2, 64, 256, 256, DType::F16, DType::F16, 0.125f, MatmulForm::tile};
    expect_same_bits(spec, 300, {{300}, std::vector<uint32_t>(300, 1), {64, 64, 64, 64, 44}, {7, 121, 60, 8, 104}});
}

TEST(AttentionX86, PeakedScoresStayExact) {
    AttentionSpec spec{2, 1, 64, 128, 128, DType::F32, DType::F32, 1.0f, MatmulForm::tile};
    const Scene scene(spec, 150, /*key_size=*/40.0);  // differences of hundreds: most probabilities underflow
    for (Isa isa : machine_isas())
        for (MatmulForm form : {MatmulForm::vector, MatmulForm::tile})
            expect_close_to_reference(scene, scene.run_whole(isa, form), std::string(name(isa)));
}

TEST(AttentionX86, EqualScoresGiveTheMeanOfTheValues) {
    AttentionSpec spec{2, 1, 64, 128, 128, DType::F16, DType::F16, 0.0f, MatmulForm::tile};
    const Scene scene(spec, 130);
    for (Isa isa : machine_isas())
        expect_close_to_reference(scene, scene.run_whole(isa, spec.form), std::string(name(isa)));
}

// What lies behind a token's own position, in its own panel, block and tile, must not reach it: keys and values of
// later positions are replaced by NaN and infinity (as after a truncation), and its output must not change.
TEST(AttentionX86, LaterPositionsNeverReachAnEarlierOne) {
    for (DType type : {DType::F16, DType::F32}) {
        const AttentionSpec spec{4, 2, 40, 160, 160, type, type, 0.15f, MatmulForm::tile};
        const uint32_t positions = 90;
        const Scene clean(spec, positions), poisoned(spec, positions);
        const uint32_t last_kept = 66;
        const std::vector<float> nan(spec.head_dim, NAN), infinity(spec.head_dim, INFINITY);
        for (uint32_t position = last_kept + 1; position < positions; ++position)
            for (uint32_t kv = 0; kv < spec.kv_heads; ++kv) {
                store_key(poisoned.key_layout, poisoned.keys.data(), position, kv, position % 2 == 0 ? nan : infinity);
                store_value(poisoned.value_layout, poisoned.values.data(), position, kv,
                            position % 2 == 0 ? infinity : nan);
            }
        for (Isa isa : machine_isas())
            for (MatmulForm form : {MatmulForm::vector, MatmulForm::tile}) {
                const auto expected = clean.run_whole(isa, form), out = poisoned.run_whole(isa, form);
                const size_t kept = last_kept * spec.out_stride + spec.heads * spec.head_dim;
                EXPECT_EQ(std::memcmp(out.data(), expected.data(), kept * sizeof(float)), 0) << name(isa);
                EXPECT_TRUE(std::isnan(out[kept])) << "the poison does reach the positions that see it";
            }
    }
}

TEST(AttentionX86, WritesNothingBetweenTheRows) {
    const AttentionSpec spec{3, 3, 40, 120, 144, DType::F16, DType::F16, 0.15f, MatmulForm::tile};
    const Scene scene(spec, 20);
    for (Isa isa : machine_isas())
        for (MatmulForm form : {MatmulForm::vector, MatmulForm::tile}) {
            const auto out = scene.run_whole(isa, form);
            for (uint32_t position = 0; position + 1 < scene.positions; ++position)
                for (uint32_t i = 120; i < 144; ++i)
                    EXPECT_EQ(std::bit_cast<uint32_t>(out[position * 144 + i]), ~0u) << name(isa);
        }
}

TEST(AttentionX86, RefusesHeadsThatDoNotFitTheStack) {
    const AttentionSpec spec{4096, 1, 256, 1 << 20, 1 << 20, DType::F16, DType::F16, 1.0f, MatmulForm::tile};
    const auto object = compile(spec, Isa::avx2);
    ASSERT_FALSE(object);
    EXPECT_EQ(object.error().kind, ErrorKind::Encoding);
    EXPECT_NE(object.error().message.find("32768 rows of head_dim 256 need more than 4194304 bytes of stack"),
              std::string::npos)
        << object.error().message;
}

}  // namespace
}  // namespace riftjit::x86
