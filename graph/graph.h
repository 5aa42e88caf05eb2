// A model as a graph of operations over rows: what models/ builds, passes rewrite, and the planner lowers.
//
// Every activation is a matrix [tokens, width]; the number of tokens is not part of the graph. Weights are [rows,
// width] with width contiguous (GGUF ne = {width, rows}); vectors (norm gains, biases) have rows == 1.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "graph/rope_angles.h"
#include "graph/state_slot.h"
#include "host/result.h"
#include "jit/formats/dtype.h"
#include "jit/kernel_spec.h"

namespace riftjit::graph {

using TensorId = uint32_t;
inline constexpr TensorId kNoTensor = ~0u;

enum class TensorKind : uint8_t {
    token_ids,   // the input: one i32 per token
    positions,   // the input's places in its text: one i32 per token
    weight,      // constant, in file layout at `data`
    activation,  // f32 rows, in the reference's eyes
};

struct Tensor {
    std::string name;
    TensorKind kind;
    DType type;         // weights: as in the file; activations: F32
    uint32_t rows = 0;  // weights only
    uint32_t width = 0;
    const std::byte* data = nullptr;  // weights: row-major file layout, valid as long as the model's file
    // Of a stack of experts' weights: as many of rows x width, so far apart.
    uint32_t matrices = 1;
    uint64_t matrix_bytes = 0;
    // Weights whose rows are not neighbours there: the first `taken` of every `period` rows; 0: all.
    uint32_t taken = 0, period = 0;

