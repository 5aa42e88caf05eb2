#include "jit/x86/emit/x86_kernel.h"

#include <array>

#include "host/result.h"
#include "jit/kernel_spec.h"

namespace riftjit::x86 {

MachineCode X86Emitter::finish() {
    generate();
    const auto instruction_bytes = static_cast<uint32_t>(getSize());
    if (!pool_.bytes().empty()) {
        align(64, /*useMultiByteNop=*/false);
        L(pool_label_);
        for (std::byte value : pool_.bytes()) db(static_cast<uint8_t>(value));
    }
    ready(Xbyak::CodeArray::PROTECT_RW);  // resolves labels; execution happens elsewhere
    MachineCode code;
    code.instruction_bytes = instruction_bytes;
    const auto* begin = reinterpret_cast<const std::byte*>(getCode());
    code.bytes.assign(begin, begin + getSize());
    return code;
}

Xbyak::Address X86Emitter::constant_bytes(const void* bytes, size_t size, size_t alignment) {
    return ptr[rip + pool_label_ + pool_.offset_of({static_cast<const std::byte*>(bytes), size}, alignment)];
}

Xbyak::Address X86Emitter::splat_u32(uint32_t value) {
    std::array<uint32_t, 8> lanes;
    lanes.fill(value);
    if (!has_avx512(isa_)) return constant_bytes(lanes.data(), sizeof lanes, sizeof lanes);
    return ptr_b[rip + pool_label_ + pool_.offset_of(std::as_bytes(std::span(lanes).first(1)), sizeof value)];
}

void X86Emitter::prologue(std::initializer_list<Reg64> saved, uint32_t stack_bytes) {
    check(!has_frame_, "one prologue per kernel");
    has_frame_ = true;
    saved_ = saved;
    stack_bytes_ = static_cast<uint32_t>(round_up(stack_bytes, 64));
    for (const Reg64& reg : saved_) push(reg);
    if (stack_bytes_ != 0) {  // rbp keeps the old stack pointer
        push(rbp);
        mov(rbp, rsp);
        sub(rsp, stack_bytes_);
        and_(rsp, -64);
    }
}

void X86Emitter::epilogue() {
    vzeroupper();
    if (stack_bytes_ != 0) {
        mov(rsp, rbp);
        pop(rbp);
    }
    for (auto reg = saved_.rbegin(); reg != saved_.rend(); ++reg) pop(*reg);
    ret();
}

void X86Emitter::for_count(const Reg64& counter, uint64_t count, uint64_t step, const std::function<void()>& body) {
    if (count == 0) return;
    check(count * step <= INT32_MAX, "a loop's bound fits the immediate of cmp");
    xor_(counter.cvt32(), counter.cvt32());
    if (count == 1) return body();
    Label again;
    L(again);
    body();
    add(counter, static_cast<uint32_t>(step));
    cmp(counter, static_cast<uint32_t>(count * step));
    jb(again);
}

void X86Emitter::for_units(const Reg32& unit, const Xbyak::Operand& end, const std::function<void()>& body) {
    Label again, done;
    cmp(unit, end);
    jae(done);
    L(again);
    body();
    inc(unit);
    cmp(unit, end);
    jb(again);
    L(done);
}

void X86Emitter::fold_lanes(const Xmm& out, const Xmm& value_low, const Xmm& value_high, const Xmm& scratch,
                            const Combine& op) {
    const Ymm low(value_low.getIdx()), folded(out.getIdx()), spare(scratch.getIdx());
    const Xmm low4(out.getIdx()), spare4(scratch.getIdx());
    if (has_avx512(isa_)) {
        vextractf32x8(spare, Zmm(value_low.getIdx()), 1);
        op(folded, low, spare);
    } else {
        op(folded, low, Ymm(value_high.getIdx()));
    }
    vextractf128(spare4, folded, 1);
    op(low4, low4, spare4);
    vpermilps(spare4, low4, 0b01'00'11'10);
    op(low4, low4, spare4);
    vpermilps(spare4, low4, 0b10'11'00'01);
    op(low4, low4, spare4);
}

}  // namespace riftjit::x86
