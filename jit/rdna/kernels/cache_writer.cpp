#include "jit/rdna/kernels/cache_writer.h"

#include <bit>
#include <cstddef>

#include "jit/rdna/kernels/numerics.h"

namespace riftjit::rdna::kernels {

namespace {
constexpr float kLargestCode = 127.0f, kSmallestCode = -128.0f;
}  // namespace

CachePlace locate_cache_row(KernelAssembler& k, Sgpr batch, Sgpr row) {
    const CachePlace place = {k.sgpr(), k.sgpr()};
    const Sgpr rows = k.sgpr(2), pages = k.sgpr(2), pages_per_sequence = k.sgpr(), found = k.sgpr(2);
    k.s_load_b64(rows, batch, offsetof(BatchState, row));
    k.s_load_b64(pages, batch, offsetof(BatchState, pages));
    k.s_load_b32(pages_per_sequence, batch, offsetof(BatchState, pages_per_sequence));
    k.s_advance(rows, row, sizeof(BatchRow));
    static_assert(offsetof(BatchRow, sequence) == 0 && offsetof(BatchRow, position) == 4);
    k.s_load_b64(found, rows, 0);
    k.s_mul_i32(place.page, found[0], pages_per_sequence);
    k.s_lshr_b32(place.position, found[1], std::countr_zero(kKvPage));
    k.s_add_co_u32(place.page, place.page, place.position);
    k.s_advance(pages, place.page, sizeof(uint32_t));
    k.s_load_b32(place.page, pages, 0);
    k.s_and_b32(place.position, found[1], kKvPage - 1);
    return place;
}

Q8Scale q8_scale(KernelAssembler& k, Vgpr largest) {
    const Q8Scale scale = {k.vgpr(), k.vgpr()};
    const Vgpr quotient = k.vgpr(), seen = k.vgpr();
    emit_divide(k, quotient, largest, kLargestCode);
    k.v_cvt_f16_f32(scale.half, quotient);
    k.v_cvt_f32_f16(seen, scale.half);  // the scale that readers will see
    emit_divide(k, scale.inverse, 1.0f, seen);
    k.v_cmp_neq_f32(k.vcc(), 0, seen);
    k.v_cndmask_b32(scale.inverse, 0, scale.inverse, k.vcc());
    return scale;
}

void q8_code(KernelAssembler& k, Vgpr code, Vgpr x, Vgpr inverse) {
    k.v_mul_f32(code, x, inverse);
    k.v_cmp_u_f32(k.vcc(), code, code);
    k.v_rndne_f32(code, code);
    k.v_max_num_f32(code, kSmallestCode, code);
    k.v_min_num_f32(code, kLargestCode, code);
    k.v_cvt_i32_f32(code, code);
    const Vgpr smallest = k.vgpr();
    k.v_mov_b32(smallest, int(kSmallestCode));
    k.v_cndmask_b32(code, code, smallest, k.vcc());
}

void pack_bytes(KernelAssembler& k, Vgpr word, std::span<const Vgpr> codes) {
    check(codes.size() == 4, "four bytes in a word");
    for (unsigned i = 0; i < 3; ++i) k.v_and_b32(codes[i], 0xff, codes[i]);
    k.v_lshl_or_b32(word, codes[3], 8, codes[2]);
    k.v_lshl_or_b32(word, word, 8, codes[1]);
    k.v_lshl_or_b32(word, word, 8, codes[0]);
}

}  // namespace riftjit::rdna::kernels