    // Of a stack, rows are counted through all matrices.
    const std::byte* row(uint32_t number) const {
        if (matrices > 1) return data + number / rows * matrix_bytes + number % rows * row_bytes(type, width);
        const uint32_t in_file = period == 0 ? number : number / taken * period + number % taken;
        return data + in_file * row_bytes(type, width);
    }
};

// Inputs and outputs are tensor ids; optional inputs are kNoTensor. Each op says its name and its tensors; what it
// computes and how it is lowered stands in ops/.
struct EmbedOp {
    TensorId ids, table, out;
    static constexpr const char* kName = "embed";
    static void tensors(auto& op, auto&& visit) { visit.in(op.ids, op.table), visit.out(op.out); }
};
// head_dim 0: one norm over the whole row; else one per head_dim elements, with one gain for all or gains of their own.
// out = norm(x [+ addend]); with addend, the sum is a second output.
struct RmsNormOp {
    TensorId x, addend, gain, out, sum;
    uint32_t head_dim;
    float epsilon;
    static constexpr const char* kName = "rms_norm";
    static void tensors(auto& op, auto&& visit) { visit.in(op.x, op.addend, op.gain), visit.out(op.out, op.sum); }
};
// out = (x - mean(x)) / sqrt(variance(x) + epsilon) * gain [+ bias]
struct LayerNormOp {
    TensorId x, gain, bias, out;
    float epsilon;
    static constexpr const char* kName = "layer_norm";
    static void tensors(auto& op, auto&& visit) { visit.in(op.x, op.gain, op.bias), visit.out(op.out); }
};
struct MatmulOp {
    TensorId x, weight, bias, residual, out;
    static constexpr const char* kName = "matmul";
    static void tensors(auto& op, auto&& visit) { visit.in(op.x, op.weight, op.bias, op.residual), visit.out(op.out); }
};  // out = x W^T [+ bias] [+ residual]
struct AddOp {
    TensorId left, right, out;
    static constexpr const char* kName = "add";
    static void tensors(auto& op, auto&& visit) { visit.in(op.left, op.right), visit.out(op.out); }
};
// Weight vectors [rotary_dims/2] that divide the frequencies. `far`, where it is there, takes the place of `usual` in
// texts whose context is longer than angles.original_context.
struct RopeFactors {
    TensorId usual = kNoTensor, far = kNoTensor;
    bool operator==(const RopeFactors&) const = default;
};
struct RopeOp {
    TensorId x, out;
    RopeFactors factors;
    uint32_t head_dim;
    RopePairing pairing;
    RopeAngles angles;
    TensorId gain = kNoTensor;  // fused form: each head is RMS-normed with this gain first
    float epsilon = 0.0f;
    static constexpr const char* kName = "rope";
    static void tensors(auto& op, auto&& visit) {
        visit.in(op.x, op.factors.usual, op.factors.far, op.gain), visit.out(op.out);
    }
};
// What attention may do beside scaling scores (jit/kernel_spec.h, AttentionSpec).
struct AttentionTraits {
    float softcap = 0.0f;        // 0: none
    uint32_t window = 0;         // 0: none
    TensorId sinks = kNoTensor;  // a weight vector, one score per head
    float alibi = 0.0f;          // 0: none
    Sight sight = Sight::causal;
    uint32_t chunk = 0;  // 0: none
};
// Writes k and v at the batch's positions of a KvSlot, whose heads these are, then attends. heads = width(q) /
// head_dim. Without k and v it reads what an op before it wrote.
struct AttentionOp {
    TensorId q, k, v, out;
    SlotId slot;
    uint32_t heads, kv_heads, head_dim;
    float scale;
    AttentionTraits traits;
    static constexpr const char* kName = "attention";
    static void tensors(auto& op, auto&& visit) { visit.in(op.q, op.k, op.v, op.traits.sinks), visit.out(op.out); }
};
// out = activation(gate) [* up]
struct SwigluOp {
    TensorId gate, up, out;
    Activation activation;
    Xielu xielu = {};
    static constexpr const char* kName = "swiglu";
    static void tensors(auto& op, auto&& visit) { visit.in(op.gate, op.up), visit.out(op.out); }
};
// What a mixture of experts does (jit/kernel_spec.h, RouteSpec).
struct ExpertTraits {
    uint32_t used;
    Scoring scoring = Scoring::softmax;
    bool is_normed = false;
    float scale = 1.0f;
    uint32_t groups = 1, groups_used = 1;
    Activation activation = Activation::silu;
    bool weighs_inputs = false;
};
// The tensors of one: stacks of matrices, biases [experts * rows]. Optional are gate, choice_bias and
// weight_scale (one per expert), all biases; `shared` rows are added, times the sigmoid of shared_gate, if it is there.
struct ExpertTensors {
    TensorId gate = kNoTensor, up = kNoTensor, down = kNoTensor;
    TensorId gate_bias = kNoTensor, up_bias = kNoTensor, down_bias = kNoTensor;
    TensorId choice_bias = kNoTensor, weight_scale = kNoTensor, shared = kNoTensor, shared_gate = kNoTensor;
};
// out = [sigmoid(shared_gate)] shared + sum over the chosen experts of weight * down(activation(gate(x)) * up(x)); with
// weighs_inputs, down(activation(weight * gate(x)) * weight * up(x))
struct ExpertsOp {
    TensorId x, logits, out;
    ExpertTensors tensors_of;
    ExpertTraits traits;
    static constexpr const char* kName = "experts";
    static void tensors(auto& op, auto&& visit) {
        auto& of = op.tensors_of;
        visit.in(op.x, op.logits, of.gate, of.up, of.down, of.gate_bias, of.up_bias, of.down_bias, of.choice_bias,
                 of.weight_scale, of.shared, of.shared_gate);
        visit.out(op.out);
    }
};
// Of each head h: out_h = first_width elements of x_h from first_offset on, then W_h times `width` of x_h from offset
// on. x_h: the h-th of as many equal parts of x as the stack has matrices.
struct HeadProductOp {
    TensorId x, weight, out;
    uint32_t offset, first_offset, first_width;
    static constexpr const char* kName = "head_product";
    static void tensors(auto& op, auto&& visit) { visit.in(op.x, op.weight), visit.out(op.out); }
};
struct ConcatOp {
    TensorId left, right, out;
    static constexpr const char* kName = "concat";
    static void tensors(auto& op, auto&& visit) { visit.in(op.left, op.right), visit.out(op.out); }
};  // out = [left | right]
// Of each head h: out_h = left.width elements of `left` from left.offset + h * left.stride on, then those of `right`;
// stride 0: all heads have the same. Elements of no tensor are zeros.
struct HeadPart {
    TensorId of = kNoTensor;
    uint32_t offset = 0, width = 0, stride = 0;
};
struct JoinHeadsOp {
    HeadPart left, right;
    TensorId out;
    uint32_t heads;
    static constexpr const char* kName = "join_heads";
    static void tensors(auto& op, auto&& visit) { visit.in(op.left.of, op.right.of), visit.out(op.out); }
};
struct GatherRowsOp {
    TensorId x, out;
    static constexpr const char* kName = "gather_rows";
    static void tensors(auto& op, auto&& visit) { visit.in(op.x), visit.out(op.out); }
};  // the rows whose logits are wanted, in that order; what follows has a row for each
struct ScaleOp {
    TensorId x, out;
    float factor;
    static constexpr const char* kName = "scale";
    static void tensors(auto& op, auto&& visit) { visit.in(op.x), visit.out(op.out); }
};
// out = cap * tanh(x / cap)
struct SoftcapOp {
    TensorId x, out;
    float cap;
    static constexpr const char* kName = "softcap";
    static void tensors(auto& op, auto&& visit) { visit.in(op.x), visit.out(op.out); }
};
// A chain of steps, and the fused form of chains of Add, Scale and Softcap: see ElementwiseSpec.
struct ElementwiseChainOp {
    std::vector<TensorId> inputs;
    std::vector<ElementwiseStep> steps;
    TensorId out;
    std::vector<uint32_t> columns = {};  // of inputs, kWholeRow or an element that stands for its row; none: whole rows
    uint32_t column(size_t input) const { return input < columns.size() ? columns[input] : kWholeRow; }
    static constexpr const char* kName = "elementwise";
    static void tensors(auto& op, auto&& visit) { visit.in(op.inputs), visit.out(op.out); }
};

// A causal convolution of each channel by itself (jit/kernel_spec.h), whose last inputs a RunningSlot keeps. Weights
// lie by channel. The gates are there both or not at all.
struct ConvolutionOp {
    TensorId x, in_gate, out_gate, weights, bias, out;
    SlotId slot;
    uint32_t taps;
    bool has_silu;
    static constexpr const char* kName = "convolution";
    static void tensors(auto& op, auto&& visit) {
        visit.in(op.x, op.in_gate, op.out_gate, op.weights, op.bias), visit.out(op.out);
    }
};

// A selective state space of Mamba 1 or 2 (jit/kernel_spec.h). Its heads are those of `time`.
struct ScanOp {
    TensorId x, time, b, c, time_bias, decay, skip, out;
    SlotId slot;
    ScanSpec spec;
    static constexpr const char* kName = "scan";
    static void tensors(auto& op, auto&& visit) {
        visit.in(op.x, op.time, op.b, op.c, op.time_bias, op.decay, op.skip), visit.out(op.out);
    }
};
// A gated delta net (jit/kernel_spec.h).
struct DeltaNetOp {
    TensorId q, k, v, alpha, beta, time_bias, decay, out;
    SlotId slot;
    DeltaNetSpec spec;
    static constexpr const char* kName = "delta_net";
    static void tensors(auto& op, auto&& visit) {
        visit.in(op.q, op.k, op.v, op.alpha, op.beta, op.time_bias, op.decay), visit.out(op.out);
    }
};

// RWKV's time mixing (jit/kernel_spec.h); a, the weights of keys and bonus are v7's.
struct WkvOp {
    TensorId r, w, k, v, a, mix, key_scale, key_rate, out, bonus;
    SlotId slot;
    WkvSpec spec;
    static constexpr const char* kName = "wkv";
    static void tensors(auto& op, auto&& visit) {
        visit.in(op.r, op.w, op.k, op.v, op.a, op.mix, op.key_scale, op.key_rate), visit.out(op.out, op.bonus);
    }
};

using Op = std::variant<EmbedOp, RmsNormOp, LayerNormOp, MatmulOp, AddOp, RopeOp, AttentionOp, SwigluOp, GatherRowsOp,
                        ScaleOp, SoftcapOp, ElementwiseChainOp, ExpertsOp, HeadProductOp, ConcatOp, ConvolutionOp,
                        ScanOp, DeltaNetOp, JoinHeadsOp, WkvOp>;

struct Node {
    std::string name;  // "blk.3.attn_norm"
    Op op;
};

class Graph {
public:
    std::vector<Tensor> tensors;
    std::vector<Node> nodes;  // in execution order
    TensorId logits = kNoTensor;

