#include "jit/x86/ops/run_walk.h"

#include <bit>
#include <cstddef>

namespace riftjit::x86 {

void RunWalk::locate_run(const RunPlace& place, const Reg32& unit, const Reg64& batch, uint32_t blocks) {
    static_assert(std::has_single_bit(sizeof(BatchTile)));
    const auto& [first_row, sequence, rows, block] = place;
    mov(eax, unit);
    xor_(edx, edx);
    mov(rows.cvt32(), blocks);
    div(rows.cvt32());
    mov(block.cvt32(), edx);
    shl(rax, std::countr_zero(sizeof(BatchTile)));
    add(rax, ptr[batch + offsetof(BatchState, run)]);
    mov(first_row.cvt32(), ptr[rax + offsetof(BatchTile, first_row)]);
    mov(sequence.cvt32(), ptr[rax + offsetof(BatchTile, sequence)]);
    mov(rows.cvt32(), ptr[rax + offsetof(BatchTile, rows)]);
}

void RunWalk::divide(const Reg64& out, const Reg64& value, uint32_t divisor, const Reg64* rest) {
    mov(eax, value.cvt32());
    xor_(edx, edx);
    mov(out.cvt32(), divisor);
    div(out.cvt32());
    mov(out.cvt32(), eax);
    if (rest != nullptr) mov(rest->cvt32(), edx);
}

}  // namespace riftjit::x86
