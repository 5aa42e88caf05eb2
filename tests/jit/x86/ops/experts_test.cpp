#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "graph/reference.h"
#include "tests/jit/x86/ops/weights_under_test.h"
#include "tests/kernel_cases.h"

namespace riftjit::x86 {
namespace experts_test {

constexpr uint32_t kTokens = 5;

// ---- the choice ----

struct RouteInputs {
    GuardedBuffer<float> logits, bias, scales;

    RouteInputs(const RouteSpec& spec, const auto& logit)
        : logits(kTokens * round_up(spec.experts, 16)),
          bias(round_up(spec.experts, 16)),
          scales(round_up(spec.experts, 16)) {
        Random random(spec.experts);
        for (uint32_t i = 0; i < spec.experts; ++i) bias[i] = random.normal(0.3);
        for (uint32_t i = 0; i < spec.experts; ++i) scales[i] = 1 + std::fabs(random.normal(0.3));
        for (uint32_t token = 0; token < kTokens; ++token)
            for (uint32_t i = 0; i < spec.experts; ++i)
                logits[token * round_up(spec.experts, 16) + i] = logit(token, i);
    }
};

std::vector<ExpertChoice> route(const RouteSpec& spec, Isa isa, const RouteInputs& inputs) {
    GuardedBuffer<ExpertChoice> choices(kTokens * spec.used);
    const BatchState batch{.rows = kTokens};
    const RouteArgs args{inputs.logits.data(), inputs.bias.data(), choices.data(), &batch, inputs.scales.data()};
    const RunnableKernel kernel(spec, isa);
    kernel(&args, 3, kTokens);
    kernel(&args, 0, 3);
    return {choices.data(), choices.data() + choices.size()};
}

std::vector<graph::reference::Choice> expected_choices(const RouteSpec& spec, const RouteInputs& inputs,
                                                       uint32_t token) {
    const float* const row = inputs.logits.data() + token * round_up(spec.experts, 16);
    const std::vector<double> logits(row, row + spec.experts);
    const std::vector<double> bias(inputs.bias.data(), inputs.bias.data() + spec.experts);
    auto chosen = graph::reference::route(logits.data(), spec.bias == Presence::present ? bias.data() : nullptr, spec);
    for (graph::reference::Choice& choice : chosen)
        if (spec.scales == Presence::present) choice.weight *= inputs.scales[choice.expert];
    return chosen;
}

// A difference of logits rounds once, which exp turns into |l - max| roundings of its result; exp itself is within 1.4
// units of its last place, 2.8 roundings; sums have experts / 16 + 4; a quotient, a product with the scale and the
// second sum and quotient of the weights three and used / 16 + 4 more.
double weight_bound(const RouteSpec& spec, double range) {
    return kHalfUlp * (range + 2.8 + 2 * (spec.experts / 16.0 + 4) + spec.used / 16.0 + 8);
}

TEST(ExpertsX86, ChoosesAndWeighsAsTheReferenceDoes) {
    for (const RouteSpec& spec : kernel_cases::route()) {
        Random random(spec.experts * 3 + spec.used);
        const RouteInputs inputs(spec, [&](uint32_t, uint32_t) { return random.normal(2.0); });
        for (Isa isa : machine_isas()) {
            const std::vector<ExpertChoice> chosen = route(spec, isa, inputs);
            for (uint32_t token = 0; token < kTokens; ++token) {
                const auto expected = expected_choices(spec, inputs, token);
                for (uint32_t slot = 0; slot < spec.used; ++slot) {
                    const ExpertChoice& choice = chosen[token * spec.used + slot];
                    ASSERT_EQ(choice.expert, expected[slot].expert)
                        << name(isa) << " " << kernel_name(spec) << " token " << token << " slot " << slot;
                    ASSERT_NEAR(choice.weight, expected[slot].weight, expected[slot].weight * weight_bound(spec, 16))
                        << name(isa) << " " << kernel_name(spec) << " token " << token << " slot " << slot;
                }
            }
            EXPECT_TRUE(std::ranges::equal(chosen, route(spec, machine_isas().front(), inputs), {},
                                           &ExpertChoice::weight, &ExpertChoice::weight))
                << name(isa) << ": every level has the same bits";
        }
    }
}

TEST(ExpertsX86, ChoosesTheFirstOfEqualExperts) {
    for (RouteSpec spec : kernel_cases::route()) {
        if (spec.groups != 1) continue;
        spec.bias = Presence::absent;
        const RouteInputs inputs(spec, [](uint32_t, uint32_t) { return 1.5f; });
        for (Isa isa : machine_isas()) {
            const std::vector<ExpertChoice> chosen = route(spec, isa, inputs);
            for (uint32_t i = 0; i < chosen.size(); ++i)
                EXPECT_EQ(chosen[i].expert, i % spec.used) << name(isa) << " " << kernel_name(spec);
        }
    }
}

// What is chosen of such rows means nothing, but its matrix must exist.
TEST(ExpertsX86, ChoosesExpertsThatThereAreWhateverTheLogits) {
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinite = std::numeric_limits<float>::infinity();
    for (const RouteSpec& spec : kernel_cases::route()) {
        const RouteInputs inputs(spec, [&](uint32_t token, uint32_t i) {
            const float rows[kTokens] = {kNan, i % 2 ? kNan : 1.0f, -kInfinite, kInfinite, i ? -kInfinite : kNan};
            return rows[token];
        });
        for (Isa isa : machine_isas())
            for (const ExpertChoice& choice : route(spec, isa, inputs))
                ASSERT_LT(choice.expert, spec.experts) << name(isa) << " " << kernel_name(spec);
    }
}

// Both rows of a pair are what they were times its weight, in f32, and the weight is done with.
TEST(ExpertsX86, WeighsBothRowsOfAPair) {
    for (const WeighPairsSpec& spec : kernel_cases::weigh_pairs())
        for (Isa isa : machine_isas()) {
            const size_t stride = round_up(spec.width, 16), pairs = kTokens * spec.used;
            Random random(spec.width);
            GuardedBuffer<float> first(pairs * stride), second(pairs * stride);
            for (size_t i = 0; i < first.size(); ++i) first[i] = random.normal(1), second[i] = random.normal(1);
            GuardedBuffer<ExpertChoice> choices(pairs);
            for (uint32_t i = 0; i < pairs; ++i) choices[i] = {0, random.normal(1), uint32_t(pairs - 1 - i)};
            const std::vector<float> first_before(first.data(), first.data() + first.size()),
                second_before(second.data(), second.data() + second.size());
            const std::vector<ExpertChoice> before(choices.data(), choices.data() + pairs);
            const BatchState batch{.rows = kTokens};
            const WeighPairsArgs args{choices.data(), first.data(), second.data(), &batch};
            const RunnableKernel kernel(spec, isa);
            kernel(&args, 3, kTokens);
            kernel(&args, 0, 3);
            for (const ExpertChoice& choice : before)
                for (uint32_t i = 0; i < spec.width; ++i) {
                    const size_t at = choice.pair * stride + i;
                    ASSERT_EQ(first[at], first_before[at] * choice.weight) << name(isa) << " " << kernel_name(spec);
                    ASSERT_EQ(second[at], second_before[at] * choice.weight) << name(isa) << " " << kernel_name(spec);
                }
            for (const ExpertChoice& choice : std::span(choices.data(), pairs)) EXPECT_EQ(choice.weight, 1.0f);
        }
}

// ---- the order of pairs ----

struct Pairs {
    GuardedBuffer<ExpertChoice> choices;
    GuardedBuffer<std::byte> groups;
    GuardedBuffer<uint32_t> tokens;

