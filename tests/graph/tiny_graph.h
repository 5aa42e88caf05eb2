// A small decoder-only transformer with random f32 weights, for tests of passes, plans and the reference.
#pragma once

#include <memory>
#include <random>

#include "graph/graph.h"
#include "jit/backend.h"

namespace riftjit::graph::test {

struct TinyModel {
    Graph graph;
    std::vector<std::unique_ptr<std::vector<float>>> weights;
};

// Rules of its own for formats and layouts, so that a plan shows whose it follows.
class PlanBackend final : public Backend {
public:
    Target target() const override { return {Architecture::rdna, 0x1100}; }
    RowFormat activation_format(DType weight, Activations) const override {
        return weight == DType::F32 ? RowFormat::f32 : RowFormat::i16;
    }
    uint32_t row_bytes(RowFormat format, uint32_t width) const override {
        return format == RowFormat::f32 ? f32_row_bytes(width) : uint32_t(round_up(3 * width, 64));
    }
    uint64_t packed_bytes(DType type, uint32_t rows, uint32_t width) const override {
        return rows * riftjit::row_bytes(type, width);
    }
    uint64_t key_page_bytes(DType type, uint32_t kv_heads, uint32_t head_dim) const override {
        return kKvPage * kv_heads * riftjit::row_bytes(type, head_dim);
    }
    uint64_t value_page_bytes(DType type, uint32_t kv_heads, uint32_t head_dim) const override {
        return key_page_bytes(type, kv_heads, head_dim);
    }
    Result<void> supports(const KernelSpec& spec) const override {
        if (spec.index() == lacks) return fail(ErrorKind::Unsupported, "no kernel for {}", describe(spec));
        return {};
    }
    Result<CodeObject> compile(const KernelSpec&) const override {
        return fail(ErrorKind::Unsupported, "plans are made without kernels");
    }

    size_t lacks = std::variant_size_v<KernelSpec>;  // index of the spec that has no kernel
};

struct TinyShape {
    uint32_t width = 64, layers = 2, heads = 4, kv_heads = 2, head_dim = 16, ffn = 96, vocabulary = 50;
    bool head_norm = true, bias = true, chain = false;  // chain: shifted and scaled logits
};

inline TinyModel make_tiny(const TinyShape& shape = {}, uint32_t seed = 1) {
    TinyModel model;
    Graph& g = model.graph;
    std::mt19937 random(seed);
    const auto weight = [&](std::string name, uint32_t rows, uint32_t width, float spread, float center = 0.0f) {
        std::normal_distribution<float> values(center, spread);
        auto data = std::make_unique<std::vector<float>>(size_t(rows) * width);
        for (float& value : *data) value = values(random);
        const auto* bytes = reinterpret_cast<const std::byte*>(data->data());
        model.weights.push_back(std::move(data));
        return g.add_weight(std::move(name), DType::F32, rows, width, bytes);
    };
    const auto name = [](uint32_t layer, const char* what) { return fmt::format("blk.{}.{}", layer, what); };
    const float spread = 0.3f;
    const uint32_t q_width = shape.heads * shape.head_dim, kv_width = shape.kv_heads * shape.head_dim;

    const TensorId ids = g.add_input("ids"), table = weight("token_embd", shape.vocabulary, shape.width, 1.0f);
    TensorId x = g.embed("embed", ids, table).value();
    for (uint32_t l = 0; l < shape.layers; ++l) {
        const TensorId n =
            g.rms_norm(name(l, "attn_norm"), x, weight(name(l, "attn_norm.weight"), 1, shape.width, 0.1f, 1.0f), 1e-6f)
                .value();
        const auto project = [&](const char* what, uint32_t rows) {
            const TensorId bias = shape.bias ? weight(name(l, what) + ".bias", 1, rows, 0.2f) : kNoTensor;
            return g.matmul(name(l, what), n, weight(name(l, what) + ".weight", rows, shape.width, spread), bias)
                .value();
        };
        TensorId q = project("attn_q", q_width), k = project("attn_k", kv_width);
        const TensorId v = project("attn_v", kv_width);
        if (shape.head_norm) {
            q = g.rms_norm(name(l, "q_norm"), q, weight(name(l, "q_norm.weight"), 1, shape.head_dim, 0.1f, 1.0f), 1e-6f,
                           shape.head_dim)
                    .value();
            k = g.rms_norm(name(l, "k_norm"), k, weight(name(l, "k_norm.weight"), 1, shape.head_dim, 0.1f, 1.0f), 1e-6f,
                           shape.head_dim)
                    .value();
        }
        q = g.rope(name(l, "q_rope"), q, shape.head_dim, RopePairing::half, {shape.head_dim, 10000.0f}).value();
        k = g.rope(name(l, "k_rope"), k, shape.head_dim, RopePairing::half, {shape.head_dim, 10000.0f}).value();
        const TensorId a =
            g.attention(name(l, "attn"), q, k, v, g.add_slot({name(l, "kv"), KvSlot{shape.kv_heads, shape.head_dim}}),
                        shape.heads, 0.25f)
                .value();
        const TensorId o =
            g.matmul(name(l, "attn_output"), a, weight(name(l, "attn_output.weight"), shape.width, q_width, spread))
                .value();
        x = g.add(name(l, "attn_residual"), x, o).value();
        const TensorId f =
            g.rms_norm(name(l, "ffn_norm"), x, weight(name(l, "ffn_norm.weight"), 1, shape.width, 0.1f, 1.0f), 1e-6f)
                .value();
        const TensorId gate =
            g.matmul(name(l, "ffn_gate"), f, weight(name(l, "ffn_gate.weight"), shape.ffn, shape.width, spread))
                .value();
        const TensorId up =
            g.matmul(name(l, "ffn_up"), f, weight(name(l, "ffn_up.weight"), shape.ffn, shape.width, spread)).value();
        const TensorId h = g.swiglu(name(l, "swiglu"), gate, up).value();
        const TensorId d =
            g.matmul(name(l, "ffn_down"), h, weight(name(l, "ffn_down.weight"), shape.width, shape.ffn, spread))
                .value();
        x = g.add(name(l, "ffn_residual"), x, d).value();
    }
    x = g.gather_rows("output_rows", x).value();
    x = g.rms_norm("output_norm", x, weight("output_norm.weight", 1, shape.width, 0.1f, 1.0f), 1e-6f).value();
    TensorId logits = g.matmul("output", x, table).value();
    if (shape.chain) {
        const TensorId shift = weight("logit_shift.weight", 1, shape.vocabulary, 1.0f);
        logits = g.scale("logit_scale", g.add("logit_shift", logits, shift).value(), 0.5f).value();
    }
    g.logits = logits;
    return model;
}

}  // namespace riftjit::graph::test
