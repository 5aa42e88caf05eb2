#include "jit/x86/ops/matmul_tile.h"

#include "jit/x86/decoders/decoder_ops.h"

namespace riftjit::x86 {

TileMatmul::TileMatmul(const MatmulSpec& spec, Isa isa)
    : MatmulEmitter(spec, isa),
      decoder_(*find_decoder(spec.weight)),
      traits_(decoder_.traits()),
      layout_(panel_layout(spec.weight, spec.width)),
      row_{spec.width, activation_format(spec.weight, isa)} {}

uint32_t TileMatmul::token_block() const {
    const uint32_t fitting = std::clamp(kTokenBlockBytes / row_.bytes(), kMinTokenBlock, kMaxTokenBlock);
    return fitting / uint32_t(max_tokens()) * uint32_t(max_tokens());
}

void TileMatmul::generate() {
    prologue({rbx, r12, r13, r14, r15}, frame_bytes());
    leave_without_panels();
    multiply_blocks();
    epilogue();
}

void TileMatmul::multiply_blocks() {
    start_token_blocks();
    Label next_block, next_group;
    L(next_block);
    start_block(token_block());
    L(next_group);
    start_group();
    multiply_group([this] {
        decode_step();
        multiply_tiles();
    });
    cmp(panel, end);
    jb(next_group);
    leave_block(next_block, token_block());
}

// ---- loops over token blocks and panel groups ----

void TileMatmul::leave_without_panels() {
    Label has_panels;
    mov(panel, panel);  // clears the upper half
    cmp(panel, end);
    jb(has_panels);
    epilogue();
    L(has_panels);
}

void TileMatmul::start_token_blocks() {
    mov(variable32(Variable::first_panel), panel);
    mov(variable32(Variable::end), end);
    mov(rax, ptr[args + offsetof(MatmulArgs, batch)]);
    mov(eax, ptr[rax + offsetof(BatchState, rows)]);
    mov(variable32(Variable::tokens_left), eax);
    mov(rax, ptr[args + offsetof(MatmulArgs, x)]);
    mov(variable(Variable::x_block), rax);
    mov(rax, ptr[args + offsetof(MatmulArgs, out)]);
    mov(variable(Variable::out_block), rax);
}

void TileMatmul::start_block(uint32_t most) {  // block_tokens = min(tokens_left, most)
    mov(eax, variable32(Variable::tokens_left));
    mov(ecx, most);
    cmp(eax, ecx);
    cmova(eax, ecx);
    mov(variable32(Variable::block_tokens), eax);
    mov(variable32(Variable::total_lines), eax);
    mov(panel, variable32(Variable::first_panel));
}

void TileMatmul::leave_block(Label& next_block, uint32_t most) {
    Label done;
    mov(eax, variable32(Variable::block_tokens));
    sub(variable32(Variable::tokens_left), eax);
    jz(done);
    add_to(variable(Variable::x_block), uint64_t(most) * row_.bytes());
    add_to(variable(Variable::out_block), uint64_t(most) * spec_.out_stride * 4);
    jmp(next_block);
    L(done);
}

void TileMatmul::add_to(const Address& address, uint64_t value) {
    mov(rax, value);
    add(address, rax);
}

void TileMatmul::start_group() {
    mov(group_panels, end);
    sub(group_panels, panel);
    if (max_panels() == 2) {
        mov(eax, 2);
        cmp(group_panels, eax);
        cmova(group_panels, eax);
    } else {
        mov(group_panels, 1);
    }
    mov(eax, panel);
    imul(rax, rax, static_cast<int>(layout_.panel_bytes));
    add(rax, ptr[args + offsetof(MatmulArgs, weights)]);
    mov(variable(Variable::base), rax);
    lea(rbx, ptr[rax + static_cast<int>(layout_.header_offset)]);
    mov(variable(Variable::header), rbx);
    lea(rbx, ptr[rax + static_cast<int>(layout_.body_offset)]);
    mov(variable(Variable::body), rbx);
    mov(eax, panel);
    shl(rax, 6);
    add(rax, variable(Variable::out_block));
    mov(variable(Variable::out), rax);
    if (spec_.bias == Presence::present) keep_bias();
    clear_totals();
}

void TileMatmul::keep_bias() {
    Label done;
    for (int p = 0; p < max_panels(); ++p) {
        if (p > 0) {
            cmp(group_panels, p);
            je(done);
            inc(panel);
        }
        for (int half = 0; half < halves(); ++half) {
            load_bias(scratch(), half, panel, args, rax);
            store(*this, ptr[rsp + bias_offset() + p * 64 + half * 32], scratch());
        }
    }
    if (max_panels() > 1) sub(panel, max_panels() - 1);
    L(done);
}

void TileMatmul::clear_totals() {
    Label again;
    lea(totals, ptr[rsp + totals_offset()]);
    mov(tokens_left, variable32(Variable::total_lines));
    set_zero(*this, scratch());
    L(again);
    for (int offset = 0; offset < line_bytes(); offset += vector_bytes()) store(*this, ptr[totals + offset], scratch());
    add(totals, line_bytes());
    dec(tokens_left);
    jnz(again);
}

void TileMatmul::multiply_group(const Part& do_step) {
    Label again;
    xor_(step, step);
    L(again);
    do_step();
    add(variable(Variable::header), static_cast<uint32_t>(layout_.header_stride));
    add(variable(Variable::body), static_cast<uint32_t>(layout_.body_stride));
    inc(step);
    cmp(step, step_count());
    jb(again);
    add(panel, group_panels);
}

// ---- decoding ----

void TileMatmul::decode_step(const PairSink& sink, int panel_bytes) {
    Label is_tail, done;
    StepDecoder step_decoder(*this, decoder_, table);
    step_decoder.prepare();
    mov(header, variable(Variable::header));
    mov(body, variable(Variable::body));
    mov(decoded, rsp);
    mov(panels_left, group_panels);
    point_at_next_body();
    const bool has_both = layout_.full_steps > 0 && layout_.tail_blocks > 0;
    if (has_both) {
        cmp(step, layout_.full_steps);
        jae(is_tail);
    }
    if (layout_.full_steps > 0) {
        decode_panels(step_decoder, layout_.blocks_per_step, sink, panel_bytes);
    }
    if (has_both) jmp(done);
    L(is_tail);
    if (layout_.tail_blocks > 0) {
        decode_panels(step_decoder, layout_.tail_blocks, sink, panel_bytes);
    }
    L(done);
}

// The next step's body, or the next group's first.
void TileMatmul::point_at_next_body() {
    Label is_known;
    lea(next_body, ptr[body + static_cast<int>(layout_.body_stride)]);
    cmp(step, step_count() - 1);
    jb(is_known);
    mov(next_body, variable(Variable::base));
    add(next_body, static_cast<uint32_t>(max_panels() * layout_.panel_bytes + layout_.body_offset));
    L(is_known);
    mov(variable(Variable::ahead), next_body);
}

void TileMatmul::decode_panels(StepDecoder& step_decoder, uint32_t blocks, const PairSink& sink, int panel_bytes) {
    Label again;
    const bool is_full = blocks == layout_.blocks_per_step;
    L(again);
    step_decoder.emit_step(blocks, header, body, decoded, decoded_step_, next_body,
                           !is_full ? 0
                           : sink   ? body_lines()
                                    : lines_while_decoding(),
                           sink);
    if (max_panels() > 1) {
        if (panel_bytes > 0) add(arranged, panel_bytes);
        add(header, static_cast<uint32_t>(layout_.panel_bytes));
        add(body, static_cast<uint32_t>(layout_.panel_bytes));
        add(next_body, static_cast<uint32_t>(layout_.panel_bytes));
        add(decoded, 64);
        dec(panels_left);
        jnz(again);
    }
    mov(variable32(Variable::segments), segments(blocks));
}

// ---- multiplying ----

void TileMatmul::multiply_tiles() {
    mov(codes, variable(Variable::x_block));
    mov(eax, step);
    lea(rbx, ptr[codes + rax * 4 + static_cast<int>(row_.scales_offset_bytes())]);
    mov(variable(Variable::scales), rbx);
    const bool has_sums16 = traits_.group == 16;
    imul(ebx, eax, has_sums16 ? 64 : 32);
    lea(rbx, ptr[codes + rbx + static_cast<int>(has_sums16 ? row_.sums16_offset_bytes() : row_.sums32_offset_bytes())]);
    mov(variable(Variable::sums), rbx);
    shl(rax, 9);
    add(codes, rax);
    lea(totals, ptr[rsp + totals_offset()]);
    mov(tokens_left, variable32(Variable::block_tokens));
    mov(ahead, variable(Variable::ahead));
    add(ahead, lines_while_decoding() * 64);
    if (max_panels() == 1) {
        multiply_columns(halves());
    } else {
        Label is_single, done;
        cmp(group_panels, 1);
        je(is_single);
        multiply_columns(2);
        jmp(done);
        L(is_single);
        multiply_columns(1);
        L(done);
    }
    mov(end, variable32(Variable::end));
}

void TileMatmul::multiply_columns(int columns) {
    for_each_token_tile(
        tokens_left, max_tokens(), [&](int tokens) { multiply_tile(columns, tokens); },
        [&](int tokens) {
            add(codes, static_cast<uint32_t>(tokens) * row_.bytes());
            add(totals, tokens * line_bytes());
        });
}

template <class Body>
void TileMatmul::for_each_sum(int columns, int tokens, const Body& body) {
    for (int column = 0; column < columns; ++column)
        for (int token = 0; token < tokens; ++token) body(column, token);
}

void TileMatmul::multiply_tile(int columns, int tokens) {
    Label next_segment;
    mov(segments_left, variable32(Variable::segments));
    mov(weights, rsp);
    mov(tile_codes, codes);
    lea(scale, ptr[rsp + decoded_step_.scales]);
    if (traits_.minimum != Minimum::none) mov(sums, variable(Variable::sums));
    for_each_sum(columns, tokens, [&](int c, int t) { set_zero(*this, block_sum(c, t)); });
    L(next_segment);
    for_each_sum(columns, tokens, [&](int c, int t) { set_zero(*this, sum(c, t)); });
    sum_segment(columns, tokens);
    finish_segment(columns, tokens);
    if (traits_.minimum == Minimum::real) add_real_minimum(columns, tokens);
    add(scale, line_bytes());
    dec(segments_left);
    jnz(next_segment);
    if (traits_.minimum == Minimum::integer) subtract_integer_minimum(columns, tokens);
    if (traits_.minimum != Minimum::none) add(variable(Variable::sums), tokens * static_cast<int>(row_.bytes()));
    add_to_totals(columns, tokens);
    xor_(ahead, ahead);
}

void TileMatmul::sum_segment(int columns, int tokens) {
    const uint32_t elements = std::min<uint32_t>(traits_.segment, kChunkElements);
    Label again;
    const bool is_loop = traits_.segment > kChunkElements;
    if (is_loop) mov(chunks_left, traits_.segment / kChunkElements);
    L(again);
    prefetch_ahead(columns, elements);
    for (int pair = 0; pair < static_cast<int>(elements) / 2; ++pair) {
        if (pair < tokens) prefetcht0(ptr[tile_codes + row_offset(tokens + pair)]);  // of the next tile
        multiply_pair(columns, tokens, pair);
    }
    add(weights, elements / 2 * static_cast<uint32_t>(line_bytes()));
    add(tile_codes, elements * 2);
    if (is_loop) {
        dec(chunks_left);
        jnz(again);
    }
}

void TileMatmul::prefetch_ahead(int columns, uint32_t elements) {
    Label done;
    const uint32_t chunks = kStepElements / elements;
    const uint32_t lines = (body_lines() - lines_while_decoding() + chunks - 1) / chunks;
    test(ahead, ahead);
    jz(done);
    for (uint32_t line = 0; line < lines; ++line)
        for (int p = 0; p < (max_panels() == 1 ? 1 : columns); ++p)
            prefetcht1(ptr[ahead + static_cast<int>(p * layout_.panel_bytes + line * 64)]);
    add(ahead, lines * 64);
    L(done);
}

void TileMatmul::multiply_pair(int columns, int tokens, int pair) {
    for (int c = 0; c < columns; ++c) load(*this, weight(c), ptr[weights + pair * line_bytes() + column_offset(c)]);
    for (int t = 0; t < tokens; ++t) {
        vpbroadcastd(activation(), ptr[tile_codes + row_offset(t) + pair * 4]);
        for (int c = 0; c < columns; ++c)
            dot_broadcast(sum(c, t), weight(c), activation(), c == columns - 1 ? activation() : scratch());
    }
}

void TileMatmul::finish_segment(int columns, int tokens) {
    for_each_sum(columns, tokens, [&](int c, int t) {
        vcvtdq2ps(sum(c, t), sum(c, t));
        vfmadd231ps(block_sum(c, t), sum(c, t), ptr[scale + column_offset(c)]);
    });
}

void TileMatmul::add_real_minimum(int columns, int tokens) {
    const int minima = decoded_step_.minima - decoded_step_.scales;
    for (int t = 0; t < tokens; ++t) {
        broadcast_as_float(activation(), sums + row_offset(t));
        for (int c = 0; c < columns; ++c)
            vfmadd231ps(block_sum(c, t), activation(), ptr[scale + minima + column_offset(c)]);
    }
    add(sums, 4);
}

void TileMatmul::subtract_integer_minimum(int columns, int tokens) {
    Label again;
    const Reg64 minimum = scale;
    const Reg32 groups_left = chunks_left;
    for_each_sum(columns, tokens, [&](int c, int t) { set_zero(*this, sum(c, t)); });
    lea(minimum, ptr[rsp + decoded_step_.minima]);
    mov(groups_left, kStepElements / traits_.group);
    L(again);
    for (int c = 0; c < columns; ++c) load(*this, weight(c), ptr[minimum + column_offset(c)]);
    for_each_sum(columns, tokens, [&](int c, int t) {
        multiply_broadcast(scratch(), weight(c), sums + row_offset(t), activation());
        vpaddd(sum(c, t), sum(c, t), scratch());
    });
    add(minimum, line_bytes());
    add(sums, 4);
    dec(groups_left);
    jnz(again);
    for_each_sum(columns, tokens, [&](int c, int t) {
        vcvtdq2ps(sum(c, t), sum(c, t));
        vfnmadd231ps(block_sum(c, t), sum(c, t), ptr[rsp + decoded_step_.minimum_scale + column_offset(c)]);
    });
}

// total += block_sum * activation scale; after the last step the total goes out, so that stores, which miss the
// cache, spread over the multiplications of the next tile.
void TileMatmul::add_to_totals(int columns, int tokens) {
    Label is_last, done;
    mov(row_scales, variable(Variable::scales));
    add(variable(Variable::scales), tokens * static_cast<int>(row_.bytes()));
    if (step_count() > 1) {
        cmp(step, step_count() - 1);
        je(is_last);
        for_each_total(columns, tokens, [&](int c, int t, const Address& total) { vmovaps(total, block_sum(c, t)); });
        jmp(done);
    }
    L(is_last);
    mov(out_rows, variable(Variable::out));
    add(variable(Variable::out), static_cast<uint32_t>(tokens) * spec_.out_stride * 4);
    for_each_total(columns, tokens, [&](int c, int t, const Address&) { store_sum(c, t); });
    L(done);
}

template <class Body>
void TileMatmul::for_each_total(int columns, int tokens, const Body& emit_body) {
    for (int t = 0; t < tokens; ++t) {
        vbroadcastss(activation(), ptr[row_scales + row_offset(t)]);
        for (int c = 0; c < columns; ++c) {
            const Address total = ptr[totals + t * line_bytes() + column_offset(c)];
            vfmadd213ps(block_sum(c, t), activation(), total);
            emit_body(c, t, total);
        }
    }
}

void TileMatmul::store_sum(int column, int token) {
    const Address out = ptr[out_rows + token * static_cast<int>(spec_.out_stride) * 4 + column_offset(column)];
    const Xmm value = block_sum(column, token);
    if (spec_.bias == Presence::present) vaddps(value, value, ptr[rsp + bias_offset() + column_offset(column)]);
    if (spec_.epilogue == Epilogue::accumulate) vaddps(value, value, out);
    vmovups(out, value);
}

MachineCode generate_tile_matmul(const MatmulSpec& spec, Isa isa) { return TileMatmul(spec, isa).finish(); }

}  // namespace riftjit::x86
