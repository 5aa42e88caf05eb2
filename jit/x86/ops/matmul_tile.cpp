#include "jit/x86/ops/matmul_tile.h"

#include "jit/x86/decoders/decoder_ops.h"

namespace riftjit::x86 {

TileMatmul::TileMatmul(const MatmulSpec& spec, Isa isa, Elements elements, FloatSums float_sums)
    : MatmulEmitter(spec, isa),
      decoder_(*find_decoder(spec.weight)),
      traits_(decoder_.traits()),
      layout_(panel_layout(spec.weight, spec.width)),
      elements_(elements),
      row_bytes_(activation_row_bytes(activation_format(spec.weight, spec.activations, isa), spec.width)),
      float_sums_(float_sums) {}

uint32_t TileMatmul::token_block() const {
    const uint32_t fitting = std::clamp(kTokenBlockBytes / row_bytes_, kMinTokenBlock, kMaxTokenBlock);
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
    add_to(variable(Variable::x_block), uint64_t(most) * row_bytes_);
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

void TileMatmul::decode_step(const ElementSink& sink, int panel_bytes) {
    Label is_tail, done;
    StepDecoder step_decoder(*this, decoder_, elements_, table);
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

void TileMatmul::decode_panels(StepDecoder& step_decoder, uint32_t blocks, const ElementSink& sink, int panel_bytes) {
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
    point_at_rows();
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
            add(codes, static_cast<uint32_t>(tokens) * row_bytes_);
            add(totals, tokens * line_bytes());
        });
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

void TileMatmul::keep_or_store(int columns, int tokens) {
    Label is_last, done;
    if (step_count() > 1) {
        cmp(step, step_count() - 1);
        je(is_last);
        for_each_sum(columns, tokens, [&](int c, int t) { vmovaps(total(c, t), block_sum(c, t)); });
        jmp(done);
    }
    L(is_last);
    mov(out_rows, variable(Variable::out));
    add(variable(Variable::out), static_cast<uint32_t>(tokens) * spec_.out_stride * 4);
    for_each_sum(columns, tokens, [&](int c, int t) { store_sum(c, t); });
    L(done);
}

void TileMatmul::store_sum(int column, int token) {
    const Address out = ptr[out_rows + token * static_cast<int>(spec_.out_stride) * 4 + column_offset(column)];
    const Xmm value = block_sum(column, token);
    if (spec_.bias == Presence::present) vaddps(value, value, ptr[rsp + bias_offset() + column_offset(column)]);
    if (spec_.epilogue == Epilogue::accumulate) vaddps(value, value, out);
    vmovups(out, value);
}

}  // namespace riftjit::x86