    // As many tokens, each with `used` different experts, of which only the first `popular` are chosen.
    Pairs(const GroupPairsSpec& spec, uint32_t token_count, Isa isa, uint32_t popular)
        : choices(token_count * spec.used),
          groups(expert_groups_bytes(std::min(spec.experts, token_count * spec.used))),
          tokens(token_count * spec.used) {
        Random random(spec.experts + token_count);
        for (uint32_t token = 0; token < token_count; ++token) {
            std::vector<uint32_t> experts(std::max(popular, spec.used));
            std::iota(experts.begin(), experts.end(), 0u);
            for (uint32_t slot = 0; slot < spec.used; ++slot) {
                std::swap(experts[slot], experts[slot + random.below(uint32_t(experts.size()) - slot)]);
                choices[token * spec.used + slot] = {experts[slot], random.normal(), ~0u};
            }
        }
        const BatchState batch{.rows = token_count};
        const GroupPairsArgs args{choices.data(), reinterpret_cast<ExpertGroups*>(groups.data()), tokens.data(),
                                  &batch};
        const RunnableKernel kernel(spec, isa);
        kernel(&args, 0, 0);
        EXPECT_EQ(head().count, ~0u) << "no unit, no work";
        kernel(&args, 0, 1);
    }
    const ExpertGroups& head() const { return *reinterpret_cast<const ExpertGroups*>(groups.data()); }
    std::span<const ExpertGroup> list() const {
        return {reinterpret_cast<const ExpertGroup*>(groups.data() + sizeof(ExpertGroups)), head().count};
    }
};

TEST(ExpertsX86, OrdersPairsByExpertAndThenToken) {
    for (const GroupPairsSpec& spec : kernel_cases::group_pairs())
        for (const uint32_t token_count : {1u, 2u, 70u})
            for (Isa isa : machine_isas()) {
                const Pairs pairs(spec, token_count, isa, spec.experts);
                uint32_t row = 0;
                for (const ExpertGroup& group : pairs.list()) {
                    EXPECT_EQ(group.first, row);
                    EXPECT_GT(group.count, 0u);
                    for (uint32_t i = 0; i < group.count; ++i, ++row) {
                        const uint32_t token = pairs.tokens[row];
                        ASSERT_LT(token, token_count);
                        if (i != 0) EXPECT_GT(token, pairs.tokens[row - 1]);
                        const auto* const of_token = pairs.choices.data() + token * spec.used;
                        EXPECT_EQ(std::count_if(of_token, of_token + spec.used,
                                                [&](const ExpertChoice& choice) {
                                                    return choice.expert == group.expert && choice.pair == row;
                                                }),
                                  1)
                            << name(isa) << " " << kernel_name(spec) << " row " << row;
                    }
                }
                EXPECT_EQ(row, token_count * spec.used);
                EXPECT_TRUE(std::ranges::is_sorted(pairs.list(), std::less_equal(), &ExpertGroup::expert) ||
                            pairs.list().size() == 1);
            }
}

TEST(ExpertsX86, CopiesTheRowOfEachPair) {
    const std::vector<uint32_t> tokens = {1, 0, 1, 1, 0, 0};
    for (const GatherPairsSpec& spec : kernel_cases::gather_pairs()) {
        const uint32_t stride = activation_row_bytes(spec.format, spec.width);
        Random random(spec.width);
        AlignedBuffer x(2 * stride);
        for (uint32_t i = 0; i < 2 * stride; ++i) x.data()[i] = std::byte(random.below(256));
        for (Isa isa : machine_isas()) {
            AlignedBuffer out(tokens.size() * stride);
            const BatchState batch{.rows = 2};
            const GatherPairsArgs args{x.data(), tokens.data(), out.data(), &batch};
            const RunnableKernel kernel(spec, isa);
            kernel(&args, 4, unit_count(spec, 2));
            kernel(&args, 0, 4);
            for (size_t pair = 0; pair < tokens.size(); ++pair)
                EXPECT_EQ(std::memcmp(out.data() + pair * stride, x.data() + tokens[pair] * stride, stride), 0)
                    << name(isa) << " " << kernel_name(spec) << " pair " << pair;
        }
    }
}

// ---- products ----

struct Stack {
    std::vector<std::unique_ptr<WeightsUnderTest>> matrices;
    AlignedBuffer packed;
    GuardedBuffer<float> bias;

