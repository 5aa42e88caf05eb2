#include "jit/x86/columns/column_fired.h"

#include <array>
#include <cstddef>

#include "jit/columns/column_program.h"

namespace riftjit::x86 {

using Gp = ColumnCompiler::Gp;
using Vec = ColumnCompiler::Vec;

namespace {

constexpr std::array<uint32_t, 16> kIota = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

// For each set of four lanes: the bytes that bring its dwords to the front.
using ByteOrder = std::array<uint8_t, 16>;
constexpr std::array<ByteOrder, 16> kCompress = [] {
    std::array<ByteOrder, 16> orders{};
    for (size_t set = 0; set < orders.size(); ++set)
        for (size_t lane = 0, byte = 0; lane < 4; ++lane)
            if (set >> lane & 1)
                for (size_t i = 0; i < 4; ++i) orders[set][byte++] = uint8_t(4 * lane + i);
    return orders;
}();

}  // namespace

void ColumnFired::begin(const Gp& args) {
    list_ = cc_.newUIntPtr();
    count_ = cc_.newUInt64();
    cc_.mov(list_, asmjit::x86::qword_ptr(args, int(offsetof(ColumnProgramArgs, fired))));
    cc_.xor_(count_.r32(), count_.r32());
}

void ColumnFired::finish(const Gp& args) {
    cc_.mov(asmjit::x86::dword_ptr(args, int(offsetof(ColumnProgramArgs, fired_count))), count_.r32());
}

void ColumnFired::append(const Gp& args, const Gp& element, const Gp& bits, int lanes) {
    const asmjit::Label none = cc_.newLabel();
    cc_.test(bits, bits);
    cc_.jz(none);
    drop_padding(args, element, bits, lanes);
    if (cc_.is_avx512()) {
        append_compressed(element, bits, lanes);
    } else {
        for (int first = 0; first < lanes; first += 4) append_four(element, bits, first);
    }
    cc_.bind(none);
}

// Keeps the lowest min(elements - element, lanes) bits.
void ColumnFired::drop_padding(const Gp& args, const Gp& element, const Gp& bits, int lanes) {
    const Gp left = cc_.newUInt32(), all = cc_.newUInt32();
    cc_.mov(left, asmjit::x86::dword_ptr(args, int(offsetof(ColumnProgramArgs, elements))));
    cc_.sub(left, element.r32());
    cc_.mov(all, lanes);
    cc_.cmp(left, all);
    cc_.cmova(left, all);
    cc_.bzhi(bits, bits, left);
}

void ColumnFired::append_compressed(const Gp& element, const Gp& bits, int lanes) {
    const Vec elements = lanes == 8 ? cc_.new_half() : cc_.new_vector();
    const ColumnCompiler::Mask mask = cc_.new_mask();
    cc_.vpbroadcastd(elements, element.r32());
    cc_.vpaddd(elements, elements, cc_.table(kIota.data(), size_t(lanes) * 4));
    cc_.kmovd(mask.bits, bits);
    cc_.k(mask.bits).z().vpcompressd(elements, elements);  // to a register: to memory it is microcode on Zen 4
    cc_.vmovups(end_of_list(), elements);
    add_count_of(bits);
}

void ColumnFired::append_four(const Gp& element, const Gp& bits, int first_lane) {
    const Vec elements = cc_.newXmm();
    const Gp first = cc_.newUInt32(), set = cc_.newUInt64(), orders = cc_.newUIntPtr();
    cc_.lea(first, asmjit::x86::ptr(element, first_lane));
    cc_.vmovd(elements.xmm(), first);
    cc_.vpbroadcastd(elements, elements.xmm());
    cc_.vpaddd(elements, elements, cc_.table(kIota.data(), 16));
    cc_.mov(set.r32(), bits);
    if (first_lane != 0) cc_.shr(set.r32(), first_lane);
    cc_.and_(set.r32(), 15);
    const Gp counted = cc_.newUInt32();
    cc_.mov(counted, set.r32());
    cc_.shl(set.r32(), 4);
    cc_.lea(orders, cc_.table(kCompress.data(), sizeof kCompress));
    cc_.vpshufb(elements, elements, asmjit::x86::ptr(orders, set));
    cc_.vmovdqu(end_of_list(), elements);
    add_count_of(counted);
}

void ColumnFired::add_count_of(const Gp& bits) {
    const Gp added = cc_.newUInt64();
    cc_.popcnt(added.r32(), bits);
    cc_.add(count_, added);
}

}  // namespace riftjit::x86
