// A slow interpreter of a graph in double precision: the oracle for kernels, fusions and whole models.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "graph/graph.h"

namespace riftjit::graph {

// As what keys and values are kept: the types of a cache, rounded as kernels round what was computed in f32.
struct ReferenceCache {
    DType key_type, value_type;
};

class Reference {
public:
    // The graph, and the file that its weights point into, must outlive this.
    explicit Reference(const Graph& graph, std::optional<ReferenceCache> cache = std::nullopt);
    // Runs the tokens at the next positions (the cache grows) and returns the logits [rows, vocabulary] of all rows, or
    // of those numbered, in double.
    Result<std::vector<double>> run(std::span<const int32_t> ids);
    Result<std::vector<double>> run(std::span<const int32_t> ids, std::span<const uint32_t> output_rows);
    void reset();  // forgets the cache
    // From now on rows are rounded before they are multiplied, as kernels do: to what matrices of a type are multiplied
    // by (Backend::activation_format).
    void round_products(std::function<RowFormat(DType)> format_for) { product_format_ = std::move(format_for); }

private:
    friend class ReferenceRun;

    // Of a stack of matrices, rows are counted through all of them.
    std::span<const float> weight_row(TensorId id, uint32_t row);

    const Graph& graph_;
    const std::optional<ReferenceCache> cache_;       // none: keys and values stay in double
    std::function<RowFormat(DType)> product_format_;  // none: rows are multiplied as they are
    std::vector<std::vector<double>> keys_, values_;  // per slot, [position][kv_heads*head_dim]
    std::vector<std::vector<double>> states_;         // per slot, as channel_place() has them; empty at first
    uint32_t position_ = 0;
    std::vector<std::vector<float>> weights_;  // per tensor, decoded when first used
};

// The ops themselves, on double rows, for kernel tests: each row is one token.
namespace reference {
double dot(const float* weights, const double* x, uint32_t width);
// The values that a row of this format holds when it is made of these.
std::vector<double> rounded(RowFormat format, std::span<const double> x);
// gain may be null.
void rms_norm(const double* x, const double* gain, double epsilon, uint32_t width, double* out);
void matmul_row(DType type, const std::byte* weight_row, const double* x, uint32_t width, double* out);
// Rotates the first rotary_dims elements in place. factors (one per pair, may be null) divide the frequencies.
void rope(double* head, RopePairing pairing, const RopeAngles& angles, const float* factors, uint32_t position);
// HadamardSpec, of one part.
void walsh_hadamard(std::span<double> x);
// q: one head; keys, values: [positions][stride], attends [0, positions). softcap 0: none; sink: null if none; slope:
// what a score loses with each position between it and `own`, the query's.
void attention_head(const double* q, const double* keys, const double* values, uint32_t positions, uint32_t stride,
                    uint32_t head_dim, double scale, double* out, double softcap = 0, const double* sink = nullptr,
                    double slope = 0, uint32_t own = 0);
double silu(double x);
struct Choice {
    uint32_t expert;
    double weight;
};
// What an op asks its router.
RouteSpec route_spec(const Graph& graph, const ExpertsOp& op);
// As RouteSpec says; bias may be null.
std::vector<Choice> route(const double* logits, const double* bias, const RouteSpec& spec);
double softplus(double x);  // log(1 + exp(x))
// activation(gate) * up; gates without `up` have 1 there.
double activate(Activation activation, double gate, double up, const Xielu& xielu = {});
}  // namespace reference

}  // namespace riftjit::graph
