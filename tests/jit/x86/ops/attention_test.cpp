#include <gtest/gtest.h>

#include <functional>

#include "tests/jit/x86/ops/cache_reference.h"
#include "tests/jit/x86/ops/kernel_runner.h"
#include "tests/jit/x86/ops/paged_batch.h"
#include "tests/kernel_cases.h"

namespace riftjit::x86 {
namespace attention_test {

// Queries and a cache for positions [0, positions). What lies beyond in the last page is NaN.
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
          keys(CacheLayout{spec.key_type, spec.kv_heads, spec.head_dim}.key_bytes(positions)),
          values(CacheLayout{spec.value_type, spec.kv_heads, spec.head_dim}.value_bytes(positions)),
          key_layout{spec.key_type, spec.kv_heads, spec.head_dim, reversed_pages(positions)},
          value_layout{spec.value_type, spec.kv_heads, spec.head_dim, reversed_pages(positions)} {
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

    // Attention of all positions, a batch per element of `batches` (which add up to `positions`). In tile form, what is
    // left of a batch as a single row takes the vector form, as in a plan.
    GuardedBuffer<float> run(Isa isa, const std::vector<uint32_t>& batches, MatmulForm form) const {
        AttentionSpec tile_spec = spec, single_spec = spec;
        tile_spec.form = MatmulForm::tile;
        single_spec.form = MatmulForm::vector;
        const RunnableKernel tile_kernel(tile_spec, isa), single_kernel(single_spec, isa);
        GuardedBuffer<float> out((positions - 1) * spec.out_stride + spec.heads * spec.head_dim);
        uint32_t position = 0;
        for (uint32_t rows : batches) {
            const PagedBatch batch(rows, position, key_layout.pages, form == MatmulForm::tile ? kMaxTileRows : 1);
            const AttentionArgs args{q.data() + position * spec.q_stride, keys.data(), values.data(),
                                     out.data() + position * spec.out_stride, batch.state()};
            run_units(tile_kernel, args, unit_count(tile_spec, batch.state()->tiles));
            run_units(single_kernel, args, unit_count(single_spec, batch.state()->singles));
            position += rows;
        }
        return out;
    }
    static void run_units(const RunnableKernel& kernel, const AttentionArgs& args, uint32_t units) {
        kernel(&args, units / 2, units);  // in any order
        kernel(&args, 0, units / 2);
    }
    GuardedBuffer<float> run_whole(Isa isa, MatmulForm form) const { return run(isa, {positions}, form); }
};

// What a scene's outputs are in double, and a bound on how far f32 may be from it.
//
// Scores: head_dim fused multiply-adds of terms q k, then the scale: |error| <= u |scale| (head_dim + 1) sum |q k|. A
// probability depends on its own score and, through the differences of maxima that rescale its block and those after
// it, on no other: they cancel but for a rounding and an exp (within 1.4 ulp, that is 3 u) each. Each position adds a
// rounding to the sum and to the output; the division and the last product add three. All this is relative to
// sum p |v| / sum p, of numerator and denominator.
struct Reference {
    std::vector<double> out, bound;  // [position][head][head_dim]
};

std::vector<double> decode_cache(const Scene& scene, bool keys) {
    const AttentionSpec& spec = scene.spec;
    std::vector<double> decoded;
    for (uint32_t position = 0; position < scene.positions; ++position)
        for (uint32_t kv = 0; kv < spec.kv_heads; ++kv)
            for (uint32_t d = 0; d < spec.head_dim; ++d)
                decoded.push_back(keys ? load_key(scene.key_layout, scene.keys.data(), position, kv, d)
                                       : load_value(scene.value_layout, scene.values.data(), position, kv, d));
    return decoded;
}

Reference reference_of(const Scene& scene) {
    const AttentionSpec& spec = scene.spec;
    const auto keys = decode_cache(scene, true), values = decode_cache(scene, false);
    const size_t stride = spec.kv_heads * spec.head_dim;
    Reference reference;
    for (uint32_t position = 0; position < scene.positions; ++position)
        for (uint32_t head = 0; head < spec.heads; ++head) {
            const size_t kv = head / (spec.heads / spec.kv_heads) * spec.head_dim;
            const uint32_t count = position + 1;
            const float* q = scene.q.data() + position * spec.q_stride + head * spec.head_dim;
            std::vector<double> scores(count), out(spec.head_dim), size(spec.head_dim);
            double largest = -INFINITY, score_error = 0, sum = 0;
            for (uint32_t j = 0; j < count; ++j) {
                double terms = 0;
                for (uint32_t d = 0; d < spec.head_dim; ++d) {
                    const double term = q[d] * keys[j * stride + kv + d];
                    scores[j] += term;
                    terms += std::fabs(term);
                }
                scores[j] *= double(spec.scale);
                score_error = std::max(score_error, kHalfUlp * (spec.head_dim + 1) * terms * std::fabs(spec.scale));
                largest = std::max(largest, scores[j]);
            }
            for (double& score : scores) sum += score = std::exp(score - largest);
            for (uint32_t j = 0; j < count; ++j)
                for (uint32_t d = 0; d < spec.head_dim; ++d) {
                    const double term = scores[j] / sum * values[j * stride + kv + d];
                    out[d] += term;
                    size[d] += std::fabs(term);
                }
            const double blocks = (count + 63) / 64, roundings = count + 4 * (blocks + 1) + 3;
            const double probability_error = score_error + kHalfUlp * std::fabs(largest) * (blocks + 1);
            const double relative = 2 * (probability_error + kHalfUlp * roundings);
            for (uint32_t d = 0; d < spec.head_dim; ++d) {
                reference.out.push_back(out[d]);
                reference.bound.push_back(relative * size[d] + 1e-37);
            }
        }
    return reference;
}

void expect_close(const Scene& scene, const Reference& reference, const GuardedBuffer<float>& out,
                  const std::string& what) {
    const size_t width = scene.spec.heads * scene.spec.head_dim;
    for (size_t i = 0; i < scene.positions * width; ++i)
        ASSERT_NEAR(out[i / width * scene.spec.out_stride + i % width], reference.out[i], reference.bound[i])
            << what << " position " << i / width << " element " << i % width;
}

void expect_close_in_both_forms(const Scene& scene) {
    const Reference reference = reference_of(scene);
    for (Isa isa : machine_isas())
        for (MatmulForm form : {MatmulForm::vector, MatmulForm::tile})
            expect_close(scene, reference, scene.run_whole(isa, form),
                         fmt::format("{} {}", name(isa), kernel_name(scene.spec)));
}

TEST(AttentionX86, MatchesReferenceForEveryShapeAndCacheType) {
    for (const AttentionSpec& spec : kernel_cases::attention())
        if (spec.form == MatmulForm::tile) expect_close_in_both_forms(Scene(spec, 70));
}

TEST(AttentionX86, MatchesReferenceOverTheEndOfAPage) {
    for (DType type : kernel_cases::kCacheTypes)
        expect_close_in_both_forms(Scene({4, 2, 32, 128, 128, type, type, 0.2f, MatmulForm::tile}, 270));
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

// Sums of the smallest negative number, halved and more, end in either zero.
TEST(AttentionX86, SignsOfZerosDoNotDependOnFormAndSplit) {
    const AttentionSpec spec{2, 1, 16, 32, 32, DType::F32, DType::F32, 0.5f, MatmulForm::tile};
    Scene scene(spec, 70);
    const std::vector<float> tiny(spec.head_dim, -0x1p-149f);
    for (uint32_t position = 0; position < 70; ++position)
        store_value(scene.value_layout, scene.values.data(), position, 0, tiny);
    const auto expected = scene.run_whole(machine_isas().front(), MatmulForm::tile);
    float* const end = expected.data() + expected.size();
    EXPECT_NE(std::find_if(expected.data(), end, [](float value) { return value == 0 && std::signbit(value); }), end);
    for (Isa isa : machine_isas())
        for (MatmulForm form : {MatmulForm::vector, MatmulForm::tile})
            for (const std::vector<uint32_t>& batches : {std::vector<uint32_t>{70}, {61, 9}})
                EXPECT_EQ(scene.run(isa, batches, form), expected) << name(isa);
}

TEST(AttentionX86, PeakedScoresStayExact) {  // differences of hundreds: most probabilities underflow
    expect_close_in_both_forms(
        Scene({2, 1, 64, 128, 128, DType::F32, DType::F32, 1.0f, MatmulForm::tile}, 150, /*key_size=*/40.0));
}

TEST(AttentionX86, EqualScoresGiveTheMeanOfTheValues) {
    expect_close_in_both_forms(Scene({2, 1, 64, 128, 128, DType::F16, DType::F16, 0.0f, MatmulForm::tile}, 130));
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

// The last position of a full page: an unmapped page follows its keys and its values.
TEST(AttentionX86, ReadsNothingBeyondAFullCache) {
    for (uint32_t head_dim : kernel_cases::kHeadDims)
        for (DType type : kernel_cases::kCacheTypes) {
            if (!kernel_cases::fits(type, head_dim)) continue;
            const uint32_t stride = static_cast<uint32_t>(round_up(head_dim, 16));
            const Scene scene({1, 1, head_dim, stride, stride, type, type, 0.1f, MatmulForm::tile}, 256);
            for (Isa isa : machine_isas())
                EXPECT_EQ(scene.run(isa, {250, 6}, MatmulForm::tile), scene.run_whole(isa, MatmulForm::vector))
                    << name(isa) << " " << head_dim << " " << name(type);
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

}  // namespace attention_test
}  // namespace riftjit::x86
