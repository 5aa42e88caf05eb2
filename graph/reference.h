// A slow interpreter of a graph in double precision: the oracle for kernels, fusions and whole models.
#pragma once

#include <span>
#include <vector>

#include "graph/graph.h"

namespace riftjit::graph {

class Reference {
public:
    explicit Reference(const Graph& graph);
    // Runs the tokens at the next positions (the cache grows) and returns logits [rows, vocabulary] in double.
    Result<std::vector<double>> run(std::span<const int32_t> ids);
    void reset();  // forgets the cache

private:
    const Graph& graph_;
    std::vector<std::vector<double>> keys_, values_;  // per layer, [position][kv_heads*head_dim]
    uint32_t position_ = 0;
};

// The ops themselves, on double rows, for kernel tests: each row is one token.
namespace reference {
void rms_norm(const double* x, const double* gain, double epsilon, uint32_t width, double* out);
void matmul_row(DType type, const std::byte* weight_row, const double* x, uint32_t width, double* out);
void rope(double* head, uint32_t rotary_dims, RopePairing pairing, double base, double scale, const float* factors, uint32_t position);
// q: one head; keys, values: [positions][stride], attends [0, positions).
void attention_head(const double* q, const double* keys, const double* values, uint32_t positions, uint32_t stride,
                    uint32_t head_dim, double scale, double* out);
double silu(double x);
}  // namespace reference

}  // namespace riftjit::graph
