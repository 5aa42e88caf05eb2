#include "graph/quantize/encode_row.h"

#include <cstring>

#include "graph/quantize/block_encoders.h"
#include "host/result.h"

namespace riftjit::graph {

namespace {

struct BlockEncoder {
    DType type;
    blocks::EncodeBlock encode;
};

constexpr BlockEncoder kEncoders[] = {
    {DType::Q4_0, blocks::encode_q4_0},       {DType::Q4_1, blocks::encode_q4_1},
    {DType::Q5_0, blocks::encode_q5_0},       {DType::Q5_1, blocks::encode_q5_1},
    {DType::Q8_0, blocks::encode_q8_0},       {DType::Q2_K, blocks::encode_q2_k},
    {DType::Q3_K, blocks::encode_q3_k},       {DType::Q4_K, blocks::encode_q4_k},
    {DType::Q5_K, blocks::encode_q5_k},       {DType::Q6_K, blocks::encode_q6_k},
    {DType::IQ4_NL, blocks::encode_iq4_nl},   {DType::IQ4_XS, blocks::encode_iq4_xs},
    {DType::MXFP4, blocks::encode_mxfp4},     {DType::Q1_0, blocks::encode_q1_0},
    {DType::Q2_0, blocks::encode_q2_0},       {DType::TQ1_0, blocks::encode_tq1_0},
    {DType::TQ2_0, blocks::encode_tq2_0},     {DType::IQ2_XXS, blocks::encode_iq2_xxs},
    {DType::IQ2_XS, blocks::encode_iq2_xs},   {DType::IQ2_S, blocks::encode_iq2_s},
    {DType::IQ3_XXS, blocks::encode_iq3_xxs}, {DType::IQ3_S, blocks::encode_iq3_s},
    {DType::NVFP4, blocks::encode_nvfp4},     {DType::IQ1_S, blocks::encode_iq1_s},
    {DType::IQ1_M, blocks::encode_iq1_m},
};

blocks::EncodeBlock block_encoder(DType type) {
    for (const BlockEncoder& encoder : kEncoders)
        if (encoder.type == type) return encoder.encode;
    return nullptr;
}

bool is_plain(DType type) { return type == DType::F32 || type == DType::F16 || type == DType::BF16; }

void encode_plain(DType type, std::span<const float> row, std::byte* out) {
    if (type == DType::F32) {
        std::memcpy(out, row.data(), row.size_bytes());
        return;
    }
    auto* at = reinterpret_cast<uint8_t*>(out);
    for (size_t i = 0; i < row.size(); ++i)
        blocks::put_u16(at + 2 * i, type == DType::F16 ? float_to_half(row[i]) : float_to_bfloat(row[i]));
}

}  // namespace

void encode_row(DType type, std::span<const float> row, std::span<const float> importance, std::byte* out) {
    if (is_plain(type)) return encode_plain(type, row, out);
    const blocks::EncodeBlock encode = block_encoder(type);
    check(encode != nullptr, "rows are made of types that hold weights");
    const DTypeTraits& shape = traits(type);
    check(row.size() % shape.block_elements == 0, "a row is whole blocks");
    check(importance.empty() || importance.size() == row.size(), "each column has its importance");
    const float mean_square = importance.empty() ? 0 : blocks::sum_of_squares(row) / float(row.size());
    auto* block = reinterpret_cast<uint8_t*>(out);
    for (size_t at = 0; at < row.size(); at += shape.block_elements, block += shape.block_bytes) {
        const blocks::Values columns =
            importance.empty() ? blocks::Values() : importance.subspan(at, shape.block_elements);
        encode(blocks::BlockInput{row.subspan(at, shape.block_elements), columns, mean_square}, block);
    }
}

}  // namespace riftjit::graph
