// What a kernel is asked to do (specs: the whole cache key together with the target) and what one launch passes (args).
//
// Conventions shared by every back end:
// - A launch is `void kernel(const XArgs* args, uint32_t begin, uint32_t end)`: it does the work units [begin, end) of
//   unit_count(spec, rows). Units are independent; any split over threads gives the same bits.
// - Activations are rows, one per token, in one of the RowFormats below. An f32 row of width w takes
//   round_up(w, 16) floats; a kernel may write the padding and must not depend on it, unless stated.
// - Numbers are part of the contract, on every device and at every level of it:
//   Integer sums are exact (each weight type argues its bounds), so they are equal whatever their order and however
//   wide the products: a device that multiplies bytes takes a code a of RowFormat::i16 as 128 * high + low (below).
//   Sums of f32 run in the KOrder that the spec names; reductions over a row of activations or logits in lanes64. Where
//   a product feeds a sum, it is fused: one rounding (VDPBF16PS, which rounds differently, is the exception).
// - Everything that may change the code is in the spec and nothing else is: no pointer, token count or position.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "host/result.h"
#include "host/round_up.h"
#include "jit/batch.h"
#include "jit/columns/column_program.h"
#include "jit/columns/lif_step.h"
#include "jit/formats/dtype.h"
#include "jit/k_order.h"

