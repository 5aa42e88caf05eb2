#include "jit/x86/ops/attention_products.h"

namespace riftjit::x86 {

namespace {
constexpr uint32_t kScaleBlock = 32;  // head dims that share a Q8_0 scale
}

// The largest power of two of vectors that fits the registers.
AttentionProducts::Blocking AttentionProducts::largest_blocking(int rows, int max_vectors, int registers_per_vector,
                                                                int registers_beside) const {
    const int max_rows = has_avx512(isa_) ? 8 : registers_per_vector == 0 ? 6 : 4;
    const int block_rows = rows <= max_rows ? rows : has_avx512(isa_) ? 8 : 4;
    const auto registers = [&](int vectors) {
        return block_rows * vectors + operand_registers(block_rows, vectors) + registers_per_vector * vectors +
               registers_beside;
    };
    int vectors = max_vectors;
    while (vectors > 1 && registers(vectors) > vector_registers()) vectors /= 2;
    return {block_rows, vectors};
}

AttentionProducts::Blocking AttentionProducts::score_blocking(int rows) const {
    const Blocking blocking =
        largest_blocking(rows, int(kBlock) / lanes(), /*registers_per_vector=*/spec_.key_type == DType::Q8_0, 0);
    check(blocking.vectors >= halves(), "a block holds whole panels");
    return blocking;
}

AttentionProducts::Blocking AttentionProducts::output_blocking(int rows) const {
    return largest_blocking(rows, 8, 0, /*registers_beside=*/spec_.value_type == DType::Q8_0);
}

int AttentionProducts::score_steps(int rows) const {
    const Blocking blocking = score_blocking(rows);
    const int row_blocks = (rows + blocking.rows - 1) / blocking.rows;
    return row_blocks * int(kBlock) / (blocking.vectors * lanes()) * int(spec_.head_dim) / d_step();
}

int AttentionProducts::output_steps(int rows) const {
    const Blocking blocking = output_blocking(rows);
    const int row_blocks = (rows + blocking.rows - 1) / blocking.rows;
    return row_blocks * ((output_vectors() + blocking.vectors - 1) / blocking.vectors) * int(kBlock);
}

// accumulator(row, v) += vector v * factor of row. The smaller side of the block waits in registers.
void AttentionProducts::accumulate(const Blocking& blocking, const std::function<void(const Xmm&, int)>& load_vector,
                                   const std::function<Address(int)>& row_factor) {
    const auto [rows, vectors] = blocking;
    const int first = rows * vectors;
    const Xmm passing = vector(first + std::min(rows, vectors));
    const auto waiting = [&](int index) { return vector(first + index); };
    if (rows <= vectors) {
        for (int row = 0; row < rows; ++row) vbroadcastss(waiting(row), row_factor(row));
        for (int v = 0; v < vectors; ++v) {
            load_vector(passing, v);
            for (int row = 0; row < rows; ++row) vfmadd231ps(accumulator(blocking, row, v), passing, waiting(row));
        }
        return;
    }
    for (int v = 0; v < vectors; ++v) load_vector(waiting(v), v);
    for (int row = 0; row < rows; ++row) {
        vbroadcastss(passing, row_factor(row));
        for (int v = 0; v < vectors; ++v) vfmadd231ps(accumulator(blocking, row, v), waiting(v), passing);
    }
}

void AttentionProducts::prefetch(const Ahead& ahead) {
    if (ahead.lines == 0) return;
    for (int line = 0; line < ahead.lines; ++line) prefetcht1(ptr[ahead.next + line * kLineBytes]);
    add(ahead.next, ahead.lines * kLineBytes);
}

// ---- packed types ---------------------------------------------------------------------------------------------------

void AttentionProducts::load_decoder(const PackedCache& format) {
    std::array<uint8_t, 16> bytes;
    const auto load = [&](const Xmm& out) { vmovdqu(out, constant_bytes(bytes.data(), sizeof bytes, sizeof bytes)); };
    bytes.fill(15);
    load(low_bits);
    bytes.fill(16);
    load(fifth_bit);
    bytes.fill(uint8_t(format.zero()));
    if (format.table != nullptr) std::copy_n(format.table, 16, bytes.begin());
    load(entries);
}

// The low bits of 16 bytes' two elements.
void AttentionProducts::load_codes(const Xbyak::RegExp& codes) {
    vmovdqu(low_codes, ptr[codes]);
    vpsrlw(high_codes, low_codes, 4);
    vpand(high_codes, high_codes, low_bits);
    vpand(low_codes, low_codes, low_bits);
}

// 16 codes as values.
void AttentionProducts::finish_codes(const PackedCache& format, const Xmm& codes, const Xbyak::RegExp& target) {
    if (format.table != nullptr) vpshufb(codes, entries, codes);
    if (format.zero() != 0) vpsubb(codes, codes, entries);
    if (has_avx512(isa_)) {
        vpmovsxbd(Zmm(decoded.index()), codes);
    } else {
        vpmovsxbd(Ymm(decoded.low.getIdx()), codes);
        vpsrldq(codes, codes, 8);
        vpmovsxbd(Ymm(decoded.high.getIdx()), codes);
    }
    vcvtdq2ps(decoded, decoded);
    format.has_minimum ? vfmadd213ps(decoded, lane_scales, lane_minima) : vmulps(decoded, decoded, lane_scales);
    vmovups(lanes_at(target), decoded);
}

void AttentionProducts::decode_keys(const DecodeRegisters& r) {
    const PackedCache& format = *packed_keys;
    const auto field = [&](int byte) { return r.source + int(kPanel) * byte; };
    const auto load_halves = [&](const Wide& out, int byte) {
        for (int half = 0; half < halves(); ++half) vcvtph2ps(part(out, half), ptr[field(byte) + 16 * half]);
    };
    // Bit `bit` of a byte of fifth bits, where the codes have theirs. Words are shifted, and their other bits masked.
    const auto add_fifth_bit = [&](const Xmm& codes, const Xmm& bits, int bit) {
        bit < 4 ? vpsllw(shifted, bits, uint8_t(4 - bit)) : vpsrlw(shifted, bits, uint8_t(bit - 4));
        vpand(shifted, shifted, fifth_bit);
        vpor(codes, codes, shifted);
    };
    load_decoder(format);
    Label next;
    L(next);
    load_halves(lane_scales, 0);
    if (format.has_minimum) load_halves(lane_minima, format.minimum_at());
    for (int byte = 0; byte < format.codes_at() - format.high_bits_at(); ++byte)
        vmovdqu(fifth_bits(byte), ptr[field(format.high_bits_at() + byte)]);
    for (int pair = 0; pair < 16; ++pair) {
        load_codes(field(format.codes_at() + pair));
        if (format.bits == 5) {
            add_fifth_bit(low_codes, fifth_bits(pair / 8), pair % 8);
            add_fifth_bit(high_codes, fifth_bits(2 + pair / 8), pair % 8);
        }
        finish_codes(format, low_codes, r.target + pair * int(kPanel * sizeof(float)));
        finish_codes(format, high_codes, r.target + (16 + pair) * int(kPanel * sizeof(float)));
    }
    add(r.source, int(kPanel) * format.block_bytes());
    add(r.target, PackedCache::kElements * kPanel * uint32_t(sizeof(float)));
    dec(r.count);
    jnz(next, T_NEAR);
}

void AttentionProducts::decode_values(const DecodeRegisters& r) {
    const PackedCache& format = *packed_values;
    const Xmm bits = fifth_bits(0), bit_of_byte = fifth_bits(1);
    const auto load_half = [&](const Wide& out, int byte) {
        vpbroadcastw(Ymm(shifted.getIdx()), ptr[r.source + byte]);
        has_avx512(isa_) ? vcvtph2ps(Zmm(out.index()), Ymm(shifted.getIdx())) : vcvtph2ps(Ymm(out.index()), shifted);
        if (!has_avx512(isa_)) vmovaps(out.high, out.low);
    };
    // Those of 16 elements, from byte `first` of the four on.
    const auto add_fifth_bits = [&](const Xmm& codes, int first) {
        std::array<uint8_t, 16> source;
        for (int lane = 0; lane < 16; ++lane) source[lane] = uint8_t(first + lane / 8);
        vpshufb(shifted, bits, constant_bytes(source.data(), sizeof source, sizeof source));
        vpand(shifted, shifted, bit_of_byte);
        vpcmpeqb(shifted, shifted, bit_of_byte);
        vpand(shifted, shifted, fifth_bit);
        vpor(codes, codes, shifted);
    };
    load_decoder(format);
    if (format.bits == 5) {
        std::array<uint8_t, 16> single;
        for (int lane = 0; lane < 16; ++lane) single[lane] = uint8_t(1 << lane % 8);
        vmovdqu(bit_of_byte, constant_bytes(single.data(), sizeof single, sizeof single));
    }
    Label next;
    L(next);
    load_half(lane_scales, 0);
    if (format.has_minimum) load_half(lane_minima, format.minimum_at());
    load_codes(r.source + format.codes_at());
    if (format.bits == 5) {
        vmovd(bits, ptr[r.source + format.high_bits_at()]);
        add_fifth_bits(low_codes, 0);
        add_fifth_bits(high_codes, 2);
    }
    finish_codes(format, low_codes, r.target);
    finish_codes(format, high_codes, r.target + 64);
    add(r.source, format.block_bytes());
    add(r.target, PackedCache::kElements * uint32_t(sizeof(float)));
    dec(r.count);
    jnz(next);
}

// ---- keys -----------------------------------------------------------------------------------------------------------

// Key d (ahead of the pointers) at the positions of one vector. Q8_0 scales wait in the last registers of the block.
void AttentionProducts::load_key(const Blocking& blocking, const KeyRegisters& r, const Xmm& out, int vector_index,
                                 int d) {
    const int bytes = static_cast<int>(cache_code_bytes(key_operand));
    const int offset =
        vector_index / halves() * operand_panel_bytes() + bytes * (d * int(kPanel) + vector_index % halves() * lanes());
    switch (key_operand) {
        case DType::F32:
            return vmovups(out, ptr[r.panels + offset]);
        case DType::F16:
        case DType::BF16:
            return widen_halves(key_operand, out, ptr[r.panels + offset]);
        default:
            break;
    }
    const auto [rows, vectors] = blocking;
    vpmovsxbd(out, ptr[r.panels + offset]);
    vcvtdq2ps(out, out);
    vmulps(out, out, vector(rows * vectors + operand_registers(rows, vectors) + vector_index));
}

void AttentionProducts::multiply_keys(const Blocking& blocking, const KeyRegisters& r, const Ahead& ahead) {
    const auto [rows, vectors] = blocking;
    const bool is_scaled = spec_.key_type == DType::Q8_0;
    const int step = d_step();
    const uint32_t d_bytes = kPanel * cache_code_bytes(key_operand);
    for (int i = 0; i < rows * vectors; ++i) vxorps(vector(i), vector(i), vector(i));
    xor_(r.counter.cvt32(), r.counter.cvt32());
    if (is_scaled) mov(r.scales.cvt32(), spec_.head_dim * kPanel);  // from the codes that `panels` points to
    Label next_scales, next_d;
    L(next_scales);
    if (is_scaled) {
        for (int v = 0; v < vectors; ++v)
            vcvtph2ps(vector(rows * vectors + operand_registers(rows, vectors) + v),
                      ptr[r.panels + r.scales + v / halves() * operand_panel_bytes() + v % halves() * lanes() * 2]);
        sub(r.scales, kScaleBlock * d_bytes - kPanel * 2);  // codes advance faster than scales
    }
    L(next_d);
    for (int d = 0; d < step; ++d)
        accumulate(
            blocking, [&](const Xmm& out, int v) { load_key(blocking, r, out, v, d); },
            [&](int row) { return ptr[r.query + row * int(query_row_bytes()) + d * int(sizeof(float))]; });
    prefetch(ahead);
    add(r.query, step * sizeof(float));
    add(r.panels, step * d_bytes);
    add(r.counter.cvt32(), step);
    if (is_scaled) {
        test(r.counter.cvt32(), kScaleBlock - 1);
        jnz(next_d);
    }
    cmp(r.counter.cvt32(), spec_.head_dim);
    jb(next_scales);
    sub(r.query, query_row_bytes());
    sub(r.panels, spec_.head_dim * d_bytes);
    for (int row = 0; row < rows; ++row)
        for (int v = 0; v < vectors; ++v)
            vmovups(ptr[r.scores + row * int(score_row_bytes()) + v * vector_bytes()], accumulator(blocking, row, v));
}

// ---- values ---------------------------------------------------------------------------------------------------------

void AttentionProducts::set_partial_mask() {
    if (has_avx512(isa_) && spec_.head_dim % kPanel != 0) kmovw(k6, constant_u32((1u << spec_.head_dim % kPanel) - 1));
}

void AttentionProducts::load_partial_floats(const Xmm& out, const Xbyak::RegExp& start, int count) {
    std::array<uint32_t, 8> lane_bits{};
    std::fill_n(lane_bits.begin(), count, ~0u);
    vmovups(out, constant_bytes(lane_bits.data(), sizeof lane_bits, sizeof lane_bits));
    vmaskmovps(out, out, ptr[start]);
}

void AttentionProducts::widen_halves(DType type, const Xmm& out, const Xbyak::Operand& halves) {
    if (type == DType::F16) return vcvtph2ps(out, halves);
    vpmovzxwd(out, halves);
    has_avx512(isa_) ? vpslld(Zmm(out.getIdx()), Zmm(out.getIdx()), 16)
                     : vpslld(Ymm(out.getIdx()), Ymm(out.getIdx()), 16);
}

// `count` halves in the low lanes of `out`, zeros above; nothing beyond them is read. Levels without AVX-512.
void AttentionProducts::load_partial_halves(const Xmm& out, const Xbyak::RegExp& start, int count) {
    const Xmm halves(out.getIdx());
    int loaded = count & 4;
    if (loaded != 0) {
        vmovq(halves, ptr[start]);
    } else {
        vpxor(halves, halves, halves);
    }
    for (; loaded < count; loaded += 2) vpinsrd(halves, halves, ptr[start + 2 * loaded], uint8_t(loaded / 2));
    widen_halves(value_operand, out, halves);
}

// Vector `vector_index` of the head's values at the position that r.values points to. Only the head's last vector may
// be partial: what follows it in memory may be the end of the cache.
void AttentionProducts::load_value(const ValueRegisters& r, const Xmm& out, const Xmm& scale, int vector_index,
                                   bool is_new_block) {
    const int first_d = vector_index * lanes();
    const int count = std::min(lanes(), int(spec_.head_dim) - first_d);
    const auto start = r.values + first_d * int(cache_code_bytes(value_operand));
    if (spec_.value_type == DType::Q8_0) {
        const Xmm halves = has_avx512(isa_) ? Xmm(Ymm(scale.getIdx())) : Xmm(scale.getIdx());
        if (is_new_block || first_d % kScaleBlock == 0) {
            vpbroadcastw(halves, ptr[r.values + int(spec_.head_dim) + first_d / int(kScaleBlock) * 2]);
            vcvtph2ps(scale, halves);
        }
        vpmovsxbd(out, ptr[start]);
        vcvtdq2ps(out, out);
        return vmulps(out, out, scale);
    }
    const bool is_float = value_operand == DType::F32;
    if (count == lanes()) return is_float ? vmovups(out, ptr[start]) : widen_halves(value_operand, out, ptr[start]);
    if (has_avx512(isa_)) {
        const Xmm masked = out | k6 | T_z;  // set_partial_mask
        return is_float ? vmovups(masked, ptr[start]) : widen_halves(value_operand, masked, ptr[start]);
    }
    is_float ? load_partial_floats(out, start, count) : load_partial_halves(out, start, count);
}

void AttentionProducts::multiply_values(const Blocking& blocking, int first, Rescale rescale, const ValueRegisters& r,
                                        const Ahead& ahead) {
    const auto [rows, vectors] = blocking;
    const Xmm passing = vector(rows * vectors), scale = vector(rows * vectors + operand_registers(rows, vectors));
    const auto output_at = [&](int row, int v) {
        return ptr[r.output + row * int(output_row_bytes()) + (first + v) * vector_bytes()];
    };
    for (int row = 0; row < rows; ++row) {
        if (rescale == Rescale::yes) vbroadcastss(passing, ptr[r.corrections + row * int(sizeof(float))]);
        for (int v = 0; v < vectors; ++v) {
            if (rescale == Rescale::yes) vmulps(accumulator(blocking, row, v), passing, output_at(row, v));
            if (rescale == Rescale::no) vmovups(accumulator(blocking, row, v), output_at(row, v));
        }
    }
    Label next_position, done;
    test(r.positions.cvt32(), r.positions.cvt32());
    jz(done);
    L(next_position);
    accumulate(
        blocking, [&](const Xmm& out, int v) { load_value(r, out, scale, first + v, v == 0); },
        [&](int row) { return ptr[r.scores + row * int(score_row_bytes())]; });
    prefetch(ahead);
    add(r.values, operand_value_bytes());
    add(r.scores, sizeof(float));
    dec(r.positions.cvt32());
    jnz(next_position);
    L(done);
    for (int row = 0; row < rows; ++row)
        for (int v = 0; v < vectors; ++v) vmovups(output_at(row, v), accumulator(blocking, row, v));
}

}  // namespace riftjit::x86
