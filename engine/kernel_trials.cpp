#include "engine/kernel_trials.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <random>

#include "engine/random_weights.h"
#include "graph/dequantize.h"
#include "graph/reference.h"
#include "jit/backend.h"

namespace riftjit::engine::trials {
namespace {

using namespace runtime::trial;
using graph::Bounded;
using Expected = KernelTrial::Expected;

// Rows that end within a block of 256 and a vector of 16; panels of 16 and of 32 rows that end early; steps of several
// tokens, of which some are left over of every tile.
constexpr uint32_t kWidth = 520, kRowTokens = 3;
constexpr uint32_t kMatrixRows = 70, kMatrixWidth = 512, kTileTokens = 11;
constexpr uint32_t kHeads = 3, kHeadDim = 96;
constexpr float kEpsilon = 1e-5f;

// ---- inputs --------------------------------------------------------------------------------------------------------

std::vector<float> normals(size_t count, uint32_t seed, float scale = 1) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0, scale);
    std::vector<float> values(count);
    for (float& value : values) value = normal(random);
    return values;
}

Weight vector_weight(const std::vector<float>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    return {DType::F32, 1, uint32_t(values.size()), {bytes.begin(), bytes.end()}, true};
}

std::vector<BatchRow> positions(uint32_t first, uint32_t count) {
    std::vector<BatchRow> rows;
    for (uint32_t i = 0; i < count; ++i) rows.push_back({0, first + i});
    return rows;
}

std::vector<double> doubles(std::span<const float> floats) { return {floats.begin(), floats.end()}; }

bool is_float(DType type) { return traits(type).block_elements == 1; }

// A matrix in its file's layout, and its rows in double.
struct Matrix {
    explicit Matrix(DType type_) : type(type_), file(RandomWeights(type).matrix(kMatrixRows, kMatrixWidth)) {
        for (uint32_t number = 0; number < kMatrixRows; ++number) {
            const std::byte* at = file.data() + number * row_bytes(type, kMatrixWidth);
            std::vector<float> values(kMatrixWidth);
            graph::dequantize_row(type, at, kMatrixWidth, values.data());
            rows.push_back(graph::weight_row(type, at, kMatrixWidth));
            rows.back().values = doubles(values);
        }
    }

    Weight weight() const { return {type, kMatrixRows, kMatrixWidth, file, false}; }
    // Of all rows and one row of activations. The file's decoder rounds an element once.
    Expected times(std::span<const double> x, std::span<const double> x_error = {}) const {
        const double roundings = graph::product_roundings(type, kMatrixWidth) + 1;
        Expected products;
        for (const graph::WeightRow& row : rows) products.push_back(graph::product_of(row, roundings, x, x_error));
        return products;
    }

    DType type;
    std::vector<std::byte> file;
    std::vector<graph::WeightRow> rows;
};

