#include "engine/selftest.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <deque>

#include "engine/kernel_trials.h"
#include "engine/random_weights.h"
#include "graph/reference.h"
#include "jit/x86/backend.h"
#include "jit/x86/host_kernels.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/rdna/rdna_device.h"
#include "runtime/session.h"

namespace riftjit::engine {
namespace {

// Wide enough for every type's blocks, with panels that end early and heads that share keys.
constexpr uint32_t kWidth = 256, kFfn = 512, kVocabulary = 200, kHeads = 4, kKvHeads = 2, kHeadDim = 64;
constexpr uint32_t kPrompt = 11, kAlone = 3, kContext = 32;
constexpr float kEpsilon = 1e-5f, kRopeBase = 10000;

class Weights {
public:
    explicit Weights(DType type) : random_(type) {}

    // Of the type, or of f32 for a vector.
    graph::TensorId matrix(graph::Graph& graph, const std::string& name, uint32_t rows, uint32_t width) {
        const std::vector<std::byte>& bytes = storage_.emplace_back(random_.matrix(rows, width));
        return graph.add_weight(name, random_.type(), rows, width, bytes.data());
    }
    graph::TensorId vector(graph::Graph& graph, const std::string& name, uint32_t width, float about) {
        const std::vector<float> values = random_.vector(width, about);
        const auto bytes = std::as_bytes(std::span(values));
        storage_.emplace_back(bytes.begin(), bytes.end());
        return graph.add_weight(name, DType::F32, 1, width, storage_.back().data());
    }

private:
    RandomWeights random_;
    std::deque<std::vector<std::byte>> storage_;  // the graph points into it
};

// Rotary pairs, biases and norms of heads by turns, so that all types together have every form of a kernel.
Result<graph::Graph> make_graph(Weights& weights, DType type) {
    using graph::kNoTensor;
    graph::Graph graph;
    const bool is_odd = uint32_t(type) % 2 == 1;
    const auto matrix = [&](const std::string& name, uint32_t rows, uint32_t width) {
        return weights.matrix(graph, name, rows, width);
    };
    const auto bias = [&](uint32_t width) { return is_odd ? weights.vector(graph, "bias", width, 0) : kNoTensor; };
    const RopePairing pairing = is_odd ? RopePairing::half : RopePairing::adjacent;
    RIFTJIT_TRY(x, graph.embed("embed", graph.add_input("token_ids"), matrix("table", kVocabulary, kWidth)));
    RIFTJIT_TRY(normed, graph.rms_norm("norm", x, weights.vector(graph, "norm.gain", kWidth, 1), kEpsilon));
    const auto heads = [&](const std::string& name, uint32_t count) -> Result<graph::TensorId> {
        const uint32_t width = count * kHeadDim;
        RIFTJIT_TRY(projected, graph.matmul(name, normed, matrix(name, width, kWidth), bias(width)));
        if (!is_odd) return projected;
        return graph.rms_norm(name + ".norm", projected, weights.vector(graph, name + ".gain", kHeadDim, 1), kEpsilon,
                              kHeadDim);
    };
    RIFTJIT_TRY(q, heads("q", kHeads));
    RIFTJIT_TRY(k, heads("k", kKvHeads));
    RIFTJIT_TRY(v, graph.matmul("v", normed, matrix("v", kKvHeads * kHeadDim, kWidth), bias(kKvHeads * kHeadDim)));
    RIFTJIT_TRY(q_turned, graph.rope("rope_q", q, kHeadDim, pairing, {kHeadDim, kRopeBase}));
    RIFTJIT_TRY(k_turned, graph.rope("rope_k", k, kHeadDim, pairing, {kHeadDim, kRopeBase}));
    const graph::SlotId slot = graph.add_slot({"kv", graph::KvSlot{kKvHeads, kHeadDim}});
    RIFTJIT_TRY(attended, graph.attention("attn", q_turned, k_turned, v, slot, kHeads, 0.125f));
    RIFTJIT_TRY(out, graph.matmul("out", attended, matrix("out", kWidth, kHeads * kHeadDim)));
    RIFTJIT_TRY(after, graph.add("attn_residual", x, out));
    RIFTJIT_TRY(ffn_in, graph.rms_norm("ffn_norm", after, weights.vector(graph, "ffn.gain", kWidth, 1), kEpsilon));
    RIFTJIT_TRY(gate, graph.matmul("gate", ffn_in, matrix("gate", kFfn, kWidth)));
    RIFTJIT_TRY(up, graph.matmul("up", ffn_in, matrix("up", kFfn, kWidth)));
    RIFTJIT_TRY(gated, graph.swiglu("swiglu", gate, up));
    RIFTJIT_TRY(down, graph.matmul("down", gated, matrix("down", kWidth, kFfn)));
    RIFTJIT_TRY(last, graph.add("ffn_residual", after, down));
    RIFTJIT_TRY(rows, graph.gather_rows("output_rows", last));
    RIFTJIT_TRY(output, graph.rms_norm("output_norm", rows, weights.vector(graph, "output.gain", kWidth, 1), kEpsilon));
    RIFTJIT_TRY(logits, graph.matmul("output", output, matrix("output", kVocabulary, kWidth)));
    graph.logits = logits;
    return graph;
}

std::vector<int32_t> tokens() {
    std::vector<int32_t> ids(kPrompt + kAlone);
    for (size_t i = 0; i < ids.size(); ++i) ids[i] = int32_t(i * i * 7 % kVocabulary);
    return ids;
}

Result<std::vector<float>> logits_on(std::unique_ptr<runtime::Device> device, const graph::Graph& graph, DType cache) {
    const runtime::SessionOptions options{kContext, kPrompt, cache, cache, "all", kPrompt};
    RIFTJIT_TRY(session, runtime::Session::create(graph, options, std::move(device), {}));
    const std::vector<int32_t> ids = tokens();
    RIFTJIT_TRY(prompt, session.evaluate(std::span(ids).first(kPrompt), runtime::LogitRows::all));
    std::vector<float> all(prompt.begin(), prompt.end());
    for (uint32_t i = 0; i < kAlone; ++i) {
        RIFTJIT_TRY(row, session.evaluate(std::span(ids).subspan(kPrompt + i, 1)));
        all.insert(all.end(), row.begin(), row.end());
    }
    return all;
}

// The processor's kernels at avx2, where none rounds in a way of its own.
Result<std::unique_ptr<runtime::Device>> processor_at(Isa level, KernelCache& kernels) {
    RIFTJIT_TRY(cpu, runtime::CpuDevice::create(level, 2, runtime::Helpers::when_useful, kernels));
    return std::unique_ptr<runtime::Device>(std::move(cpu));
}

Result<std::unique_ptr<runtime::Device>> open_chosen(const DeviceChoice& choice, Isa level, KernelCache& kernels) {
    if (choice.is_cpu()) return processor_at(level, kernels);
    RIFTJIT_TRY(accelerator, open_accelerator(choice, 2));
    return std::make_unique<runtime::RdnaDevice>(std::move(accelerator), kernels);
}

// At the levels with bf16 products those round differently (docs/ARCHITECTURE.md), within a bound of their own.
bool has_own_rounding(const DeviceChoice& choice, Isa level, DType weights) {
    return choice.is_cpu() && weights == DType::BF16 && has_bf16(level);
}

// ---- kernels -------------------------------------------------------------------------------------------------------

// Of the value that is nearest to its bound, or farthest beyond it.
void note_worst(const std::vector<double>& found, const std::vector<graph::Bounded>& expected, KernelSelftest& result) {
    double worst = -1;
    for (size_t i = 0; i < expected.size(); ++i) {
        const double error = std::fabs(found[i] - expected[i].value), bound = expected[i].bound;
        const double share = error == 0 ? 0 : std::isnan(error) || bound == 0 ? INFINITY : error / bound;
        if (share <= worst) continue;
        worst = share;
        result.error = error;
        result.bound = bound;
    }
}

Result<KernelSelftest> run_trial(const trials::KernelTrial& trial, const DeviceChoice& choice, Isa level,
                                 KernelCache& kernels) {
    RIFTJIT_TRY(device, open_chosen(choice, level, kernels));
    RIFTJIT_TRY(outcome, run_case(trial.on_device, *device));
    RIFTJIT_TRY(processor, processor_at(Isa::avx2, kernels));
    RIFTJIT_TRY(processors, run_case(trial.on_processor, *processor));
    KernelSelftest result{.name = kernel_name(trial.spec), .text = describe(trial.spec), .seconds = outcome.seconds};
    const auto* matmul = std::get_if<MatmulSpec>(&trial.spec);
    result.has_processors_bits = (matmul != nullptr && has_own_rounding(choice, level, matmul->weight)) ||
                                 difference(processors.found, outcome.found).empty();
    std::vector<double> values;
    for (const runtime::trial::Found& found : outcome.found)
        values.insert(values.end(), found.values.begin(), found.values.end());
    const std::vector<graph::Bounded> expected = trial.expected(outcome.found);
    check(values.size() == expected.size(), "a trial expects as many values as there are");
    note_worst(values, expected, result);
    return result;
}

// Over logits with equals, and some that are no numbers. Exact: an index and counts.
Result<KernelSelftest> run_reduction(ReduceKind kind, Isa level, KernelCache& kernels) {
    constexpr uint32_t kLogits = 1003, kCapacity = 40;
    constexpr float kThreshold = 2.5f;
    std::vector<float> logits = RandomWeights(DType::F32).vector(kLogits, 0);
    for (uint32_t i = 0; i < kLogits; i += 97) logits[i] = 2.5f + float(i % 2);
    logits[7] = logits[500] = NAN;
    const bool is_argmax = kind == ReduceKind::argmax;
    std::vector<graph::Bounded> expected;
    uint32_t largest = 0, nans = 0;
    for (uint32_t i = 0; i < kLogits; ++i) {
        if (std::isnan(logits[i])) ++nans;
        if (logits[i] > logits[largest]) largest = i;
        if (!is_argmax && logits[i] >= kThreshold) expected.push_back({double(i), 0});
    }
    if (is_argmax)
        expected = {{double(largest), 0}, {double(nans), 0}};
    else
        expected.insert(expected.begin(), {double(expected.size()), 0});

    const ReduceSpec spec{kind, kLogits};
    KernelSelftest result{.name = kernel_name(spec), .text = describe(spec)};
    const auto run_at = [&](Isa isa) -> Result<std::vector<double>> {
        x86::HostKernels host(kernels);
        RIFTJIT_TRY(kernel, host.get(spec, isa));
        RIFTJIT_TRY_VOID(host.seal());
        std::vector<uint32_t> indices(kCapacity);
        ReduceArgs args{.x = logits.data(), .threshold = kThreshold, .count = kCapacity, .indices = indices.data()};
        const auto begin = std::chrono::steady_clock::now();
        kernel(&args, 0, 1);
        result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        if (is_argmax) return std::vector<double>{double(args.index), double(args.count)};
        std::vector<double> values = {double(args.count)};
        values.insert(values.end(), indices.begin(), indices.begin() + std::min(args.count, kCapacity));
        return values;
    };
    RIFTJIT_TRY(at_avx2, run_at(Isa::avx2));
    RIFTJIT_TRY(values, run_at(level));
    result.has_processors_bits = values == at_avx2;
    values.resize(expected.size(), NAN);
    note_worst(values, expected, result);
    return result;
}

// ---- models --------------------------------------------------------------------------------------------------------

// Of the worst logit, in standard deviations of the reference's.
double largest_error(const std::vector<float>& found, const std::vector<double>& expected) {
    double sum = 0, squares = 0, most = 0;
    for (const double value : expected) sum += value;
    const double mean = sum / double(expected.size());
    for (const double value : expected) squares += (value - mean) * (value - mean);
    for (size_t i = 0; i < expected.size(); ++i)
        if (const double error = std::fabs(double(found[i]) - expected[i]); !(error <= most)) most = error;
    return most / std::sqrt(squares / double(expected.size()));
}

// Codes of 13 bits are off by at most half of a scale, which is the largest of 256 activations by 4095, and that is
// about 3 deviations of them behind a norm: 3 / 4095 / sqrt(12) = 0.00021 of an activation by the root of the mean
// square, and so of a product with many weights. The product of gate and up has longer tails, where the largest of 256
// is 10 deviations: 0.00071. On a logit's way lie five matmuls of the one kind and one of the other, whose errors are
// independent: sqrt(5 * 0.00021^2 + 0.00071^2) = 0.00085. Beyond 8 times of that lies no logit by chance. f32 is off by
// less than a tenth of it; a cache of f16 rounds keys and values by 2^-12 each, which is no more than codes do; one of
// q8_0 by 3 / 127 / sqrt(12) = 0.0068.
double bound_of(DType cache) { return cache == DType::Q8_0 ? 8 * 0.0068 : 8 * 0.00085; }

}  // namespace

Result<std::vector<std::string>> selftest_kernels(const DeviceChoice& choice,
                                                  const std::function<void(const KernelSelftest&)>& tell) {
    RIFTJIT_TRY(level, select_isa(std::nullopt));
    KernelCache kernels(compile, DiskCache::disabled());
    trials::KernelTrials all;
    {
        RIFTJIT_TRY(device, open_chosen(choice, level, kernels));
        all = trials::kernel_trials(device->backend(), x86::backend(Isa::avx2));
    }
    for (const trials::KernelTrial& trial : all.trials) {
        RIFTJIT_TRY(result, run_trial(trial, choice, level, kernels));
        tell(result);
    }
    if (!choice.is_cpu()) {
        all.lacking.emplace_back("reduce");
        return std::move(all.lacking);
    }
    for (const ReduceKind kind : {ReduceKind::argmax, ReduceKind::collect_above}) {
        RIFTJIT_TRY(result, run_reduction(kind, level, kernels));
        tell(result);
    }
    return std::move(all.lacking);
}

Result<ModelSelftest> selftest_model(const DeviceChoice& choice, DType type, DType cache) {
    Weights weights(type);
    RIFTJIT_TRY(graph, make_graph(weights, type));
    KernelCache kernels(compile, DiskCache::disabled());
    RIFTJIT_TRY(level, select_isa(std::nullopt));
    ModelSelftest result{type, cache, 0, 0, bound_of(cache)};
    RIFTJIT_TRY(device, open_chosen(choice, level, kernels));
    RIFTJIT_TRY(found, logits_on(std::move(device), graph, cache));
    result.kernels = uint32_t(kernels.kernels().size());
    RIFTJIT_TRY(processor, processor_at(Isa::avx2, kernels));
    RIFTJIT_TRY(processors, logits_on(std::move(processor), graph, cache));
    result.has_processors_bits = std::ranges::equal(
        found, processors, [](float a, float b) { return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b); });
    if (has_own_rounding(choice, level, type)) {
        result.has_processors_bits = true;
        result.bound = 8 * 0.00113 * std::sqrt(6.0);
    }
    graph::Reference reference(graph);
    std::vector<uint32_t> every_row(kPrompt + kAlone);
    for (uint32_t i = 0; i < every_row.size(); ++i) every_row[i] = i;
    RIFTJIT_TRY(expected, reference.run(tokens(), every_row));
    result.error = largest_error(found, expected);
    return result;
}

}  // namespace riftjit::engine
