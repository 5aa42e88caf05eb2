#include "jit/x86/columns/column_transfer.h"

#include <array>

namespace riftjit::x86 {

namespace {

using Cc = ColumnCompiler;
using Vec = Cc::Vec;
using Mem = Cc::Mem;

constexpr double kUnsignedBase = 0x1p52;  // below its last 52 bits stands any unsigned integer that is OR-ed in

// f64 lanes.
Vec load_doubles(Cc& cc, ColumnType type, const Mem& start) {
    const Vec out = cc.new_vector(), narrow = cc.new_half();
    switch (type) {
        case ColumnType::f64:
            cc.vmovupd(out, start);
            break;
        case ColumnType::f32:
            cc.vcvtps2pd(out, start);
            break;
        case ColumnType::u8:
            cc.vpmovzxbd(narrow, start);
            cc.vcvtdq2pd(out, narrow);
            break;
        case ColumnType::u16:
            cc.vpmovzxwd(narrow, start);
            cc.vcvtdq2pd(out, narrow);
            break;
        case ColumnType::u32:
            if (cc.is_avx512()) {
                cc.vcvtudq2pd(out, start);
            } else {
                cc.vpmovzxdq(out, start);
                return cc.subtract(cc.bit_or(out, cc.splat_f64(kUnsignedBase)), cc.splat_f64(kUnsignedBase));
            }
            break;
    }
    return out;
}

// The low dwords of the lanes of four-lane integers.
Vec low_dwords(Cc& cc, const Vec& qwords) {
    const Vec high = cc.newXmm(), out = cc.newXmm();
    cc.vextractf128(high, qwords, 1);
    cc.vshufps(out, qwords.xmm(), high, 0x88);
    return out;
}

// Eight or four f64 lanes as dwords.
Vec to_unsigned(Cc& cc, const Vec& numbers) {
    if (!cc.is_avx512()) return low_dwords(cc, cc.add(numbers, cc.splat_f64(kUnsignedBase)));
    const Vec out = cc.new_half();
    cc.vcvttpd2udq(out, numbers);
    return out;
}

// Eight (ymm) or four (xmm) dwords as words or bytes; the bits above those of the type are dropped.
void store_narrow(Cc& cc, ColumnType type, const Mem& start, const Vec& dwords) {
    const Vec out = cc.newXmm();
    if (cc.is_avx512()) {
        type == ColumnType::u16 ? cc.vpmovdw(out, dwords) : cc.vpmovdb(out, dwords);
        type == ColumnType::u16 ? cc.vmovdqu(start, out) : cc.vmovq(start, out.xmm());
        return;
    }
    constexpr std::array<uint8_t, 16> kLowBytes = {0, 4, 8, 12}, kLowWords = {0, 1, 4, 5, 8, 9, 12, 13};
    cc.vpshufb(out, dwords, cc.table(type == ColumnType::u16 ? kLowWords.data() : kLowBytes.data(), 16));
    type == ColumnType::u16 ? cc.vmovq(start, out.xmm()) : cc.vmovd(start, out.xmm());
}

void store_doubles(Cc& cc, ColumnType type, const Mem& start, const Vec& numbers) {
    const Vec half = cc.new_half();
    switch (type) {
        case ColumnType::f64:
            cc.vmovupd(start, numbers);
            break;
        case ColumnType::f32:
            cc.vcvtpd2ps(half, numbers);
            cc.vmovups(start, half);
            break;
        case ColumnType::u8:
        case ColumnType::u16:
            cc.vcvttpd2dq(half, numbers);
            store_narrow(cc, type, start, half);
            break;
        case ColumnType::u32:
            cc.vmovups(start, to_unsigned(cc, numbers));
            break;
    }
}

// The second half of the elements that `start` begins.
Mem second_half(const Cc& cc, ColumnType type, const Mem& start) {
    return start.cloneAdjusted(int64_t(cc.doubles()) * column_bytes(type));
}

// f32 lanes.
Vec load_floats(Cc& cc, ColumnType type, const Mem& start) {
    const Vec out = cc.new_vector();
    switch (type) {
        case ColumnType::f32:
            cc.vmovups(out, start);
            break;
        case ColumnType::u8:
            cc.vpmovzxbd(out, start);
            cc.vcvtdq2ps(out, out);
            break;
        case ColumnType::u16:
            cc.vpmovzxwd(out, start);
            cc.vcvtdq2ps(out, out);
            break;
        case ColumnType::f64:
        case ColumnType::u32:  // through f64, which rounds once
            return cc.join(load_doubles(cc, type, start), load_doubles(cc, type, second_half(cc, type, start)));
    }
    return out;
}

void store_floats(Cc& cc, ColumnType type, const Mem& start, const Vec& numbers) {
    if (type == ColumnType::f32) {
        cc.vmovups(start, numbers);
        return;
    }
    store_doubles(cc, type, start, cc.widen(numbers, 0));
    store_doubles(cc, type, second_half(cc, type, start), cc.widen(numbers, 1));
}

}  // namespace

Vec load_numbers(Cc& cc, Precision precision, ColumnType type, const Mem& start) {
    return precision == Precision::f64 ? load_doubles(cc, type, start) : load_floats(cc, type, start);
}

void store_numbers(Cc& cc, Precision precision, ColumnType type, const Mem& start, const Vec& numbers) {
    precision == Precision::f64 ? store_doubles(cc, type, start, numbers) : store_floats(cc, type, start, numbers);
}

}  // namespace riftjit::x86