// ActivationRows that every format of rows holds exactly: codes of 13 bits of which each block has a largest, times a
// power of two, or, for float weights, bf16.
struct ActivationRows {
    ActivationRows(DType type, uint32_t tokens) {
        std::mt19937 random(uint32_t(type) + 100);
        for (uint32_t token = 0; token < tokens; ++token) {
            Quantized row;
            for (uint32_t i = 0; i < kMatrixWidth; ++i)
                row.codes.push_back(i % kI16Block == 17 ? kI16Max : int32_t(random() % (2 * kI16Max + 1)) - kI16Max);
            for (uint32_t i = 0; i < kMatrixWidth; i += 16)
                row.sums16.push_back(std::accumulate(&row.codes[i], &row.codes[i] + 16, 0));
            for (uint32_t block = 0; block < kMatrixWidth / kI16Block; ++block) {
                const float scale = std::ldexp(1.0f, -12 - int(random() % 4));
                row.scales.push_back(std::bit_cast<uint32_t>(scale));
                for (uint32_t i = 0; i < kI16Block; ++i)
                    floats.push_back(scale * float(row.codes[block * kI16Block + i]));
            }
            codes.push_back(std::move(row));
        }
        if (!is_float(type)) return;
        for (float& value : floats) value = std::bit_cast<float>(std::bit_cast<uint32_t>(value) & 0xffff'0000);
    }
    std::vector<double> row(uint32_t token) const {
        return doubles(std::span(floats).subspan(size_t(token) * kMatrixWidth, kMatrixWidth));
    }

    std::vector<Quantized> codes;
    std::vector<float> floats;  // the same
};

// ---- what comes out ------------------------------------------------------------------------------------------------

void append(Expected& to, const Expected& more) { to.insert(to.end(), more.begin(), more.end()); }

Expected bounded(std::span<const double> values, std::span<const double> bounds) {
    Expected result;
    for (size_t i = 0; i < values.size(); ++i) result.push_back({values[i], bounds.empty() ? 0 : bounds[i]});
    return result;
}

// Values that are off by `relative`, as f32 or as codes.
Expected rows_in(RowFormat format, std::span<const double> values, double relative) {
    if (format != RowFormat::f32) return bounded(values, graph::quantisation_error(values, relative));
    Expected result;
    for (const double value : values) result.push_back({value, std::abs(value) * relative});
    return result;
}

auto always(Expected expected) {
    return [expected = std::move(expected)](const std::vector<Found>&) { return expected; };
}

KernelTrial trial_of(const KernelSpec& spec, Case test, std::function<Expected(const std::vector<Found>&)> expected) {
    test.name = describe(spec);
    return {spec, test, test, std::move(expected)};
}

// ---- rows ----------------------------------------------------------------------------------------------------------

std::vector<float> rows_of_floats(uint32_t seed) {
    return normals(size_t{kRowTokens} * f32_row_bytes(kWidth) / 4, seed);
}
std::span<const float> row_of(const std::vector<float>& rows, uint32_t token) {
    return std::span(rows).subspan(token * f32_row_bytes(kWidth) / 4, kWidth);
}

KernelTrial rms_norm_trial(RowFormat output) {
    const RmsNormSpec spec{kWidth, kEpsilon, Presence::present, Addend::residual, output};
    const auto x = rows_of_floats(1), addend = rows_of_floats(2), gain = RandomWeights(DType::F32).vector(kWidth, 1);
    Case test{.steps = {{"", spec, {buffer(0), buffer(2), weight(0), buffer(1)}}}, .buffers = 3};
    test.weights = {vector_weight(gain)};
    test.runs = {{.rows = positions(0, kRowTokens), .inputs = {{0, x}, {2, addend}}}};
    test.results = {{1, kWidth, output}, {0, kWidth}};
    Expected normed, sums;
    for (uint32_t token = 0; token < kRowTokens; ++token) {
        std::vector<double> sum, factors = doubles(gain), out(kWidth);
        for (uint32_t i = 0; i < kWidth; ++i) sum.push_back(row_of(x, token)[i] + row_of(addend, token)[i]);
        graph::reference::rms_norm(sum.data(), factors.data(), kEpsilon, kWidth, out.data());
        append(normed, rows_in(output, out, graph::rms_norm_error(kWidth)));
        append(sums, bounded(sum, {}));
    }
    append(normed, sums);
    return trial_of(spec, std::move(test), always(normed));
}

KernelTrial layer_norm_trial(RowFormat output) {
    const LayerNormSpec spec{kWidth, kEpsilon, Presence::present, output};
    RandomWeights weights(DType::F32);
    const auto x = rows_of_floats(3), gain = weights.vector(kWidth, 1), bias = weights.vector(kWidth, 0);
    Case test{.steps = {{"", spec, {buffer(0), weight(0), weight(1), buffer(1)}}}, .buffers = 2};
    test.weights = {vector_weight(gain), vector_weight(bias)};
    test.runs = {{.rows = positions(0, kRowTokens), .inputs = {{0, x}}}};
    test.results = {{1, kWidth, output}};
    Expected expected;
    for (uint32_t token = 0; token < kRowTokens; ++token) {
        Expected normed = graph::layer_norm_of(row_of(x, token), gain, bias, kEpsilon);
        std::vector<double> values;
        double most = 0, largest = 0;
        for (const Bounded& element : normed) {
            values.push_back(element.value);
            most = std::max(most, element.bound);
            largest = std::max(largest, std::abs(element.value));
        }
        if (output != RowFormat::f32) {  // the largest of a block is off by `most` at worst, and so are all codes
            const std::vector<double> error = graph::quantisation_error(values, 0);
            for (uint32_t i = 0; i < kWidth; ++i) normed[i].bound = error[i] + 2 * most;
        }
        append(expected, normed);
    }
    return trial_of(spec, std::move(test), always(expected));
}

KernelTrial quantize_trial() {
    const QuantizeSpec spec{kWidth, RowFormat::i16};
    const auto x = rows_of_floats(4);
    Case test{.steps = {{"", spec, {buffer(0), buffer(1)}}}, .buffers = 2};
    test.runs = {{.rows = positions(0, kRowTokens), .inputs = {{0, x}}}};
    test.results = {{1, kWidth, RowFormat::i16}};
    Expected expected;
    for (uint32_t token = 0; token < kRowTokens; ++token)
        append(expected, rows_in(RowFormat::i16, doubles(row_of(x, token)), 0));
    return trial_of(spec, std::move(test), always(expected));
}

KernelTrial swiglu_trial(RowFormat output) {
    const SwigluSpec spec{kWidth, f32_row_bytes(kWidth) / 4, output};
    const auto gate = rows_of_floats(5), up = rows_of_floats(6);
    Case test{.steps = {{"", spec, {buffer(0), buffer(1), buffer(2)}}}, .buffers = 3};
    test.runs = {{.rows = positions(0, kRowTokens), .inputs = {{0, gate}, {1, up}}}};
    test.results = {{2, kWidth, output}};
    Expected expected;
    for (uint32_t token = 0; token < kRowTokens; ++token) {
        std::vector<double> values;
        for (uint32_t i = 0; i < kWidth; ++i)
            values.push_back(graph::swiglu_of(row_of(gate, token)[i], row_of(up, token)[i]));
        append(expected, rows_in(output, values, graph::kSwigluError));
    }
    return trial_of(spec, std::move(test), always(expected));
}

// A gate alone. Its exponent, -1.6 x (1 + 0.0447 x^2), is off by up to 5 roundings, and what it gates by as much times
// it, while that is below 88, behind which all is 0.
KernelTrial gelu_trial() {
    const SwigluSpec spec{kWidth, f32_row_bytes(kWidth) / 4, RowFormat::f32, Activation::gelu_tanh, Presence::absent,
                          {}};
    const auto gate = rows_of_floats(28);
    Case test{.steps = {{"", spec, {buffer(0), no_place(), buffer(1)}}}, .buffers = 2};
    test.runs = {{.rows = positions(0, kRowTokens), .inputs = {{0, gate}}}};
    test.results = {{1, kWidth, RowFormat::f32}};
    Expected expected;
    for (uint32_t token = 0; token < kRowTokens; ++token)
        for (uint32_t i = 0; i < kWidth; ++i) {
            const double x = row_of(gate, token)[i], value = graph::reference::activate(spec.activation, x, 1, {});
            const double exponent = std::min(88.0, 1.6 * std::abs(x) * (1 + 0.045 * x * x));
            expected.push_back({value, std::abs(value) * (graph::kSwigluError + 5 * exponent * graph::kRounding)});
        }
    return trial_of(spec, std::move(test), always(expected));
}

KernelTrial gather_rows_trial() {
    const GatherRowsSpec spec{kWidth};
    const auto x = rows_of_floats(7);
    const std::vector<uint32_t> outputs = {2, 0};
    Case test{.steps = {{"", spec, {buffer(0), buffer(1)}, graph::StepRows::outputs}}, .buffers = 2};
    test.runs = {{.rows = positions(0, kRowTokens), .outputs = outputs, .inputs = {{0, x}}}};
    test.results = {{1, kWidth}};
    Expected expected;
    for (const uint32_t output : outputs) append(expected, bounded(doubles(row_of(x, output)), {}));
    return trial_of(spec, std::move(test), always(expected));
}

KernelTrial hadamard_trial() {
    const HadamardSpec spec{512, 64};
    const auto x = normals(size_t{kRowTokens} * spec.width, 27);
    Case test{.steps = {{"", spec, {buffer(0), buffer(1)}}}, .buffers = 2};
    test.runs = {{.rows = positions(0, kRowTokens), .inputs = {{0, x}}}};
    test.results = {{1, spec.width}};
    Expected expected;
    for (size_t at = 0; at < x.size(); at += spec.size)
        append(expected, graph::hadamard_of(std::span(x).subspan(at, spec.size)));
    return trial_of(spec, std::move(test), always(expected));
}

// (a / 4 + b) + a bias: two sums are rounded.
KernelTrial elementwise_trial() {
    const uint32_t stride = f32_row_bytes(kWidth) / 4;
    using enum ElementwiseOp;
    const ElementwiseSpec spec{
        kWidth, stride, {{stride}, {stride}, {0}}, {{scale, 0, 0, 0.25f}, {add, 3, 1, 0}, {add, 4, 2, 0}}};
    const auto a = rows_of_floats(8), b = rows_of_floats(9), bias = RandomWeights(DType::F32).vector(kWidth, 0);
    Case test{.steps = {{"", spec, {buffer(0), buffer(1), weight(0), buffer(2)}}}, .buffers = 3};
    test.weights = {vector_weight(bias)};
    test.runs = {{.rows = positions(0, kRowTokens), .inputs = {{0, a}, {1, b}}}};
    test.results = {{2, kWidth}};
    Expected expected;
    for (uint32_t token = 0; token < kRowTokens; ++token)
        for (uint32_t i = 0; i < kWidth; ++i) {
            const double sum = 0.25 * row_of(a, token)[i] + row_of(b, token)[i], value = sum + bias[i];
            expected.push_back({value, (std::abs(sum) * 1.001 + std::abs(value)) * graph::kRounding});
        }
    return trial_of(spec, std::move(test), always(expected));
}

// ---- weights -------------------------------------------------------------------------------------------------------

// The file's values exactly: at most one rounding, which is that of the file's decoder.
KernelTrial embed_trial(const Matrix& table) {
    const EmbedSpec spec{table.type, kMatrixWidth};
    const std::vector<int32_t> ids = {kMatrixRows - 1, 0, 31, 32};
    Case test{.steps = {{"", spec, {weight(0), token_ids(), buffer(0)}}}, .buffers = 1};
    test.weights = {table.weight()};
    test.runs = {{.rows = positions(0, uint32_t(ids.size())), .ids = ids}};
    test.results = {{0, kMatrixWidth}};
    Expected expected;
    for (const int32_t id : ids) append(expected, bounded(table.rows[size_t(id)].values, {}));
    return trial_of(spec, std::move(test), always(expected));
}

// The product alone, of activations in the format that the back end reads. Formats that trials do not write are made by
// a step before it, exactly.
Case product_case(const Backend& backend, const MatmulSpec& spec, const Matrix& matrix, const ActivationRows& x,
                  const std::vector<float>& bias, const std::vector<float>& there) {
    const RowFormat format = backend.activation_format(spec.weight, spec.activations);
    Case test{.steps = {{"", spec, {weight(0), weight(1), buffer(0), buffer(1)}}}, .buffers = 3};
    if (spec.bias == Presence::absent) test.steps[0].places[1] = no_place();
    test.weights = {matrix.weight(), vector_weight(bias)};
    Run run{.rows = positions(0, uint32_t(x.codes.size())), .inputs = {{1, there}}};
    if (format == RowFormat::i16) {
        run.codes = {{0, x.codes}};
        run.codes_width = spec.width;
    } else if (format == RowFormat::f32) {
        run.inputs.emplace_back(0, x.floats);
    } else {
        run.inputs.emplace_back(2, x.floats);
        test.steps.insert(test.steps.begin(), {"", QuantizeSpec{spec.width, format}, {buffer(2), buffer(0)}});
    }
    test.runs = {run};
    test.results = {{1, spec.rows, RowFormat::f32, spec.out_stride * 4}};
    return test;
}

// By turns with a bias and added to what lies there.
KernelTrial matmul_trial(const Backend& device, const Backend& processor, const Matrix& matrix, MatmulForm form) {
    const DType type = matrix.type;
    const bool is_odd = uint32_t(type) % 2 == 1;
    const uint32_t stride = uint32_t(round_up(kMatrixRows, 16)), tokens = form == MatmulForm::tile ? kTileTokens : 1;
    const MatmulSpec spec{type,
                          kMatrixRows,
                          kMatrixWidth,
                          stride,
                          form,
                          is_odd ? Epilogue::store : Epilogue::accumulate,
                          is_odd ? Presence::present : Presence::absent};
    const ActivationRows x(type, tokens);
    const auto bias = normals(kMatrixRows, 10), there = normals(size_t(tokens) * stride, 11);
    Expected expected;
    for (uint32_t token = 0; token < tokens; ++token) {
        const Expected products = matrix.times(x.row(token));
        for (uint32_t i = 0; i < kMatrixRows; ++i)
            expected.push_back(
                graph::plus(products[i], is_odd ? bias[i] : 0, is_odd ? 0 : there[size_t(token) * stride + i]));
    }
    KernelTrial trial = trial_of(spec, product_case(device, spec, matrix, x, bias, there), always(expected));
    trial.on_processor = product_case(processor, spec, matrix, x, bias, there);
    return trial;
}

// A row that the product itself quantises, and adds to what lies there; or norms, for two matrices of which one gates
// the other.
KernelTrial fused_matmul_trial(const Matrix& matrix, Gating gating) {
    const DType type = matrix.type;
    const bool is_gated = gating == Gating::silu;
    const bool is_normed = is_gated || is_float(type);
    const Presence with_gain = is_normed ? Presence::present : Presence::absent;
    const MatmulSpec product{type,
                             kMatrixRows,
                             kMatrixWidth,
                             uint32_t(round_up(kMatrixRows, 16)),
                             MatmulForm::vector,
                             is_gated ? Epilogue::store : Epilogue::accumulate,
                             Presence::absent};
    const FusedMatmulSpec spec{product, is_normed ? RowSource::rms_norm : RowSource::quantize, is_normed ? kEpsilon : 0,
                               with_gain, gating};
    const auto x = normals(kMatrixWidth, 12), there = normals(product.out_stride, 13),
               gain = RandomWeights(DType::F32).vector(kMatrixWidth, 1);
    enum Buffers : uint32_t { kRow, kNormed, kGate, kUp, kOut, kBuffers };
    const graph::Place up = is_gated ? weight(1) : no_place(), gain_place = is_normed ? weight(2) : no_place();
    Case test{.steps = {{"", spec, {weight(0), up, no_place(), buffer(kRow), gain_place, buffer(kOut)}}},
              .buffers = kBuffers};
    Weight up_weight = matrix.weight();  // the same, each row where the one before it was
    std::ranges::rotate(up_weight.file, up_weight.file.begin() + ptrdiff_t(row_bytes(type, kMatrixWidth)));
    test.weights = {matrix.weight(), up_weight, vector_weight(gain)};
    test.runs = {{.rows = positions(0, 1), .inputs = {{kRow, x}, {kOut, there}}}};
    test.results = {{kOut, kMatrixRows}};

    const RowFormat format = is_float(type) ? RowFormat::f32 : RowFormat::i16;
    std::vector<double> row = doubles(x), factors = doubles(gain), error;
    if (is_normed) graph::reference::rms_norm(row.data(), factors.data(), kEpsilon, kMatrixWidth, row.data());
    for (const Bounded& element : rows_in(format, row, is_normed ? graph::rms_norm_error(kMatrixWidth) : 0))
        error.push_back(element.bound);
    const Expected products = matrix.times(row, error);
    Expected expected;
    for (uint32_t i = 0; i < kMatrixRows; ++i)
        expected.push_back(is_gated ? graph::gated(products[i], products[(i + 1) % kMatrixRows])
                                    : graph::plus(products[i], 0, there[i]));
    KernelTrial trial = trial_of(spec, test, always(expected));

    std::vector<graph::Step>& apart = trial.on_processor.steps;
    apart.clear();
    if (is_normed)
        apart.push_back({"",
                         RmsNormSpec{kMatrixWidth, kEpsilon, Presence::present, Addend::none, format},
                         {buffer(kRow), no_place(), weight(2), buffer(kNormed)}});
    else
        apart.push_back({"", QuantizeSpec{kMatrixWidth, format}, {buffer(kRow), buffer(kNormed)}});
    if (!is_gated) {
        apart.push_back({"", product, {weight(0), no_place(), buffer(kNormed), buffer(kOut)}});
        return trial;
    }
    apart.push_back({"", product, {weight(0), no_place(), buffer(kNormed), buffer(kGate)}});
    apart.push_back({"", product, {weight(1), no_place(), buffer(kNormed), buffer(kUp)}});
    apart.push_back(
        {"", SwigluSpec{kMatrixRows, product.out_stride, RowFormat::f32}, {buffer(kGate), buffer(kUp), buffer(kOut)}});
    return trial;
}

// ---- the cache -----------------------------------------------------------------------------------------------------

// Rows of three sequences, whose positions cross the ends of chunks of positions and of a page.
std::vector<BatchRow> cached_rows() { return {{1, 0}, {1, 1}, {0, 6}, {0, 7}, {0, 8}, {2, 255}, {2, 256}}; }
constexpr uint32_t kCachedPositions = 257;

Case cache_case(DType key_type, DType value_type) {
    Case test{.buffers = 1};
    test.key_type = key_type;
    test.value_type = value_type;
    test.kv_heads = kHeads;
    test.head_dim = kHeadDim;
    test.sequences = 3;
    test.pages_per_sequence = 2;
    test.pages = 6;
    test.cached = kCachedPositions;
    return test;
}

// Zeros, but for what rows[i] stored as keys or values (`part` 0 or 1).
Expected cache_with(const std::vector<Expected>& rows, uint32_t part) {
    constexpr uint32_t kPart = kHeads * kHeadDim;
    Expected cache(size_t{3} * kCachedPositions * 2 * kPart);
    const std::vector<BatchRow> where = cached_rows();
    for (size_t i = 0; i < rows.size(); ++i) {
        const size_t position = size_t{where[i].sequence} * kCachedPositions + where[i].position;
        std::ranges::copy(rows[i], cache.begin() + ptrdiff_t((position * 2 + part) * kPart));
    }
    return cache;
}

KernelTrial value_store_trial(DType type) {
    const ValueStoreSpec spec{kHeads, kHeadDim, kHeads * kHeadDim, type};
    const auto v = normals(cached_rows().size() * spec.row_stride, 14);
    Case test = cache_case(DType::F16, type);
    test.steps = {{"", spec, {buffer(0), values()}}};
    test.runs = {{.rows = cached_rows(), .inputs = {{0, v}}}};
    std::vector<Expected> rows;
    for (size_t row = 0; row < cached_rows().size(); ++row) {
        const std::vector<double> in = doubles(std::span(v).subspan(row * spec.row_stride, spec.row_stride));
        rows.push_back(bounded(in, graph::cache_error(type, in, 0)));
    }
    return trial_of(spec, std::move(test), always(cache_with(rows, 1)));
}

// {cos, sin} of each pair.
std::vector<float> angles_of(uint32_t position, uint32_t rotary_dims) {
    std::vector<float> table;
    for (uint32_t i = 0; i < rotary_dims / 2; ++i) {
        const double angle = position * std::pow(10000.0, -2.0 * i / rotary_dims);
        table.push_back(float(std::cos(angle)));
        table.push_back(float(std::sin(angle)));
    }
    return table;
}

// A head normed, where there is a gain, and rotated.
Expected rotated(const RopeSpec& spec, std::span<const float> head, const std::vector<float>& gain,
                 const std::vector<float>& angles) {
    std::vector<double> in = doubles(head), factors = doubles(gain);
    double relative = 0;
    if (spec.norm == Presence::present) {
        graph::reference::rms_norm(in.data(), factors.data(), spec.epsilon, spec.head_dim, in.data());
        relative = graph::rms_norm_error(spec.head_dim);
    }
    Expected out = rows_in(RowFormat::f32, in, relative);
    for (uint32_t i = 0; i < spec.rotary_dims / 2; ++i) {
        const bool is_half = spec.pairing == RopePairing::half;
        const uint32_t first = is_half ? i : 2 * i, second = is_half ? i + spec.rotary_dims / 2 : 2 * i + 1;
        const double a = in[first], b = in[second], c = angles[2 * i], s = angles[2 * i + 1];
        const double bound = (std::abs(a) + std::abs(b)) * (relative + 2 * graph::kRounding);  // a product and an fma
        out[first] = {a * c - b * s, bound};
        out[second] = {b * c + a * s, bound};
    }
    return out;
}

KernelTrial rope_trial(RopePairing pairing, Presence norm, std::optional<DType> key_cache) {
    const uint32_t rotary_dims = pairing == RopePairing::half ? kHeadDim : kHeadDim / 2;
    const RopeSpec spec{
        kHeads,   kHeadDim, rotary_dims, kHeads * kHeadDim, pairing, norm, norm == Presence::present ? kEpsilon : 0,
        key_cache};
    const std::vector<BatchRow> batch = cached_rows();
    const auto x = normals(batch.size() * spec.row_stride, 15), gain = RandomWeights(DType::F32).vector(kHeadDim, 1);
    Case test = cache_case(key_cache.value_or(DType::F16), DType::F16);
    test.steps = {{"",
                   spec,
                   {buffer(0), norm == Presence::present ? weight(0) : no_place(), rope_table(),
                    key_cache ? keys() : no_place()}}};
    test.weights = {vector_weight(gain)};
    Run run{.rows = batch, .inputs = {{0, x}}};
    std::vector<Expected> rows(batch.size());
    for (size_t row = 0; row < batch.size(); ++row) {
        const std::vector<float> angles = angles_of(batch[row].position, rotary_dims);
        run.table.insert(run.table.end(), angles.begin(), angles.end());
        for (uint32_t head = 0; head < kHeads; ++head) {
            const size_t first = row * spec.row_stride + head * kHeadDim;
            Expected out = rotated(spec, std::span(x).subspan(first, kHeadDim), gain, angles);
            if (key_cache) {  // a scale follows its block's largest, which is off too
                std::vector<double> stored;
                double most = 0;
                for (const Bounded& element : out) {
                    stored.push_back(element.value);
                    most = std::max(most, element.bound);
                }
                const std::vector<double> error = graph::cache_error(*key_cache, stored, 0);
                for (uint32_t d = 0; d < kHeadDim; ++d) out[d].bound = error[d] + 2 * most;
            }
            append(rows[row], out);
        }
    }
    test.runs = {run};
    if (key_cache) return trial_of(spec, std::move(test), always(cache_with(rows, 0)));
    test.results = {{0, kHeads * kHeadDim}};
    test.cached = 0;
    Expected expected;
    for (const Expected& row : rows) append(expected, row);
    return trial_of(spec, std::move(test), always(expected));
}

// Rows of two pages, whose keys and values are stored first, by kernels that have trials of their own: what attention
// leaves is compared with attention to what then lies in the cache.
KernelTrial attention_trial(MatmulForm form, DType key_type, DType value_type, uint32_t window = 0, float softcap = 0) {
    constexpr uint32_t kKvHeads = 2, kGroup = 3, kDim = 64, kStored = 260, kTogether = 65;
    constexpr uint32_t kKvWidth = kKvHeads * kDim, kQueryWidth = kKvWidth * kGroup;
    const AttentionSpec spec{kKvHeads * kGroup, kKvHeads, kDim, kQueryWidth, kQueryWidth, key_type,
                             value_type,        0.125f,   form, softcap,     window};
    const RopeSpec keys_spec{kKvHeads, kDim, 0, kKvWidth, RopePairing::half, Presence::absent, 0, key_type};
    Case test{.steps = {{"", keys_spec, {buffer(1), no_place(), no_place(), keys()}},
                        {"", ValueStoreSpec{kKvHeads, kDim, kKvWidth, value_type}, {buffer(2), values()}},
                        {"", spec, {buffer(0), keys(), values(), buffer(3)}}},
              .buffers = 4};
    test.opening_steps = 2;
    test.key_type = key_type;
    test.value_type = value_type;
    test.kv_heads = kKvHeads;
    test.head_dim = kDim;
    test.pages = test.pages_per_sequence = 2;
    test.cached = kStored;
    const auto run_of = [&](const std::vector<BatchRow>& rows, uint32_t seed) {
        return Run{.rows = rows,
                   .inputs = {{0, normals(rows.size() * kQueryWidth, seed)},
                              {1, normals(rows.size() * kKvWidth, seed + 1)},
                              {2, normals(rows.size() * kKvWidth, seed + 2)}}};
    };
    for (uint32_t first = 0; first < kStored; first += kTogether) {
        test.runs.push_back(run_of(positions(first, kTogether), 20 + first));
        test.runs.back().is_opening = true;
    }
    // Rows that follow each other downwards share no tile.
    test.runs.push_back(
        run_of(form == MatmulForm::tile ? positions(253, 7) : std::vector<BatchRow>{{0, 259}, {0, 130}, {0, 20}}, 300));
    test.results = {{3, kQueryWidth}};
    const Run& last = test.runs.back();
    return trial_of(spec, test, [last, window, softcap](const std::vector<Found>& found) {
        const std::vector<double>& cache = found.back().values;  // by position: keys, then values
        const auto& q = last.inputs[0].second;
        Expected expected;
        for (size_t row = 0; row < last.rows.size(); ++row)
            for (uint32_t head = 0; head < kKvHeads * kGroup; ++head) {
                const double* head_keys = cache.data() + head / kGroup * kDim;
                const uint32_t end = last.rows[row].position + 1;
                const graph::Seen seen = {window == 0 || end < window ? 0 : end - window, end, double{softcap}};
                append(expected, graph::attention_of(q.data() + row * kQueryWidth + head * kDim, head_keys,
                                                     head_keys + kKvWidth, seen, 2 * kKvWidth, kDim, 0.125));
            }
        append(expected, bounded(cache, {}));
        return expected;
    });
}

// A product and a rotation.
KernelTrial side_by_side_trial(const Backend& device, const Matrix& matrix) {
    const DType type = matrix.type;
    const MatmulSpec product{type,
                             kMatrixRows,
                             kMatrixWidth,
                             uint32_t(round_up(kMatrixRows, 16)),
                             MatmulForm::vector,
                             Epilogue::store,
                             Presence::absent};
    const RopeSpec rope{kHeads, kHeadDim, kHeadDim, kHeads * kHeadDim, RopePairing::half, Presence::absent, 0, {}};
    const ActivationRows x(type, 1);
    const auto heads = normals(rope.row_stride, 16), bias = normals(kMatrixRows, 17);
    const std::vector<float> angles = angles_of(5, kHeadDim);
    Case test = product_case(device, product, matrix, x, bias, normals(product.out_stride, 18));
    test.buffers = 4;
    test.steps.push_back({"", rope, {buffer(3), no_place(), rope_table(), no_place()}});
    test.runs[0].inputs.emplace_back(3, heads);
    test.runs[0].table = angles;
    test.results.push_back({3, kHeads * kHeadDim});
    Expected expected = matrix.times(x.row(0));
    for (uint32_t head = 0; head < kHeads; ++head)
        append(expected, rotated(rope, std::span(heads).subspan(head * kHeadDim, kHeadDim), {}, angles));

    const SideBySideSpec spec{{product, rope}};
    KernelTrial trial = trial_of(spec, test, always(expected));
    std::vector<graph::Place> places = test.steps[0].places;
    places.insert(places.end(), test.steps[1].places.begin(), test.steps[1].places.end());
    trial.on_device.steps = {{"", spec, places}};
    return trial;
}

}  // namespace

