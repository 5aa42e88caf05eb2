#include "jit/rdna/kernels/float_product.h"

namespace riftjit::rdna::kernels {

std::vector<Vgpr> FloatProduct::load(Sgpr address, uint32_t count) {
    constexpr uint32_t kReach = 2048;  // of offsets in instructions, on every chip
    const CachePolicy once = k_.streaming_load_policy();
    std::vector<Vgpr> chunks;
    for (uint32_t first = 0; first < count; first += chunk_elements()) {
        const uint32_t offset = uint32_t(chunks.size()) * kPanelRows * kFloatChunkBytes;
        chunks.push_back(k_.vgpr(4));
        if (offset < kReach) {
            k_.global_load_b128(chunks.back(), offset_, address, offset, once);
            continue;
        }
        const Sgpr near = k_.sgpr(2);
        k_.s_add_u64(near, address, offset);
        k_.global_load_b128(chunks.back(), offset_, near, once);
    }
    return chunks;
}

void FloatProduct::multiply_add(Vgpr sum, const std::vector<Vgpr>& loaded, uint32_t index, const Argument& x) {
    const Vgpr chunk = loaded[index / chunk_elements()];
    const uint32_t element = index % chunk_elements();
    if (weight_ == DType::F32) return k_.v_fma_f32(sum, chunk[element], x, sum);
    const Vgpr pair = chunk[element / 2], weight = k_.vgpr();
    const bool is_odd = element % 2 == 1;
    if (weight_ == DType::BF16) {
        is_odd ? k_.v_and_b32(weight, 0xffff'0000, pair) : k_.v_lshlrev_b32(weight, 16, pair);
    } else if (is_odd) {
        k_.v_lshrrev_b32(weight, 16, pair);
        k_.v_cvt_f32_f16(weight, weight);
    } else {
        k_.v_cvt_f32_f16(weight, pair);
    }
    k_.v_fma_f32(sum, weight, x, sum);
}

}  // namespace riftjit::rdna::kernels
