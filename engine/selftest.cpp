#include "engine/selftest.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <deque>
#include <random>

#include "engine/kernel_uses.h"
#include "graph/dequantize.h"
#include "graph/reference.h"
#include "host/half.h"
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
    explicit Weights(DType type) : type_(type), random_(uint32_t(type) + 1) { fill_pool(); }

    // Of the type, or of f32 for a vector.
    graph::TensorId matrix(graph::Graph& graph, const std::string& name, uint32_t rows, uint32_t width) {
        std::vector<std::byte>& bytes = storage_.emplace_back();
        for (uint64_t block = 0; block < uint64_t(rows) * width / traits(type_).block_elements; ++block) {
            const std::vector<std::byte>& one = pool_[random_() % pool_.size()];
            bytes.insert(bytes.end(), one.begin(), one.end());
        }
        return graph.add_weight(name, type_, rows, width, bytes.data());
    }
    graph::TensorId vector(graph::Graph& graph, const std::string& name, uint32_t width, float about) {
        std::vector<std::byte>& bytes = storage_.emplace_back(width * sizeof(float));
        for (uint32_t i = 0; i < width; ++i) {
            const float value = about + 0.2f * normal_(random_);
            std::memcpy(&bytes[i * sizeof value], &value, sizeof value);
        }
        return graph.add_weight(name, DType::F32, 1, width, bytes.data());
    }

private:
    // Random bytes are blocks of every quantised type; those are kept whose elements are of the size of weights.
    void fill_pool() {
        const DTypeTraits& type = traits(type_);
        std::vector<float> values(type.block_elements);
        while (pool_.size() < 256) {
            std::vector<std::byte> block(type.block_bytes);
            for (std::byte& byte : block) byte = std::byte(random_());
            const float element = 0.02f * normal_(random_);
            const uint16_t half = type_ == DType::F16 ? float_to_half(element) : float_to_bfloat(element);
            if (type_ == DType::F32) std::memcpy(block.data(), &element, sizeof element);
            if (type_ == DType::F16 || type_ == DType::BF16) std::memcpy(block.data(), &half, sizeof half);
            if (type_ == DType::NVFP4)  // its four scales hardly ever are small together by chance
                for (int i = 0; i < 4; ++i) block[i] = std::byte(1 + random_() % 5);
            graph::dequantize_row(type_, block.data(), type.block_elements, values.data());
            float most = 0;
            bool is_finite = true;
            for (const float value : values) {
                is_finite = is_finite && std::isfinite(value);
                most = std::max(most, std::fabs(value));
            }
            if (is_finite && (type.block_elements == 1 || (most > 0.01f && most < 0.06f))) pool_.push_back(block);
        }
    }

    DType type_;
    std::mt19937 random_;
    std::normal_distribution<float> normal_;
    std::vector<std::vector<std::byte>> pool_;
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
    RIFTJIT_TRY(q_turned, graph.rope("rope_q", q, kNoTensor, kHeadDim, kHeadDim, pairing, kRopeBase, 1));
    RIFTJIT_TRY(k_turned, graph.rope("rope_k", k, kNoTensor, kHeadDim, kHeadDim, pairing, kRopeBase, 1));
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

Result<SelftestResult> selftest(const DeviceChoice& choice, DType type, DType cache) {
    Weights weights(type);
    RIFTJIT_TRY(graph, make_graph(weights, type));
    KernelCache kernels(compile, DiskCache::disabled());
    RIFTJIT_TRY(isa, select_isa(std::nullopt));
    const auto on_processor = [&](Isa level) -> Result<std::vector<float>> {
        RIFTJIT_TRY(cpu, runtime::CpuDevice::create(level, 2, runtime::Helpers::when_useful, kernels));
        return logits_on(std::move(cpu), graph, cache);
    };
    SelftestResult result{type, cache, 0, 0, bound_of(cache)};
    std::vector<float> found;
    if (choice.is_cpu()) {
        RIFTJIT_TRY(logits, on_processor(isa));
        found = std::move(logits);
    } else {
        RIFTJIT_TRY(accelerator, open_accelerator(choice, 2));
        RIFTJIT_TRY(logits,
                    logits_on(std::make_unique<runtime::RdnaDevice>(std::move(accelerator), kernels), graph, cache));
        found = std::move(logits);
    }
    result.kernels = uint32_t(kernels.kernels().size());
    RIFTJIT_TRY(processors, on_processor(Isa::avx2));
    result.has_processors_bits = std::ranges::equal(
        found, processors, [](float a, float b) { return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b); });
    // At the levels with bf16 products those round differently (docs/ARCHITECTURE.md), within a bound of their own.
    if (choice.is_cpu() && type == DType::BF16 && has_bf16(isa)) {
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