    std::vector<StateSlot> slots;

    TensorId add_input(std::string name, TensorKind kind = TensorKind::token_ids);  // or positions
    TensorId add_weight(std::string name, DType type, uint32_t rows, uint32_t width, const std::byte* data);
    SlotId add_slot(StateSlot slot);

    // Each appends a node and returns its output; shapes are inferred and checked ("attn_q: x has width 5, weight
    // ...").
    Result<TensorId> embed(std::string name, TensorId ids, TensorId table);
    Result<TensorId> rms_norm(std::string name, TensorId x, TensorId gain, float epsilon, uint32_t head_dim = 0);
    Result<TensorId> layer_norm(std::string name, TensorId x, TensorId gain, TensorId bias, float epsilon);
    Result<TensorId> matmul(std::string name, TensorId x, TensorId weight, TensorId bias = kNoTensor);
    Result<TensorId> add(std::string name, TensorId left, TensorId right);
    Result<TensorId> rope(std::string name, TensorId x, uint32_t head_dim, RopePairing pairing,
                          const RopeAngles& angles, const RopeFactors& factors = {});
    Result<TensorId> attention(std::string name, TensorId q, TensorId k, TensorId v, SlotId slot, uint32_t heads,
                               float scale, const AttentionTraits& traits = {});
    Result<TensorId> swiglu(std::string name, TensorId gate, TensorId up, Activation activation = Activation::silu,
                            const Xielu& xielu = {});
    Result<TensorId> gather_rows(std::string name, TensorId x);
    Result<TensorId> head_product(std::string name, TensorId x, TensorId weight, uint32_t offset,
                                  uint32_t first_offset = 0, uint32_t first_width = 0);
    Result<TensorId> concat(std::string name, TensorId left, TensorId right);
    Result<TensorId> join_heads(std::string name, uint32_t heads, const HeadPart& left, const HeadPart& right);
    // logits: a row of one per expert.
    Result<TensorId> experts(std::string name, TensorId x, TensorId logits, const ExpertTensors& tensors,
                             const ExpertTraits& traits);
    Result<TensorId> scale(std::string name, TensorId x, float factor);
    Result<TensorId> softcap(std::string name, TensorId x, float cap);
    // Rows of `width`; values are the inputs, then what each step makes (ElementwiseChainOp).
    struct ElementwiseOperand {
        TensorId of;
        uint32_t column = kWholeRow;
    };
    Result<TensorId> elementwise(std::string name, uint32_t width, std::vector<ElementwiseOperand> inputs,
                                 std::vector<ElementwiseStep> steps);