KernelTrials kernel_trials(const Backend& device, const Backend& processor) {
    KernelTrials all;
    const auto add = [&](const char* op, KernelTrial trial) {
        const bool has_all = std::ranges::all_of(
            trial.on_device.steps, [&](const graph::Step& step) { return device.supports(step.spec).has_value(); });
        if (has_all)
            all.trials.push_back(std::move(trial));
        else if (std::ranges::find(all.lacking, op) == all.lacking.end())
            all.lacking.emplace_back(op);
    };
    constexpr RowFormat kFormats[] = {RowFormat::f32, RowFormat::i16};
    constexpr DType kCacheTypes[] = {DType::F32, DType::F16, DType::Q8_0};
    std::map<DType, Matrix> matrices;
    for (const DTypeTraits& type : all_dtypes())
        if (type.is_weight) matrices.emplace(type.type, type.type);
    for (const auto& [type, matrix] : matrices) add("embed", embed_trial(matrix));
    for (const RowFormat format : kFormats) add("rms_norm", rms_norm_trial(format));
    for (const RowFormat format : kFormats) add("layer_norm", layer_norm_trial(format));
    add("quantize", quantize_trial());
    add("gather_rows", gather_rows_trial());
    add("elementwise", elementwise_trial());
    add("hadamard", hadamard_trial());
    for (const RowFormat format : kFormats) add("swiglu", swiglu_trial(format));
    add("swiglu", gelu_trial());
    for (const MatmulForm form : {MatmulForm::vector, MatmulForm::tile})
        for (const auto& [type, matrix] : matrices) add("matmul", matmul_trial(device, processor, matrix, form));
    for (const DType type : {DType::Q8_0, DType::Q4_K, DType::F16})
        for (const Gating gating : {Gating::none, Gating::silu})
            add("fused matmul", fused_matmul_trial(matrices.at(type), gating));
    add("side by side", side_by_side_trial(device, matrices.at(DType::Q4_0)));
    add("rope", rope_trial(RopePairing::half, Presence::absent, {}));
    add("rope", rope_trial(RopePairing::adjacent, Presence::present, {}));
    for (const DType type : kCacheTypes) add("rope", rope_trial(RopePairing::half, Presence::present, type));
    for (const DType type : kCacheTypes) add("value_store", value_store_trial(type));
    for (const MatmulForm form : {MatmulForm::vector, MatmulForm::tile}) {
        for (const DType type : kCacheTypes) add("attention", attention_trial(form, type, type));
        add("attention", attention_trial(form, DType::Q8_0, DType::F16));
        add("attention", attention_trial(form, DType::F16, DType::Q8_0));
        add("attention", attention_trial(form, DType::F16, DType::F16, 100, 2.0f));
    }
    return all;
}

}  // namespace riftjit::engine::trials
