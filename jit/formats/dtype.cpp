#include "jit/formats/dtype.h"

#include <array>

#include "host/result.h"

namespace riftjit {

namespace {
using enum DType;
// Block shapes: GGUF specification, ggml-common.h.
constexpr auto kTypes = std::to_array<DTypeTraits>({
    {F32, "f32", 1, 4, true},          {F16, "f16", 1, 2, true},         {BF16, "bf16", 1, 2, true},
    {Q4_0, "q4_0", 32, 18, true},      {Q4_1, "q4_1", 32, 20, true},     {Q5_0, "q5_0", 32, 22, true},
    {Q5_1, "q5_1", 32, 24, true},      {Q8_0, "q8_0", 32, 34, true},     {Q8_1, "q8_1", 32, 36, false},
    {Q2_K, "q2_k", 256, 84, true},     {Q3_K, "q3_k", 256, 110, true},   {Q4_K, "q4_k", 256, 144, true},
    {Q5_K, "q5_k", 256, 176, true},    {Q6_K, "q6_k", 256, 210, true},   {Q8_K, "q8_k", 256, 292, false},
    {IQ1_S, "iq1_s", 256, 50, true},   {IQ1_M, "iq1_m", 256, 56, true},  {IQ2_XXS, "iq2_xxs", 256, 66, true},
    {IQ2_XS, "iq2_xs", 256, 74, true}, {IQ2_S, "iq2_s", 256, 82, true},  {IQ3_XXS, "iq3_xxs", 256, 98, true},
    {IQ3_S, "iq3_s", 256, 110, true},  {IQ4_NL, "iq4_nl", 32, 18, true}, {IQ4_XS, "iq4_xs", 256, 136, true},
    {TQ1_0, "tq1_0", 256, 54, true},   {TQ2_0, "tq2_0", 256, 66, true},  {MXFP4, "mxfp4", 32, 17, true},
    {NVFP4, "nvfp4", 64, 36, true},    {Q1_0, "q1_0", 128, 18, true},    {Q2_0, "q2_0", 64, 18, true},
    {I8, "i8", 1, 1, false},           {I16, "i16", 1, 2, false},        {I32, "i32", 1, 4, false},
    {I64, "i64", 1, 8, false},         {F64, "f64", 1, 8, false},        {RQ4, "rq4", 32, 18, false},
});
}  // namespace

std::span<const DTypeTraits> all_dtypes() { return kTypes; }

const DTypeTraits& traits(DType type) {
    for (const DTypeTraits& entry : kTypes)
        if (entry.type == type) return entry;
    check_failed("dtype without traits", std::source_location::current());
}

std::optional<DType> dtype_from_id(uint32_t ggml_id) {
    for (const DTypeTraits& entry : kTypes)
        if (static_cast<uint32_t>(entry.type) == ggml_id && entry.type != RQ4) return entry.type;
    return std::nullopt;
}

std::optional<DType> dtype_from_name(std::string_view name) {
    for (const DTypeTraits& entry : kTypes)
        if (entry.name == name) return entry.type;
    return std::nullopt;
}

}  // namespace riftjit
