#include "jit/x86/ops/row_writer.h"

#include "host/result.h"

namespace riftjit::x86 {

namespace {
constexpr uint32_t kBlockBytes = kI16Block * sizeof(float);
constexpr uint32_t kSums16BytesPerBlock = kI16Block / 16 * sizeof(int32_t);
}  // namespace

void RowWriter::write_row(RowFormat format, uint32_t width, const Produce& produce) {
    switch (format) {
        case RowFormat::f32:
            return write_f32(width, produce);
        case RowFormat::bf16:
            return write_bf16(width, produce);
        case RowFormat::i16:
        case RowFormat::i16_bf16:
        case RowFormat::i16_bytes:
            return write_i16(format, width, produce);
        case RowFormat::i8:
            return write_i8(width, produce);
    }
}

void RowWriter::write_f32(uint32_t width, const Produce& produce) {
    for_each_group(offset, width, 2, [&](int group, uint32_t count) {
        produce(offset + 64 * group, count);
        vmovups(lanes_at(row_out + offset + 64 * group), value);
    });
}

// bf16 rows are padded with zeros to 32 elements: the last group of 16 may have no element of the row.
void RowWriter::write_bf16(uint32_t width, const Produce& produce) {
    const auto half_offset = [&](int group) { return row_out + offset + 32 * group; };
    const uint32_t groups = static_cast<uint32_t>(round_up(width, 32)) / kWideLanes;
    const uint32_t full = width / kWideLanes;
    for_count(offset, full, 32, [&] {
        produce(offset * 2, kWideLanes);
        round_to_bf16(codes, value, spare, unordered);
        vmovdqu(ptr[half_offset(0)], codes);
    });
    mov(offset.cvt32(), full * 32);
    for (uint32_t group = full; group < groups; ++group) {
        const int ahead = static_cast<int>(group - full);
        const uint32_t count = width > group * kWideLanes ? width - group * kWideLanes : 0;
        if (count == 0) {
            vpxor(codes, codes, codes);
        } else {
            produce(offset * 2 + 64 * ahead, count);
            clear_lanes_from(value, count);
            round_to_bf16(codes, value, spare, unordered);
        }
        vmovdqu(ptr[half_offset(ahead)], codes);
    }
}

void RowWriter::write_i16(RowFormat format, uint32_t width, const Produce& produce) {
    row_ = I16Row{width, format};
    check(format == RowFormat::i16 || isa_ >= Isa::amx_int8, "what tiles read is written where they are");
    vxorps(value, value, value);
    for (uint32_t scales = 0; scales < round_up(row_.blocks(), kWideLanes); scales += kWideLanes)
        vmovups(lanes_at(row_out + row_.scales_offset_bytes() + scales * sizeof(float)), value);
    xor_(source.cvt32(), source.cvt32());
    xor_(sums16.cvt32(), sums16.cvt32());
    mov(pending, rsp);
    const auto write_block = [&](uint32_t elements) {
        collect_block(elements, produce);
        scale_from_largest(kI16Max);
        store_block_scale();
        for (uint32_t part = 0; part < kI16Block / 64; ++part) quantize_64(part);
        if (format == RowFormat::i16_bytes) store_sum_digits();
    };
    if (const uint32_t full = width / kI16Block; full != 0) {
        Label again;
        L(again);
        write_block(kI16Block);
        sub(pending, kBlockBytes);
        add(sums16, kSums16BytesPerBlock);
        cmp(sums16, full * kSums16BytesPerBlock);
        jb(again);
    }
    if (width % kI16Block != 0) write_block(width % kI16Block);
}

// Leaves the block's values in memory, zeros beyond the row's end, and their largest magnitude per lane in `largest`.
void RowWriter::collect_block(uint32_t elements, const Produce& produce) {
    constexpr uint32_t kRound = 4;  // groups between two branches
    constexpr uint32_t kRoundBytes = kRound * kWideLanes * sizeof(float);
    vxorps(largest, largest, largest);
    const uint32_t rounds = elements / (kRound * kWideLanes);
    if (rounds != 0) {
        Label again;
        L(again);
        for (uint32_t group = 0; group < kRound; ++group) collect_group(group, kWideLanes, produce);
        add(source, kRoundBytes);
        mov(index.cvt32(), source.cvt32());
        and_(index.cvt32(), kBlockBytes - 1);
        cmp(index.cvt32(), rounds * kRoundBytes % kBlockBytes);
        jne(again);
    }
    const uint32_t first = rounds * kRound * kWideLanes;
    uint32_t group = 0;
    for (; first + group * kWideLanes < elements; ++group)
        collect_group(group, std::min(kWideLanes, elements - first - group * kWideLanes), produce);
    if (first + group * kWideLanes == kI16Block) return;
    vxorps(value, value, value);
    for (; first + group * kWideLanes < kI16Block; ++group) vmovups(lanes_at(pending + source + 64 * group), value);
}

void RowWriter::collect_group(uint32_t group, uint32_t count, const Produce& produce) {
    const int ahead = static_cast<int>(64 * group);
    produce(source + ahead, count);
    clear_lanes_from(value, count);
    vmovups(lanes_at(pending + source + ahead), value);
    vandps(value, value, splat_u32(0x7fff'ffff));
    vpmaxsd(largest, largest, value);
}

// Both are 0 below kI16Smallest, whose inverse would overflow; with infinity or NaN the scale is too, and so is
// everything computed from the row.
void RowWriter::scale_from_largest(int most) {
    const Xmm magnitude = xmm_of(largest);
    fold(magnitude, largest, xmm_of(spare),
         [this](const Xmm& out, const Xmm& left, const Xmm& right) { vpmaxsd(out, left, right); });
    vcmpltss(is_tiny, magnitude, constant(kI16Smallest));
    vmovss(xmm_of(value), constant(float(most)));
    vdivss(xmm_of(spare), magnitude, xmm_of(value));
    vdivss(inverse, xmm_of(value), magnitude);
    vandnps(xmm_of(spare), is_tiny, xmm_of(spare));
    vandnps(inverse, is_tiny, inverse);
    vbroadcastss(largest, inverse);
}

void RowWriter::store_block_scale() {
    mov(index, sums16);
    shr(index, 4);  // 4 bytes per block
    vmovss(ptr[row_out + index + row_.scales_offset_bytes()], xmm_of(spare));
    shl(index, 3);  // 32 bytes per block, for quantize_64
}

void RowWriter::quantize_16(const Xbyak::RegExp& from) {
    vmulps(value, largest, lanes_at(from));
    vcvtps2dq(value, value);
    if (has_avx512(isa_)) return vpmovsdw(codes, Zmm(value.index()));
    vpackssdw(codes, ymm_of(value), Ymm(value.high.getIdx()));
    vpermq(codes, codes, 0b11'01'10'00);  // VPACKSSDW works within 128 bits
}

// Codes and sums of the block's elements 64 * part .. 64 * part + 63.
void RowWriter::quantize_64(uint32_t part) {
    const Ymm sums[4] = {sum_low, sum_high, sum_high, codes};
    const std::vector<int16_t> ones(kWideLanes, 1);
    for (uint32_t group = 0; group < 4; ++group) {
        const uint32_t element = 64 * part + kWideLanes * group;
        quantize_16(rsp + element * sizeof(float));
        vmovdqu(ptr[row_out + sums16 * 8 + element * sizeof(int16_t)], codes);
        if (row_.format == RowFormat::i16_bf16) store_bf16_digits(element);
        has_avx512(isa_) ? store_byte_digits(element) : store_byte_digits_avx2(element);
        vpmaddwd(sums[group], codes, constant_bytes(ones.data(), sizeof(int16_t) * kWideLanes, 32));
        if (group == 1) vphaddd(sum_low, sum_low, sum_high);
    }
    vphaddd(sum_high, sum_high, codes);
    vphaddd(sum_low, sum_low, sum_high);  // per 128 bits: half of each of the four sums
    vextracti128(Xmm(sum_high.getIdx()), sum_low, 1);
    vpaddd(Xmm(sum_low.getIdx()), Xmm(sum_low.getIdx()), Xmm(sum_high.getIdx()));
    vmovdqu(ptr[row_out + sums16 + row_.sums16_offset_bytes() + 16 * part], Xmm(sum_low.getIdx()));
    vphaddd(Xmm(sum_low.getIdx()), Xmm(sum_low.getIdx()), Xmm(sum_low.getIdx()));
    vmovq(ptr[row_out + index + row_.sums32_offset_bytes() + 8 * part], Xmm(sum_low.getIdx()));
}

// The row's end is padded with zeros to 32 elements.
void RowWriter::write_i8(uint32_t width, const Produce& produce) {
    const I8Row row{width};
    xor_(source.cvt32(), source.cvt32());
    if (const uint32_t full = width / kI8Block; full != 0) {
        Label again;
        L(again);
        write_i8_group(row, kI8Block, produce);
        add(source, kI8Block * sizeof(float));
        cmp(source, full * static_cast<uint32_t>(kI8Block * sizeof(float)));
        jb(again);
    }
    if (width % kI8Block != 0) write_i8_group(row, width % kI8Block, produce);
}

void RowWriter::write_i8_group(const I8Row& row, uint32_t elements, const Produce& produce) {
    for (uint32_t first = 0; first < kI8Block; first += kWideLanes) {
        if (first < elements) {
            const uint32_t count = std::min(kWideLanes, elements - first);
            produce(source + first * sizeof(float), count);
            clear_lanes_from(value, count);
        } else {
            vxorps(value, value, value);
        }
        vmovups(lanes_at(rsp + first * sizeof(float)), value);
        vandps(value, value, splat_u32(0x7fff'ffff));
        first == 0 ? vmovaps(largest, value) : vpmaxsd(largest, largest, value);
    }
    scale_from_largest(kI8Max);
    mov(index.cvt32(), source.cvt32());
    shr(index.cvt32(), 5);  // 4 bytes per 32 elements

    const auto array = [&](I8Row::Array which, uint32_t group, int times) {
        return ptr[row_out + index * times + row.array_offset_bytes(which, group)];
    };
    const Ymm first_codes = sum_low, sums = sum_high;
    const auto in_xmm = [](const Ymm& ymm) { return Xmm(ymm.getIdx()); };
    const std::vector<int16_t> ones(kWideLanes, 1);
    const Address word_ones = constant_bytes(ones.data(), sizeof(int16_t) * kWideLanes, 32);
    vmovss(array(I8Row::Array::scales, 32, 1), xmm_of(spare));
    for (int half = 0; half < 2; ++half)
        vmovss(ptr[row_out + index * 2 + row.array_offset_bytes(I8Row::Array::scales, 16) + half * 4], xmm_of(spare));
    quantize_16(rsp);
    vmovdqa(first_codes, codes);
    quantize_16(rsp + kWideLanes * sizeof(float));
    vpmaddwd(sums, first_codes, word_ones);
    vpacksswb(first_codes, first_codes, codes);
    vpmaddwd(codes, codes, word_ones);
    vphaddd(sums, sums, codes);
    vextracti128(in_xmm(codes), sums, 1);
    vpaddd(in_xmm(sums), in_xmm(sums), in_xmm(codes));
    vpermq(first_codes, first_codes, 0b11'01'10'00);  // VPACKSSWB works within 128 bits
    vpshufb(first_codes, first_codes, order_of_quads(1));
    vmovdqu(ptr[row_out + index * 8 + row.codes_offset_bytes()], first_codes);
    for (const auto& [group, times] : {std::pair{16u, 2}, {32u, 1}}) {
        const auto store = [&](I8Row::Array which, const Xmm& value_of_group) {
            group == 16 ? vmovq(array(which, group, times), value_of_group)
                        : vmovd(array(which, group, times), value_of_group);
        };
        vphaddd(in_xmm(sums), in_xmm(sums), in_xmm(sums));  // of 16; then of 32
        vpslld(in_xmm(codes), in_xmm(sums), 7);
        vpxor(in_xmm(first_codes), in_xmm(first_codes), in_xmm(first_codes));
        vpsubd(in_xmm(codes), in_xmm(first_codes), in_xmm(codes));
        store(I8Row::Array::offsets, in_xmm(codes));
        vcvtdq2ps(in_xmm(codes), in_xmm(sums));
        vbroadcastss(in_xmm(first_codes), array(I8Row::Array::scales, 32, 1));
        vmulps(in_xmm(codes), in_xmm(codes), in_xmm(first_codes));
        store(I8Row::Array::sums, in_xmm(codes));
    }
}

// Of 16 elements from `element` of the block on, whose codes are the words of `codes`. Both digits have at most seven
// bits, and a bf16 eight.
void RowWriter::store_bf16_digits(uint32_t element) {
    const Zmm low(28), high(29), code(30);
    vpmovsxwd(code, codes);
    vpslld(low, code, 25);
    vpsrad(low, low, 25);
    vpsubd(high, code, low);
    const uint32_t within = element % 64 / 32 * 128 + element % 32 * 2;
    for (const auto& [digit, offset] : {std::pair{high, within}, {low, within + 64}}) {
        vcvtdq2ps(digit, digit);
        vmulps(digit, digit, splat(I16Row::kBf16DigitScale));
        vcvtneps2bf16(Ymm(digit.getIdx()), digit);
        vmovups(ptr[row_out + index * 8 + row_.quarter_offset_bytes(element / 64) + offset], Ymm(digit.getIdx()));
    }
}

// What VPSHUFB brings elements into quads by.
Address RowWriter::order_of_quads(uint32_t element_bytes) {
    std::array<uint8_t, 32> order;
    for (uint32_t i = 0; i < order.size(); ++i) {
        const uint32_t element = i % 16 / element_bytes, of_quad = element % 4;
        const uint32_t from = element - of_quad + (of_quad == 1 ? 2 : of_quad == 2 ? 1 : of_quad);
        order[i] = static_cast<uint8_t>(from * element_bytes + i % element_bytes);
    }
    return constant_bytes(order.data(), order.size(), 32);
}

void RowWriter::store_byte_digits(uint32_t element) {
    const Ymm low(28), high(29), sum(30), in_quads = sum;
    const auto store = [&](I16Row::Digit digit, const Ymm& words) { vpmovwb(byte_digits(digit, element), words); };
    vpshufb(in_quads, codes, order_of_quads(2));
    vpsllw(low, in_quads, 9);
    vpsraw(low, low, 9);
    vpsubw(high, in_quads, low);
    vpsraw(high, high, 7);
    store(I16Row::Digit::low, low);
    store(I16Row::Digit::high, high);
    if (row_.format != RowFormat::i16_bytes) return;
    vpaddw(sum, high, low);
    store(I16Row::Digit::sum, sum);
}

// The codes are stored already, and taken from there again.
void RowWriter::store_byte_digits_avx2(uint32_t element) {
    const Ymm high = codes, low(value.high.getIdx());
    vpshufb(high, codes, order_of_quads(2));
    vpsllw(low, high, 9);
    vpsraw(low, low, 9);
    vpsubw(high, high, low);
    vpsraw(high, high, 7);
    vpacksswb(low, low, high);
    vpermq(low, low, 0b11'01'10'00);  // VPACKSSWB works within 128 bits
    vmovdqu(byte_digits(I16Row::Digit::low, element), Xmm(low.getIdx()));
    vextracti128(byte_digits(I16Row::Digit::high, element), low, 1);
    vmovdqu(codes, ptr[row_out + sums16 * 8 + element * sizeof(int16_t)]);
}

// Of the block's sums, which are stored.
void RowWriter::store_sum_digits() {
    const auto store_digits = [&](uint32_t elements_per_sum, const Address& sums, int bytes) {
        const Zmm low(28), high(29), rounded(30), zero(31);
        const auto line = [&](int offset) {
            return ptr[row_out + sums16 + row_.sum_digits_offset_bytes(elements_per_sum) + offset];
        };
        vmovdqu32(low, sums);  // eight sums of 32, and eight lanes that are not stored
        vpaddd(rounded, low, splat_u32(256));
        vpsrad(high, rounded, 9);
        vpslld(rounded, high, 9);
        vpsubd(low, low, rounded);
        vpxord(zero, zero, zero);
        if (bytes < 32) vmovups(line(0), zero);
        for (const auto& [digit, offset] : {std::pair{low, 0}, {high, bytes}}) {
            vcvtdq2ps(digit, digit);
            vcvtneps2bf16(Ymm(digit.getIdx()), digit);
            if (bytes == 32)
                vmovups(line(offset), Ymm(digit.getIdx()));
            else
                vmovups(line(offset), Xmm(digit.getIdx()));
        }
    };
    store_digits(32, ptr[row_out + index + row_.sums32_offset_bytes()], 16);
    store_digits(16, ptr[row_out + sums16 + row_.sums16_offset_bytes()], 32);
}

}  // namespace riftjit::x86