    struct Gates {
        TensorId in, out;
    };
    Result<TensorId> convolution(std::string name, TensorId x, TensorId weights, TensorId bias, SlotId slot,
                                 std::optional<Gates> gates, bool has_silu);
    struct ScanInputs {
        TensorId x, time, b, c, time_bias, decay, skip;
    };
    Result<TensorId> scan(std::string name, const ScanInputs& inputs, SlotId slot, uint32_t groups);
    struct DeltaNetInputs {
        TensorId q, k, v, alpha, beta, time_bias, decay;
    };
    Result<TensorId> delta_net(std::string name, const DeltaNetInputs& inputs, SlotId slot, const DeltaNetSpec& spec);

    struct WkvInputs {
        TensorId r, w, k, v, mix;
        TensorId a = kNoTensor, key_scale = kNoTensor, key_rate = kNoTensor;  // of v7
    };
    struct WkvOutputs {
        TensorId out, bonus;  // bonus: of v7
    };
    Result<WkvOutputs> wkv(std::string name, const WkvInputs& inputs, SlotId slot, const WkvSpec& spec);

    const Tensor& tensor(TensorId id) const { return tensors[id]; }

private:
    TensorId add_activation(std::string name, uint32_t width);
};

// Readers and writers of a node, for passes: inputs in order (without kNoTensor), then outputs.
std::vector<TensorId> inputs(const Op& op);
std::vector<TensorId> outputs(const Op& op);
void replace_input(Op& op, TensorId from, TensorId to);
const char* op_name(const Op& op);
std::string to_text(const Graph& graph);  // one line per node

}  // namespace riftjit::graph