    Stack(const MatmulSpec& spec, uint32_t experts)
        : packed(experts * packed_bytes(spec.weight, spec.rows, spec.width)), bias(experts * spec.rows) {
        const uint64_t bytes = packed_bytes(spec.weight, spec.rows, spec.width);
        for (uint32_t expert = 0; expert < experts; ++expert) {
            matrices.push_back(std::make_unique<WeightsUnderTest>(
                spec.weight, spec.rows, spec.width, random_weights(spec.weight, spec.rows, spec.width, expert + 1)));
            std::memcpy(packed.data() + expert * bytes, matrices.back()->packed.data(), bytes);
        }
        for (size_t i = 0; i < bias.size(); ++i) bias[i] = float(i % 13) - 6;
    }
};

// Row by row the bits of a plain matmul with the expert's matrix, whatever the form and the parts that threads take.
TEST(ExpertsX86, MultiplyAsOneMatmulForEachGroup) {
    for (const ExpertMatmulSpec& spec : kernel_cases::expert_matmul()) {
        const MatmulSpec& product = spec.product;
        const Stack stack(product, spec.experts);
        for (Isa isa : machine_isas())
            for (const uint32_t token_count : {1u, 2u, 23u}) {
                if (token_count > 2 && product.form == MatmulForm::vector) continue;
                // The last expert has no pair, unless all are used.
                const Pairs pairs({spec.experts, spec.used}, token_count, isa, spec.experts - 1);
                const bool has_choice = spec.used != spec.experts;
                const uint32_t rows = token_count * spec.used;
                const RowsUnderTest x(activation_format(product.weight, product.activations, isa), rows, product.width,
                                      random_values(size_t(rows) * product.width, token_count));
                GuardedBuffer<float> out(size_t(rows) * product.out_stride);
                const BatchState batch{.rows = token_count};
                const ExpertMatmulArgs args{
                    stack.packed.data(), stack.bias.data(),
                    x.bytes.data(),      reinterpret_cast<const ExpertGroups*>(pairs.groups.data()),
                    out.data(),          &batch};
                const RunnableKernel kernel(spec, isa);
                const uint32_t units = unit_count(spec, token_count);
                kernel(&args, units / 3, units);
                kernel(&args, 1, units / 3);
                kernel(&args, 0, 1);
                for (const ExpertGroup& group : pairs.list()) {
                    GuardedBuffer<float> expected(size_t(group.count) * product.out_stride);
                    const BatchState own{.rows = group.count};
                    const MatmulArgs plain{stack.matrices[group.expert]->packed.data(),
                                           stack.bias.data() + group.expert * product.rows,
                                           x.bytes.data() + size_t(group.first) * x.stride, expected.data(), &own};
                    RunnableKernel(product, isa)(&plain, 0, unit_count(product, group.count));
                    for (uint32_t row = 0; row < group.count; ++row)
                        ASSERT_EQ(std::memcmp(out.data() + size_t(group.first + row) * product.out_stride,
                                              expected.data() + size_t(row) * product.out_stride,
                                              product.rows * sizeof(float)),
                                  0)
                            << name(isa) << " " << kernel_name(spec) << " expert " << group.expert << " row " << row;
                }
            }
    }
}

TEST(ExpertsX86, MultiplyOneRowByAllOfItsExperts) {
    for (ExpertMatmulSpec spec : kernel_cases::expert_matmul()) {
        if (spec.product.form != MatmulForm::vector || spec.used == spec.experts) continue;
        spec.shared_row = Presence::present;
        const MatmulSpec& product = spec.product;
        const Stack stack(product, spec.experts);
        for (Isa isa : machine_isas()) {
            const Pairs pairs({spec.experts, spec.used}, 1, isa, spec.experts);
            const RowsUnderTest x(activation_format(product.weight, product.activations, isa), 1, product.width,
                                  random_values(product.width, 5));
            GuardedBuffer<float> out(size_t(spec.used) * product.out_stride), expected(product.out_stride);
            const BatchState batch{.rows = 1};
            const ExpertMatmulArgs args{stack.packed.data(), stack.bias.data(),
                                        x.bytes.data(),      reinterpret_cast<const ExpertGroups*>(pairs.groups.data()),
                                        out.data(),          &batch};
            RunnableKernel(spec, isa)(&args, 0, unit_count(spec, 1));
            for (const ExpertGroup& group : pairs.list()) {
                const MatmulArgs plain{stack.matrices[group.expert]->packed.data(),
                                       stack.bias.data() + group.expert * product.rows, x.bytes.data(), expected.data(),
                                       &batch};
                RunnableKernel(product, isa)(&plain, 0, unit_count(product, 1));
                EXPECT_EQ(std::memcmp(out.data() + size_t(group.first) * product.out_stride, expected.data(),
                                      product.rows * sizeof(float)),
                          0)
                    << name(isa) << " " << kernel_name(spec) << " expert " << group.expert;
            }
        }
    }
}

// A matrix of 16 x 64 floats is a page: those that no token chose cannot be touched here.
TEST(ExpertsX86, ReadNoMatrixThatNobodyChose) {
    for (const MatmulForm form : {MatmulForm::vector, MatmulForm::tile}) {
        const MatmulSpec product{DType::F32, 16, 64, 16, form, Epilogue::store, Presence::absent};
        const ExpertMatmulSpec spec{product, 8, 2, Presence::absent};
        constexpr size_t kPage = 4096;
        ASSERT_EQ(packed_bytes(product.weight, product.rows, product.width), kPage);
        for (Isa isa : machine_isas()) {
            GuardedBuffer<std::byte> stack(spec.experts * kPage);
            std::memset(stack.data(), 0, stack.bytes());
            const uint32_t token_count = form == MatmulForm::vector ? 1 : 3;
            const Pairs pairs({spec.experts, spec.used}, token_count, isa, spec.experts);
            std::set<uint32_t> chosen;
            for (const ExpertGroup& group : pairs.list()) chosen.insert(group.expert);
            ASSERT_LT(chosen.size(), spec.experts);
            for (uint32_t expert = 0; expert < spec.experts; ++expert)
                if (!chosen.contains(expert)) ASSERT_EQ(mprotect(stack.data() + expert * kPage, kPage, PROT_NONE), 0);
            const RowsUnderTest x(RowFormat::f32, token_count * spec.used, product.width,
                                  random_values(size_t(token_count) * spec.used * product.width, 3));
            GuardedBuffer<float> out(size_t(token_count) * spec.used * product.out_stride);
            const BatchState batch{.rows = token_count};
            const ExpertMatmulArgs args{stack.data(), nullptr, x.bytes.data(), &pairs.head(), out.data(), &batch};
            RunnableKernel(spec, isa)(&args, 0, unit_count(spec, token_count));
            for (size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], 0.0f) << name(isa);
        }
    }
}

// ---- the sum ----

// One rounding for each addend of a sum no larger than the sum of their magnitudes; the gate has an exp (1.4 units,
// 2.8 roundings), a sum and a quotient, and its product rounds once.
TEST(ExpertsX86, AddsUpWhatTheExpertsFound) {
    for (const CombineSpec& spec : kernel_cases::combine()) {
        const uint32_t stride = uint32_t(round_up(spec.width, 16));
        Random random(spec.width + spec.used);
        GuardedBuffer<float> pairs(kTokens * spec.used * stride), shared(kTokens * stride), gate(kTokens * 16);
        for (GuardedBuffer<float>* rows : {&pairs, &shared, &gate})
            for (size_t i = 0; i < rows->size(); ++i) (*rows)[i] = random.normal();
        GuardedBuffer<ExpertChoice> choices(kTokens * spec.used);
        for (uint32_t i = 0; i < choices.size(); ++i)
            choices[i] = {0, random.normal(), uint32_t(choices.size()) - 1 - i};
        for (Isa isa : machine_isas()) {
            GuardedBuffer<float> out(kTokens * stride);
            const BatchState batch{.rows = kTokens};
            const CombineArgs args{pairs.data(), choices.data(), shared.data(), gate.data(), out.data(), &batch};
            const RunnableKernel kernel(spec, isa);
            kernel(&args, 1, kTokens);
            kernel(&args, 0, 1);
            for (uint32_t token = 0; token < kTokens; ++token)
                for (uint32_t i = 0; i < spec.width; ++i) {
                    double sum = 0, magnitude = 0;
                    if (spec.shared == Presence::present) {
                        sum = shared[token * stride + i];
                        if (spec.gate == Presence::present) sum /= 1 + std::exp(-double(gate[token * 16]));
                        magnitude = 6 * std::fabs(sum);
                    }
                    for (uint32_t slot = 0; slot < spec.used; ++slot) {
                        const ExpertChoice& choice = choices[token * spec.used + slot];
                        const double term = double(choice.weight) * pairs[choice.pair * stride + i];
                        sum += term;
                        magnitude += std::fabs(term);
                    }
                    ASSERT_NEAR(out[token * stride + i], sum, kHalfUlp * (spec.used + 1) * magnitude)
                        << name(isa) << " " << kernel_name(spec) << " token " << token << " element " << i;
                }
        }
    }
}

}  // namespace experts_test
}  // namespace riftjit::x86
