// Specs of every op that each back end is tested over: widths around the vector and block sizes, odd head sizes, every
// option. Expected values come from the tests' own references in double.
#pragma once

#include <vector>

#include "jit/kernel_spec.h"

namespace riftjit::kernel_cases {

// Around 16 lanes, around four vectors of them, around a block of 256, and a model's.
inline const std::vector<uint32_t> kWidths = {1, 2, 15, 16, 17, 40, 63, 64, 65, 255, 256, 257, 320, 576, 1000, 1024};
inline const std::vector<RowFormat> kRowFormats = {RowFormat::f32, RowFormat::i16, RowFormat::bf16};
inline const std::vector<DType> kCacheTypes = {DType::F16, DType::F32, DType::Q8_0};

inline std::vector<RmsNormSpec> rms_norm() {
    std::vector<RmsNormSpec> specs;
    for (uint32_t width : kWidths)
        for (RowFormat output : kRowFormats)
            for (Presence gain : {Presence::absent, Presence::present})
                for (Addend addend : {Addend::none, Addend::residual})
                    specs.push_back(
                        {width, 1e-6f, gain, addend, output, addend == Addend::none ? RowRange::last : RowRange::all});
    specs.push_back({128, 1e-5f, Presence::present, Addend::none, RowFormat::f32, RowRange::all});
    specs.push_back({128, 1e-5f, Presence::present, Addend::residual, RowFormat::i16, RowRange::last});
    return specs;
}

inline std::vector<QuantizeSpec> quantize() {
    std::vector<QuantizeSpec> specs;
    for (uint32_t width : kWidths)
        for (RowFormat output : {RowFormat::i16, RowFormat::bf16}) specs.push_back({width, output});
    return specs;
}

inline std::vector<SwigluSpec> swiglu() {
    std::vector<SwigluSpec> specs;
    for (uint32_t width : kWidths)
        for (RowFormat output : kRowFormats) specs.push_back({width, 2 * width + 3, output});
    return specs;
}

}  // namespace riftjit::kernel_cases