namespace riftjit {

// ---- activation rows ------------------------------------------------------------------------------------------------

// What rows hold. How other rows than f32 lie in memory is each back end's own (Backend::row_bytes).
enum class RowFormat : uint8_t {
    f32,        // float[round_up(width, 16)]
    i16,        // quantised: codes of 13 bits, and one scale per 256
    bf16,       // round to nearest even
    i16_bf16,   // i16, and each code also as 128 * high and low, both bf16
    i16_bytes,  // i16, and each code also as the bytes high, low and their sum
    i8,         // quantised: codes of 8 bits, and one scale per 32
};
constexpr size_t kRowFormats = 6;
constexpr bool is_quantized(RowFormat format) { return format != RowFormat::f32 && format != RowFormat::bf16; }
constexpr uint32_t f32_row_bytes(uint32_t width) { return uint32_t(round_up(width, 16) * sizeof(float)); }

// Quantised activations. Per super-block of 256 elements (the last may be shorter, and is zero padded to 256):
// scale = max|x| / kI16Max (f32; 0 for an all-zero block), code = rint(x * (kI16Max / max|x|)) in [-kI16Max, kI16Max].
// 13 bits: 256 products stay within int32 while weight times block scale is below 2^11 (formats/weight_bounds.h;
// wider ones sum 128 at a time), and the rounding noise is about 24 times below that of 8-bit activations with one
// scale per 32.
inline constexpr int kI16Max = 4095;
inline constexpr float kI16Smallest = 0x1p-112f;
inline constexpr uint32_t kI16Block = 256;

// What quantised weights are multiplied by: a choice of who runs the model. i8 has more noise and takes less work.
enum class Activations : uint8_t { i13, i8 };
constexpr std::string_view name(Activations activations) { return activations == Activations::i13 ? "i13" : "i8"; }
constexpr std::optional<Activations> activations_from_name(std::string_view text) {
    for (const Activations activations : {Activations::i13, Activations::i8})
        if (name(activations) == text) return activations;
    return std::nullopt;
}

// RowFormat::i8. Per 32 elements: scale = max|x| / kI8Max, code = rint(x * (kI8Max / max|x|)), 0 as above.
// A weight times such codes, with q, m, D, M, n of its format (formats/weight_format.h) and s the scale: the integers I
// of a group, exact and below 2^24 (the decoders check it), then in f32 and in order
//   segment = sum over its groups of fma(m * I, s, segment)    of one group: m * I * s
//   total = fma(segment, D, total), and with real minima fma(s * sum(a), M, total) after it
// and with integer minima, every 256 elements, total -= Dmin * (sum over groups of fma(n, s * sum(a), ...)).
inline constexpr int kI8Max = 127;
inline constexpr uint32_t kI8Block = 32;

// A code as two bytes, for devices whose dot products take bytes: sum(q * a) = 128 * sum(q * high) + sum(q * low).
constexpr int8_t high_byte(int code) { return int8_t(code >> 7); }  // -32 to 31
constexpr int8_t low_byte(int code) { return int8_t(code & 127); }  // 0 to 127
static_assert(128 * high_byte(kI16Max) + low_byte(kI16Max) == kI16Max &&
              128 * high_byte(-kI16Max) + low_byte(-kI16Max) == -kI16Max);

// ---- specs and args -------------------------------------------------------------------------------------------------

enum class Addend : uint8_t { none, residual };  // residual: x += addend first, and the sum is stored back to x
enum class Presence : uint8_t { absent, present };

// out[t] = table[ids[t]], rows of `width` in a packed table. Unit: token.
struct EmbedSpec {
    DType weight;
    uint32_t width;
    auto operator<=>(const EmbedSpec&) const = default;
};
struct EmbedArgs {
    const std::byte* table;
    const int32_t* ids;
    float* out;
    const BatchState* batch;
};

// s = x (+ addend); out = s * gain / sqrt(mean(s^2) + epsilon), in `output` format. Unit: token. The f32 row stride
// of x, addend and out is round_up(width, 16). With Addend::residual x receives s.
struct RmsNormSpec {
    uint32_t width;
    float epsilon;
    Presence gain;
    Addend addend;
    RowFormat output;
    auto operator<=>(const RmsNormSpec&) const = default;
};
struct RmsNormArgs {
    float* x;
    const float* addend;
    const float* gain;
    std::byte* out;
    const BatchState* batch;
};

// out[i] = x[batch->output_row[i]], f32 rows. Unit: output.
struct GatherRowsSpec {
    uint32_t width;
    auto operator<=>(const GatherRowsSpec&) const = default;
};
struct GatherRowsArgs {
    const float* x;
    float* out;
    const BatchState* batch;
};

// out = (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon) * gain (+ bias), in `output` format. Unit: token. The f32
// row stride of x and out is round_up(width, 16).
struct LayerNormSpec {
    uint32_t width;
    float epsilon;
    Presence bias;
    RowFormat output;
    auto operator<=>(const LayerNormSpec&) const = default;
};
struct LayerNormArgs {
    const float* x;
    const float* gain;
    const float* bias;
    std::byte* out;
    const BatchState* batch;
};

// Converts f32 rows to another row format. Unit: token.
struct QuantizeSpec {
    uint32_t width;
    RowFormat output;
    auto operator<=>(const QuantizeSpec&) const = default;
};
struct QuantizeArgs {
    const float* x;
    std::byte* out;
    const BatchState* batch;
};

// out[t][r] (+)= sum_k weight[r][k] * x[t][k] (+ bias[r]). Weights lie as the back end packs them; x rows are in
// Backend::activation_format(weight, activations); out rows are f32 with stride out_stride floats; a kernel writes
// round_up(rows, 16) floats per row. Unit: panel of 16 rows. Over k f32 sums run in `order`: of quantised weights those
// of the blocks, whose own sums are of integers.
enum class MatmulForm : uint8_t {
    vector,  // few tokens: weights decoded in registers, bandwidth bound
    tile,    // many tokens: a panel is decoded once to L1, then multiplied by tiles of tokens
};
enum class Epilogue : uint8_t { store, accumulate };  // accumulate: out += result
struct MatmulSpec {
    DType weight;
    uint32_t rows, width, out_stride;
    MatmulForm form;
    Epilogue epilogue;
    Presence bias;
    KOrder order = KOrder::sequence;
    Activations activations = Activations::i13;  // i13 beside float weights
    auto operator<=>(const MatmulSpec&) const = default;
};
struct MatmulArgs {
    const std::byte* weights;
    const float* bias;
    const std::byte* x;
    float* out;
    const BatchState* batch;
};

// A product with one f32 row that the kernel itself norms or quantises first: back ends whose launches cost more than
// doing so in every one of their parts take it for a norm or quantisation and the matmuls behind it. Codes, sums and
// bits are those of the separate ops. `product` is in vector form; where it is gated, two matrices have its shape, and
// out = silu(weights . x) * (up_weights . x), without a bias.
enum class RowSource : uint8_t {
    quantize,  // rows as they are
    rms_norm,  // as RmsNormSpec without addend: x stays
};
enum class Gating : uint8_t { none, silu };
struct FusedMatmulSpec {
    MatmulSpec product;
    RowSource source;
    float epsilon;  // of rms_norm
    Presence gain;  // likewise
    Gating gating;
    auto operator<=>(const FusedMatmulSpec&) const = default;
};
struct FusedMatmulArgs {
    const std::byte* weights;
    const std::byte* up_weights;
    const float* bias;
    const float* x;
    const float* gain;
    float* out;
    const BatchState* batch;
};

// Per head: optional RMS norm over head_dim (with gain), then rotary embedding of the first rotary_dims elements
// (0: none, only the norm or the store; the table is not read).
// cos/sin come from a table of f32 pairs {cos, sin}[tokens][rotary_dims/2] made by the runtime in double.
// Output: rows (f32, in place of x) or the key cache (see below). Unit: token * heads + head.
enum class RopePairing : uint8_t { adjacent, half };  // (2i, 2i+1) "NORM", or (i, i + rotary_dims/2) "NEOX"
struct RopeSpec {
    uint32_t heads, head_dim, rotary_dims, row_stride;  // row_stride: floats between tokens of x
    RopePairing pairing;
    Presence norm;
    float epsilon;
    std::optional<DType> key_cache;         // where the result goes, by its type; none: in place of x
    Presence own_gains = Presence::absent;  // each head has gains of its own: [heads * head_dim]
    auto operator<=>(const RopeSpec&) const = default;
};
struct RopeArgs {
    float* x;
    const float* gain;
    const float* table;
    std::byte* cache;
    const BatchState* batch;
};

// KV cache of one layer. Types F16 (default), F32, Q8_0. It consists of pages of kKvPage positions of a sequence; page
// tables (jit/batch.h) say which page has which positions. What lies where in a page is the back end's
// (Backend::key_page_bytes) and does not depend on the capacity, so the context length is not part of any spec.

// Stores f32 value rows in the value cache. Unit: token.
struct ValueStoreSpec {
    uint32_t kv_heads, head_dim, row_stride;
    DType cache_type;
    auto operator<=>(const ValueStoreSpec&) const = default;
};
struct ValueStoreArgs {
    const float* v;
    std::byte* cache;
    const BatchState* batch;
};

// Attention with grouped queries, online softmax in f32 over blocks of 64 positions, which begins anew in every
// segment of kKvPage; the segments are merged in ascending order. Both are anchored at absolute positions, so that any
// split of a prompt into batches, and of a row's segments among threads, gives the same bits.
// sight: which keys a query at position p sees. causal: those up to p; whole: all of its text, the rows of which are
// then neighbours in one step (BatchState::text_end).
// softcap c (0: none): scores are c * tanh(score * scale / c). window w (0: none) narrows what is seen: causal to
// positions above p - w, whole to p - w/2 up to p + w/2 (w/2 rounded down). sinks: per head, a score that takes part in
// the softmax and has no value.
// chunk n, a power of two (0: none, in place of a window; causal): seen are those from the last multiple of n up to p
// on. alibi b (0: none): scores of head h fall by alibi_slope(h, heads, b) with each position's distance (jit/alibi.h).
// out rows: f32 [heads*head_dim], stride out_stride.
// Unit: kv_head + kv_heads * tile, of the batch's tiles in tile form and of its single rows in vector form; where the
// batch has room for parts and cuts_rows(spec), of its single rows' segments, one row's after the other's.
enum class Sight : uint8_t { causal, whole };
struct AttentionSpec {
    uint32_t heads, kv_heads, head_dim, q_stride, out_stride;
    DType key_type, value_type;
    float scale;
    MatmulForm form;
    float softcap = 0.0f;
    uint32_t window = 0;
    Presence sinks = Presence::absent;
    float alibi = 0.0f;
    Sight sight = Sight::causal;
    uint32_t chunk = 0;
    auto operator<=>(const AttentionSpec&) const = default;
};
// Whether segments of single rows may be units.
constexpr bool cuts_rows(const AttentionSpec& spec) {
    return spec.form == MatmulForm::vector && spec.window == 0 && spec.chunk == 0 && spec.sight == Sight::causal;
}
struct AttentionArgs {
    const float* q;
    const std::byte* keys;
    const std::byte* values;
    float* out;
    const BatchState* batch;
    const float* sinks;  // one per head
};

// The non-linearity of a feed-forward block.
enum class Activation : uint8_t {
    silu,          // x / (1 + exp(-x))
    gelu_tanh,     // x / (1 + exp(-2 u)), u = sqrt(2 / pi) (x + 0.044715 x^3): GELU by its approximation with tanh
    gelu_erf,      // x (1 + erf(x / sqrt(2))) / 2
    relu,          // max(x, 0)
    relu_squared,  // max(x, 0)^2
    clamped_silu,  // g / (1 + exp(-1.702 g)) with g = min(x, 7); up becomes clamp(up, -7, 7) + 1 (gpt-oss)
    sigmoid,       // 1 / (1 + exp(-x))
    xielu,         // see Xielu
};
// positive x^2 + linear x above 0, else negative (exp(min(x, limit)) - 1 - x) + linear x (Huang and Schlag 2024, arXiv
// 2411.13010).
struct Xielu {
    float positive = 0, negative = 0, linear = 0, limit = 0;
    auto operator<=>(const Xielu&) const = default;
};
inline constexpr float kClampedLimit = 7.0f, kClampedSteepness = 1.702f;

// out = activation(gate) (* up). gate and up rows have stride in_stride floats. Unit: token.
struct SwigluSpec {
    uint32_t width, in_stride;
    RowFormat output;
    Activation activation = Activation::silu;
    Presence up = Presence::present;
    Xielu xielu = {};
    auto operator<=>(const SwigluSpec&) const = default;
};
struct SwigluArgs {
    const float* gate;
    const float* up;
    std::byte* out;
    const BatchState* batch;
};

// A chain of elementwise steps over f32 rows, compiled by asmjit. Registers: values[0..inputs) are the inputs; each
// step appends one value; the last value is stored. Unit: token.
enum class ElementwiseOp : uint8_t {
    add,
    scale,    // left * constant
    softcap,  // constant * tanh(left / constant)
    multiply,
    divide,
    at_least,     // max(left, constant)
    at_most,      // min(left, constant)
    square_root,  // of max(left, 0)
};
constexpr bool has_two_operands(ElementwiseOp op) {
    return op == ElementwiseOp::add || op == ElementwiseOp::multiply || op == ElementwiseOp::divide;
}
struct ElementwiseStep {
    ElementwiseOp op;
    uint8_t left, right;
    float constant;  // of ops on one value and a constant, whose `right` is unused
    auto operator<=>(const ElementwiseStep&) const = default;
};
inline constexpr uint32_t kWholeRow = ~0u;
struct ElementwiseInput {
    uint32_t row_stride;          // floats between tokens; 0: one row for all (a bias)
    uint32_t column = kWholeRow;  // of a row per token: the element that stands for all of the row
    auto operator<=>(const ElementwiseInput&) const = default;
};
struct ElementwiseSpec {
    uint32_t width, out_stride;
    std::vector<ElementwiseInput> inputs;
    std::vector<ElementwiseStep> steps;
    auto operator<=>(const ElementwiseSpec&) const = default;
};
inline constexpr size_t kMaxElementwiseInputs = 6;
inline constexpr size_t kMaxElementwiseSteps = 32;
struct ElementwiseArgs {
    const float* inputs[kMaxElementwiseInputs];
    float* out;
    const BatchState* batch;
};

// Launches that touch nothing of each other's, as one: the workgroups of the first part, then those of the second, and
// so on. For devices whose launches cost time. Arguments are the parts' structs, one behind the other.
using SideBySidePart = std::variant<MatmulSpec, FusedMatmulSpec, RopeSpec, ValueStoreSpec>;
struct SideBySideSpec {
    std::vector<SideBySidePart> parts;
    auto operator<=>(const SideBySideSpec&) const = default;
};

// The highest logits of each row with their tokens, for a sampler far from the device: in no order, of equal ones those
// of the lower indices, a NaN above all, and -0 as +0. A row that has fewer is filled up with indices beyond it. Wide
// rows take two launches: `parts` leaves as many of each stretch of kHighestPart, in `parts`, and `merge` takes those
// of all. Unit: row.
enum class HighestStage : uint8_t { whole, parts, merge };
inline constexpr uint32_t kHighest = 64, kHighestPart = 4096;
constexpr uint32_t highest_parts(uint32_t width) { return (width + kHighestPart - 1) / kHighestPart; }
struct IndexedLogit {
    float logit;
    uint32_t index;
};
struct HighestSpec {
    uint32_t width;
    HighestStage stage;
    auto operator<=>(const HighestSpec&) const = default;
};
struct HighestArgs {
    const float* x;
    IndexedLogit* parts;  // [row][highest_parts(width)][kHighest]
    IndexedLogit* out;    // [row][kHighest]
    const BatchState* batch;
};

// ---- mixtures of experts --------------------------------------------------------------------------------------------
//
// A router chooses `used` of `experts` feed-forward blocks for each token, and their results are added up with weights
// (Shazeer et al. 2017, arXiv 1701.06538). A token and one of its experts are a pair. The pairs of a batch lie as rows,
// ordered by expert, then token, so that an expert's matrix meets all of its rows at once, and only experts that some
// token chose are read.

struct ExpertChoice {
    uint32_t expert;
    float weight;
    uint32_t pair;  // the row that it became
};
// Pairs [first, first + count) are one expert's.
struct ExpertGroup {
    uint32_t expert, first, count;
};
// What follows from the choices of a batch: a head, and behind it the groups, by expert.
struct ExpertGroups {
    uint32_t count;
};
constexpr uint64_t expert_groups_bytes(uint32_t experts) {
    return sizeof(ExpertGroups) + uint64_t(experts) * sizeof(ExpertGroup);
}

// Which experts have a token, and how their results are weighted. Of logits l and a bias b per expert (0 without):
//   softmax            s = softmax(l)
//   sigmoid            s = 1 / (1 + exp(-l))
//   softmax_of_chosen  s = l, and in the end softmax over the chosen
//   sparse_mixer       s = l; a chosen one's weight is its share, by a softmax, of those not chosen before it of which
//                      (l of it - l) / max(|l|, l of it) is at most kMixedDistance (arXiv 2409.12136); without b
// Chosen are the highest s + b, of equal ones those of lower index, in falling order; with groups only among the
// groups_used of `groups` equal stretches of experts with the greatest scores: of sigmoid the sum of the two highest
// s + b (DeepSeek-V3, arXiv 2412.19437, 2.1.2), else the highest (DeepSeek-V2, arXiv 2405.04434, 2.2.2). Weights are
// the s of the chosen; with `normed` divided by their sum (at least 2^-14); times scale; with scales times that of the
// expert. Unit: token. The f32 row stride of logits is round_up(experts, 16).
enum class Scoring : uint8_t { softmax, sigmoid, softmax_of_chosen, sparse_mixer };
inline constexpr float kMixedDistance = 0.02f;
struct RouteSpec {
    uint32_t experts, used;
    Scoring scoring;
    Presence bias;
    Presence normed;
    float scale;
    uint32_t groups, groups_used;  // 1, 1: none
    Presence scales = Presence::absent;
    auto operator<=>(const RouteSpec&) const = default;
};
struct RouteArgs {
    const float* logits;
    const float* bias;
    ExpertChoice* choices;  // [token][used]
    const BatchState* batch;
    const float* scales;  // one per expert
};
inline constexpr float kLeastRouteSum = 0x1p-14f;
inline constexpr uint32_t kMaxExperts = 1024;

// Orders the batch's pairs, a counting sort by expert. Unit: the whole batch (unit_count is 1).
struct GroupPairsSpec {
    uint32_t experts, used;
    auto operator<=>(const GroupPairsSpec&) const = default;
};
struct GroupPairsArgs {
    ExpertChoice* choices;  // gets `pair`
    ExpertGroups* groups;
    uint32_t* tokens;  // [pair]: whose row it is
    const BatchState* batch;
};

// out[pair] = x[tokens[pair]], rows in `format`. Unit: pair.
struct GatherPairsSpec {
    uint32_t width, used;
    RowFormat format;
    auto operator<=>(const GatherPairsSpec&) const = default;
};
struct GatherPairsArgs {
    const std::byte* x;
    const uint32_t* tokens;
    std::byte* out;
    const BatchState* batch;
};

// For each group: out[pair] = matrix of its expert . x[pair] (+ bias of its expert), as `product` says of one matrix.
// Matrices lie one behind the other, each as the back end packs it. used == experts: every token has all of them,
// nothing is chosen, and the pairs of expert e are the rows [e * tokens, (e + 1) * tokens). shared_row: all pairs are
// one token's, whose row is the only one of x. Unit: panel of 16 rows, of the matrices of all groups, one behind the
// other.
struct ExpertMatmulSpec {
    MatmulSpec product;
    uint32_t experts, used;
    Presence shared_row;
    auto operator<=>(const ExpertMatmulSpec&) const = default;
};
struct ExpertMatmulArgs {
    const std::byte* weights;
    const float* bias;  // [expert][rows]
    const std::byte* x;
    const ExpertGroups* groups;
    float* out;
    const BatchState* batch;
};

// Of each choice of a token: rows `first` and `second` of its pair times its weight, which becomes 1. Unit: token. Rows
// are f32, their strides round_up(width, 16).
struct WeighPairsSpec {
    uint32_t width, used;
    auto operator<=>(const WeighPairsSpec&) const = default;
};
struct WeighPairsArgs {
    ExpertChoice* choices;
    float* first;
    float* second;
    const BatchState* batch;
};

// out[token] = sum over its choices, in their order, of fma(weight, pairs[pair], sum), beginning at 0 or, with
// `shared`, at shared[token], which is multiplied by 1 / (1 + exp(-gate[token][0])) if there is a gate. Unit: token.
// Rows are f32, their strides round_up(width, 16) and, of the gate, 16 floats.
struct CombineSpec {
    uint32_t width, used;
    Presence shared, gate;
    auto operator<=>(const CombineSpec&) const = default;
};
struct CombineArgs {
    const float* pairs;
    const ExpertChoice* choices;
    const float* shared;
    const float* gate;
    float* out;
    const BatchState* batch;
};

// out = x with each `size` elements, a power of two, multiplied by the Walsh-Hadamard matrix / sqrt(size), whose
// element i, j is 1 or, where i and j have an odd number of bits in common, -1. Unit: token. Of 16 elements the
// products are added up in order of i; sums and differences of those 16 apart, 32 apart and so on follow, and the
// factor comes last.
struct HadamardSpec {
    uint32_t width, size;
    auto operator<=>(const HadamardSpec&) const = default;
};
struct HadamardArgs {
    const float* x;
    float* out;
    const BatchState* batch;
};

// ---- products of heads ----------------------------------------------------------------------------------------------
//
// Where each head has a matrix of its own, heads are experts that every token has: their rows lie head by head.

// out[head * tokens + token] = x[token][head * head_stride + offset ..], `width` elements, in `output` format. Unit:
// token.
struct SplitHeadsSpec {
    uint32_t heads, head_stride, offset, width, in_stride;
    RowFormat output;
    auto operator<=>(const SplitHeadsSpec&) const = default;
};
struct SplitHeadsArgs {
    const float* x;
    std::byte* out;
    const BatchState* batch;
};

// out[token]: of each head first_width elements of x[token] from head * head_stride + offset on, and behind them
// `width` of the head's row. Unit: token. The stride of out is round_up(heads * (first_width + width), 16). With
// first_width 0 there is no x; with head_stride 0 all heads have the same elements of it. A head's row:
//   by_head   rows[head * tokens + token], whose f32 stride is round_up(width, 16)
//   by_token  elements head * width on of rows[token], whose stride is round_up(heads * width, 16)
//   zeros     there are no rows
enum class HeadRows : uint8_t { by_head, by_token, zeros };
struct JoinHeadsSpec {
    uint32_t heads, head_stride, offset, first_width, in_stride, width;
    HeadRows rows = HeadRows::by_head;
    auto operator<=>(const JoinHeadsSpec&) const = default;
};
struct JoinHeadsArgs {
    const float* x;
    const float* rows;
    float* out;
    const BatchState* batch;
};

// ---- running states -------------------------------------------------------------------------------------------------
//
// What such a layer keeps of a sequence are f32 numbers that every row replaces: [sequence][block][numbers][16], a
// block for 16 channels, which no other reads. Weights with several numbers per channel lie alike,
// [block][numbers][16]. Units: a block of a run of rows (BatchState::run), walked in order, so that a sequence's bits
// do not depend on how it was cut into steps. A step has at most one run of each sequence.
inline constexpr uint32_t kChannelBlock = 16;
inline constexpr uint32_t kMaxTaps = 64;      // of a convolution; published models have 3 or 4
inline constexpr uint32_t kMaxStates = 4096;  // of a channel; published models have 16 to 256
constexpr uint32_t channel_blocks(uint32_t channels) { return (channels + kChannelBlock - 1) / kChannelBlock; }
// Number `index` of `channel`, of which each has `numbers`.
constexpr uint64_t channel_place(uint32_t channel, uint32_t index, uint32_t numbers) {
    return (uint64_t(channel / kChannelBlock) * numbers + index) * kChannelBlock + channel % kChannelBlock;
}

// A causal convolution of each channel by itself: of u = x (* in_gate), with `taps` weights,
//   sum = bias or 0; sum = fma(weight[i], u of taps - 1 - i rows before, sum) for i from 0 on
//   out = sum or silu(sum) (* out_gate)
// The state holds the last taps - 1 of u, oldest first.
enum class ConvolutionGates : uint8_t { none, both };
struct ConvolutionSpec {
    uint32_t channels, taps;
    Presence bias;
    ConvolutionGates gates;
    Presence silu;
    auto operator<=>(const ConvolutionSpec&) const = default;
};
struct ConvolutionArgs {
    const float* x;
    const float* in_gate;
    const float* out_gate;
    const float* weights;
    const float* bias;
    float* state;
    float* out;
    const BatchState* batch;
};

// A selective state space (Mamba): channels in `heads` of head_dim; head_dim 1 is Mamba 1, whose channels each have a
// time of their own and one decay for each of their `states` numbers h; else, as in Mamba 2, a head has one time and
// one decay. With g the head's group of heads,
//   dt = softplus(time + time_bias);  h[n] = fma(h[n], exp(dt * decay), (dt * x) * b[g][n])
//   out = fma(skip, x, sum of h[n] * c[g][n])
// The sum of Mamba 1 is one chain of fused steps from n = 0 on; that of Mamba 2 four, for n mod 4, added as
// (0 + 1) + (2 + 3). softplus(x) = max(x, 0) + 2 s p(s * s), s = t / (2 + t), t = exp(-|x|) (jit/exponential.h).
struct ScanSpec {
    uint32_t heads, head_dim, states, groups;
    auto operator<=>(const ScanSpec&) const = default;
};
struct ScanArgs {
    const float* x;     // [heads * head_dim]
    const float* time;  // [heads]
    const float* b;     // [groups * states]
    const float* c;
    const float* time_bias;  // [heads]
    const float* decay;      // [heads], or by channel
    const float* skip;       // [heads]
    float* state;
    float* out;
    const BatchState* batch;
};

// A gated delta net: per value head a matrix S[key_dim][value_dim], a channel for each of its columns. q and k are
// those of the value head's key head, divided by sqrt(sum of squares + epsilon), and q by sqrt(key_dim) too:
//   S *= exp(softplus(alpha + time_bias) * decay);  d = (v - S^T k) / (1 + exp(-beta));  S += k d^T;  out = S^T q
// Sums over key_dim are four chains of fused steps, for i mod 4, added as (0 + 1) + (2 + 3).
enum class HeadOrder : uint8_t {
    grouped,  // the value heads of a key head follow each other; rows of gates hold their betas, then their alphas, and
              // so on with those of the next key head: alpha and beta are one
    tiled,    // value head h has key head h mod key_heads; alpha and beta are rows of their own
};
struct DeltaNetSpec {
    uint32_t key_heads, value_heads, key_dim, value_dim;
    HeadOrder order;
    float epsilon;
    auto operator<=>(const DeltaNetSpec&) const = default;
};
struct DeltaNetArgs {
    const float* q;
    const float* k;
    const float* v;
    const float* alpha;
    const float* beta;
    const float* time_bias;  // [value_heads]
    const float* decay;      // [value_heads]
    float* state;
    float* out;
    const BatchState* batch;
};

// The time mixing of RWKV: per head a matrix S[head_dim][head_dim], a channel for each of its columns. With x(i) for
// element i of the head's row or weight x, c = v, or with `centered` v less its mean over the head (S and what comes of
// it are then less their means over a row, for they are linear in v):
//   v6 (Eagle and Finch, arXiv 2404.05892): d(i) = exp(-exp(w(i)))
//     out = S^T r + c * sum(r(i) * k(i) * mix(i));  S = diag(d) S + k c^T
//   v7 (Goose, arXiv 2503.14456): d(i) = exp(-exp(-1/2) / (1 + exp(-w(i)))), a = 1 / (1 + exp(-a)),
//     n(i) = k(i) * key_scale(i), divided by its length (at least 1e-12), h(i) = k(i) * (1 + (a(i) - 1) * key_rate(i))
//     S = diag(d) S + h c^T + (n * a) (-S^T n)^T;  out = S^T r;  bonus = v * sum(r(i) * h(i) * mix(i))
// Sums over a matrix's column are four chains of fused steps, for i mod 4, added as (0 + 1) + (2 + 3); those over rows
// run in lanes64.
enum class WkvRule : uint8_t { v6, v7 };
struct WkvSpec {
    uint32_t heads, head_dim;
    WkvRule rule;
    Presence centered;
    auto operator<=>(const WkvSpec&) const = default;
};
struct WkvArgs {  // rows and weights of heads * head_dim
    const float* r;
    const float* w;
    const float* k;
    const float* v;
    const float* a;  // v7
    const float* mix;
    const float* key_scale;  // v7
    const float* key_rate;   // v7
    float* state;
    float* bonus;  // v7
    float* out;
    const BatchState* batch;
};

// Reductions over one row of logits, for the sampler. Unit: the whole row (unit_count is 1).
enum class ReduceKind : uint8_t {
    argmax,  // the largest value and its index, lowest on ties; NaN never wins (index 0 if all are); count = NaNs
    collect_above,  // indices of all x >= threshold, ascending, to `indices` (count: capacity in, found out, which may
                    // be more)
};
struct ReduceSpec {
    ReduceKind kind;
    uint32_t width;
    auto operator<=>(const ReduceSpec&) const = default;
};
struct ReduceArgs {
    const float* x;
    float threshold;
    float value;
    uint32_t index;
    uint32_t count;
    uint32_t* indices;
};

using KernelSpec =
    std::variant<EmbedSpec, RmsNormSpec, QuantizeSpec, MatmulSpec, RopeSpec, ValueStoreSpec, AttentionSpec, SwigluSpec,
                 ElementwiseSpec, ReduceSpec, LifStepSpec, ColumnProgramSpec, GatherRowsSpec, LayerNormSpec,
                 FusedMatmulSpec, SideBySideSpec, HighestSpec, RouteSpec, GroupPairsSpec, GatherPairsSpec,
                 ExpertMatmulSpec, CombineSpec, SplitHeadsSpec, JoinHeadsSpec, ConvolutionSpec, ScanSpec, DeltaNetSpec,
                 WeighPairsSpec, HadamardSpec, WkvSpec>;

using KernelFunction = void (*)(const void* args, uint32_t begin, uint32_t end);

// ---- what an op says of itself (one description each: jit/model_ops.h, jit/simulator_ops.h) ------------------------

// What a pointer of an Args struct points to.
enum class Role : uint8_t {
    packed,     // a weight matrix in the layout that the back end's kernels read
    vector,     // a weight of one row: f32, padded to 16
    rows,       // activations, one row per token
    routes,     // what a router chose, and what follows from it
    cache,      // keys or values of one layer
    state,      // what one layer keeps of each sequence
    token_ids,  // int32_t per token
    table,      // angles of rotations, by token
    batch,      // BatchState
};
enum class Access : uint8_t { read, write, update };  // update: read and written
constexpr bool reads(Access access) { return access != Access::write; }
constexpr bool writes(Access access) { return access != Access::read; }

struct Argument {
    std::string_view name;  // of the pointer in the Args struct
    uint32_t offset_bytes;  // of the pointer in the Args struct
    Role role;
    Access access = Access::read;
    Presence presence = Presence::present;  // absent: a kernel of this spec does not look at it
    // Of rows; of vectors and states (of one sequence) the width alone.
    std::optional<RowFormat> format;  // none: the one that the back end reads beside the weight, activation_format()
    uint32_t width = 0;               // elements
    uint32_t stride_bytes = 0;        // from row to row; 0: as the back end lays out rows of the format
    uint32_t rows_each = 1;           // of a row of the step
};

// The Args struct of one launch, pointer by pointer. Kernels that no plan launches (of the sampler and the simulator)
// have none: their callers fill the struct.
struct Signature {
    uint32_t args_bytes = 0;
    std::vector<Argument> arguments;  // in the order of the struct, the batch last
};
Signature signature(const KernelSpec& spec);

// "rj_matmul_vector_q4_k_n4096_k4096": the same in plan, profile, dump, cache and perf map. Unique per spec.
std::string kernel_name(const KernelSpec& spec);
// Human text for --print-plan and --dump-isa: "matmul q4_k 4096x4096, vector form".
std::string describe(const KernelSpec& spec);
// Unambiguous bytes for hashing: variant index, then every field, little-endian.
std::vector<std::byte> serialize(const KernelSpec& spec);
// Refuses shapes no back end generates: "rms_norm: width 0".
Result<void> validate(const KernelSpec& spec);
// `rows` are the batch's, for attention its tiles, single rows or their segments, for ops with running states its runs,
// and for column programs elements.
uint32_t unit_count(const KernelSpec& spec, uint32_t rows);
// Units that kernels take together where they can: parts of a launch are best multiples of it.
uint32_t unit_grain(const KernelSpec& spec);
// Whether it walks the runs of the batch.
bool walks_runs(const KernelSpec& spec);

struct KernelCost {
    uint64_t flops;         // floating or integer multiply and add operations, per token (column programs: per
                            // element); attention: per token and position that it sees
    uint64_t weight_bytes;  // bytes of weights read by one launch, as in the file; embed: by one token
};
KernelCost cost(const KernelSpec& spec);

}  // namespace riftjit
