// Runs kernels with running states over the rows of several texts, cut into steps in any way.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/jit/x86/ops/kernel_runner.h"

namespace riftjit::x86 {

inline constexpr uint32_t kTexts = 3;

// Rows of a text that a step reads.
struct TextRows {
    uint32_t text, rows;
};
using TextSteps = std::vector<std::vector<TextRows>>;

// Everything that a kernel of the spec reads, of random numbers, for texts of `rows` rows each. What a row or a weight
// is padded with is no number.
class RunningKernel {
public:
    // number(argument, random): one of an argument's.
    using Number = std::function<float(std::string_view argument, Random& random)>;
    RunningKernel(KernelSpec spec, uint32_t rows, const Number& number) : spec_(std::move(spec)), rows_(rows) {
        Random random(rows + 100);
        for (const Argument& argument : signature(spec_).arguments) {
            if (argument.role == Role::state) state_floats_ = argument.width;
            if (argument.role != Role::rows && argument.role != Role::vector) continue;
            auto& values = values_[std::string(argument.name)];
            const size_t count = argument.role == Role::rows ? size_t(kTexts) * rows : 1;
            for (size_t i = 0; i < count * argument.width; ++i) values.push_back(number(argument.name, random));
        }
    }

    uint32_t rows() const { return rows_; }
    // Number `index` of a weight, or of a text's row.
    float weight(const std::string& name, uint32_t index) const { return values_.at(name).at(index); }
    float at(const std::string& name, uint32_t text, uint32_t row, uint32_t index) const {
        const auto& values = values_.at(name);
        const size_t width = values.size() / (size_t(kTexts) * rows_);
        return values.at((size_t(text) * rows_ + row) * width + index);
    }

    struct Outcome {
        std::vector<std::vector<float>> out;                               // [text][row * width + index]
        std::vector<float> states;                                         // of all texts
        std::map<std::string, std::vector<std::vector<float>>> more = {};  // other rows that are written, likewise
        static bool same(const std::vector<float>& a, const std::vector<float>& b) {
            return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
        }
    };
    // Each step is launched in two parts.
    Outcome run(Isa isa, const TextSteps& steps) const {
        const RunnableKernel kernel(spec_, isa);
        GuardedBuffer<float> states(size_t(kTexts) * state_floats_);
        std::fill_n(states.data(), states.size(), 0.0f);
        Outcome outcome{std::vector<std::vector<float>>(kTexts), {}};
        std::vector<uint32_t> done(kTexts);
        for (const auto& step : steps) run_step(kernel, step, states, done, outcome);
        outcome.states.assign(states.data(), states.data() + states.size());
        return outcome;
    }
    // All of each text in one step.
    TextSteps at_once() const {
        std::vector<TextRows> step;
        for (uint32_t text = 0; text < kTexts; ++text) step.push_back({text, rows_});
        return {step};
    }
    // Text by text in turns, some rows or one at a time.
    TextSteps in_pieces(uint32_t seed) const {
        Random random(seed);
        TextSteps steps;
        std::vector<uint32_t> left(kTexts, rows_);
        while (std::ranges::any_of(left, [](uint32_t rows) { return rows != 0; })) {
            std::vector<TextRows> step;
            for (uint32_t text = kTexts; text-- > 0;) {
                const uint32_t rows = std::min(left[text], random.below(4));
                if (rows == 0) continue;
                left[text] -= rows;
                step.push_back({text, rows});
            }
            if (!step.empty()) steps.push_back(step);
        }
        return steps;
    }

private:
    void run_step(const RunnableKernel& kernel, const std::vector<TextRows>& step, const GuardedBuffer<float>& states,
                  std::vector<uint32_t>& done, Outcome& outcome) const {
        Batch batch(kTexts * rows_);
        std::vector<std::pair<uint32_t, uint32_t>> sources;  // text, row
        for (const auto& [text, rows] : step)
            for (uint32_t i = 0; i < rows; ++i) {
                batch.add({text, done[text]});
                sources.emplace_back(text, done[text]++);
            }
        const BatchState& state = batch.finish(nullptr, 0);
        const Signature all = signature(spec_);
        std::vector<std::byte> args(all.args_bytes);
        std::vector<GuardedBuffer<float>> buffers;
        std::vector<std::pair<const Argument*, const GuardedBuffer<float>*>> outs;
        buffers.reserve(all.arguments.size());
        for (const Argument& argument : all.arguments) {
            const void* address = nullptr;
            if (argument.presence == Presence::absent) continue;
            if (argument.role == Role::batch) address = &state;
            if (argument.role == Role::state) address = states.data();
            if (argument.role == Role::vector) {
                buffers.emplace_back(round_up(argument.width, 16));
                std::ranges::copy(values_.at(std::string(argument.name)), buffers.back().data());
                address = buffers.back().data();
            }
            if (argument.role == Role::rows) {
                const size_t stride = argument.stride_bytes / sizeof(float);
                buffers.emplace_back(sources.size() * stride);
                address = buffers.back().data();
                if (writes(argument.access)) {
                    outs.emplace_back(&argument, &buffers.back());
                } else {
                    for (size_t i = 0; i < sources.size(); ++i)
                        for (uint32_t k = 0; k < argument.width; ++k)
                            buffers.back()[i * stride + k] =
                                at(std::string(argument.name), sources[i].first, sources[i].second, k);
                }
            }
            std::memcpy(args.data() + argument.offset_bytes, &address, sizeof address);
        }
        const uint32_t units = unit_count(spec_, state.runs);
        kernel(args.data(), units / 3, units);
        kernel(args.data(), 0, units / 3);
        for (const auto& [argument, buffer] : outs) {
            auto& of_texts = argument->name == "out" ? outcome.out : outcome.more[std::string(argument->name)];
            of_texts.resize(kTexts);
            for (size_t i = 0; i < sources.size(); ++i) {
                const float* row = buffer->data() + i * (argument->stride_bytes / sizeof(float));
                auto& rows = of_texts[sources[i].first];
                rows.insert(rows.end(), row, row + argument->width);
            }
        }
    }

    KernelSpec spec_;
    uint32_t rows_, state_floats_ = 0;
    std::map<std::string, std::vector<float>> values_;
};

// The same bits at every level, and however the texts are cut; states of padding aside, which is no number.
inline void expect_same_bits_however_cut(const RunningKernel& kernel, uint32_t channels, const std::string& what) {
    const bool is_padded = channels % kChannelBlock != 0;
    const auto expected = kernel.run(machine_isas().front(), kernel.at_once());
    for (const Isa isa : machine_isas())
        for (uint32_t seed = 0; seed < 3; ++seed) {
            const auto got = kernel.run(isa, seed == 0 ? kernel.at_once() : kernel.in_pieces(seed));
            EXPECT_TRUE(std::ranges::equal(got.out, expected.out, RunningKernel::Outcome::same))
                << name(isa) << " " << what << ", cut " << seed;
            for (const auto& [rows, texts] : expected.more)
                EXPECT_TRUE(std::ranges::equal(got.more.at(rows), texts, RunningKernel::Outcome::same))
                    << name(isa) << " " << what << ", " << rows << ", cut " << seed;
            EXPECT_TRUE(is_padded || RunningKernel::Outcome::same(got.states, expected.states))
                << name(isa) << " " << what << ", states, cut " << seed;
        }
}

}  // namespace riftjit::x86
