// Matrix times many rows: a step of a panel is decoded once, to pairs or quads in the first-level cache, and multiplied
// by tiles of rows ("tokens"). Compute bound: the inner loop is loads and dot products.
//
// Two panels (AVX-512) or two halves of one (below) by up to six tokens: two weight vectors and one broadcast per token
// keep the load ports below the dot products' rate. 16 registers hold 12 integer sums and not also 12 float sums, which
// are then of three tokens, or in memory.
#pragma once

#include <algorithm>

#include "jit/x86/decoders/decoder_step.h"
#include "jit/x86/ops/matmul.h"
#include "jit/x86/rows.h"

namespace riftjit::x86 {

class TileMatmul : public MatmulEmitter {
public:
    enum class FloatSums : uint8_t { registers, memory };  // memory: a form's own

    TileMatmul(const MatmulSpec& spec, Isa isa, Elements elements, FloatSums float_sums);

protected:
    // Activations of a token block stay in the second-level cache while the panels pass by.
    static constexpr uint32_t kTokenBlockBytes = 512 * 1024;
    static constexpr uint32_t kMinTokenBlock = 48, kMaxTokenBlock = 192;
    static constexpr uint32_t kChunkElements = 32;  // of the inner loop's body

    const Decoder& decoder_;
    const DecoderTraits& traits_;
    const PanelLayout layout_;
    const Elements elements_;
    const uint32_t row_bytes_;
    const FloatSums float_sums_;

    int max_panels() const { return has_avx512(isa_) ? 2 : 1; }
    int max_tokens() const { return has_avx512(isa_) || float_sums_ == FloatSums::memory ? 6 : 3; }
    uint32_t token_block() const;
    uint32_t step_count() const { return layout_.full_steps + (layout_.tail_blocks > 0 ? 1 : 0); }
    uint32_t segments(uint32_t blocks) const {
        return blocks * riftjit::traits(spec_.weight).block_elements / traits_.segment;
    }

    // ---- stack frame: lines of [panel][16 rows] dwords ----

    int line_bytes() const { return max_panels() * 64; }
    const DecodedStep decoded_step_ = DecodedStep::at(0, line_bytes(), traits_, elements_);
    int bias_offset() const { return decoded_step_.end(); }             // one line
    int totals_offset() const { return bias_offset() + line_bytes(); }  // one line per token of the block
    virtual uint32_t max_total_lines() const { return token_block(); }
    int float_sums_offset() const { return totals_offset() + static_cast<int>(max_total_lines()) * line_bytes(); }
    int float_sum_lines() const {
        return float_sums_ == FloatSums::memory ? max_tokens() : 0;
    }  // one per token of a tile
    int variables_offset() const { return float_sums_offset() + float_sum_lines() * line_bytes(); }
    uint32_t frame_bytes() const { return static_cast<uint32_t>(variables_offset()) + 128; }

    // What changes less often than once per tile lives in memory.
    enum class Variable : uint8_t {
        first_panel,
        tokens_left,
        block_tokens,
        total_lines,
        x_block,
        out_block,  // token block
        base,
        header,
        body,
        segments,  // panel group: its first panel, current step
        scales,
        sums,
        out,       // tile
        last_row,  // token block, of tiles
        end,
        ahead,  // step: the next one's body
    };
    Address variable(Variable which) { return qword[rsp + variables_offset() + 8 * static_cast<int>(which)]; }
    Address variable32(Variable which) { return dword[rsp + variables_offset() + 8 * static_cast<int>(which)]; }

    // ---- register map ----

    const Reg64 args = rdi;
    const Reg32 panel = esi, end = edx, group_panels = r9d, step = r10d;  // group_panels: in this group, 1 or 2
    // While decoding.
    const Reg64 header = rax, body = rbx, table = r11, decoded = r12, next_body = r13, arranged = r14;
    const Reg32 panels_left = ecx;
    // While multiplying.
    const Reg64 codes = r8, totals = r11, weights = r12, tile_codes = r13, scale = r14, sums = r15;
    const Reg32 tokens_left = ecx, segments_left = eax, chunks_left = ebx;
    const Reg64 ahead = rdx;  // of the next step, in the first tile; 0 in the others
    // At a tile's end.
    const Reg64 row_scales = rbx, out_rows = r13;

    // Columns are panels, or halves of a panel: lanes() rows each.
    static constexpr int kMaxColumns = 2;
    Xmm sum(int column, int token) const { return vector(column * max_tokens() + token); }
    // With float sums in memory the register of a sum takes both in turn.
    Xmm block_sum(int column, int token) const {
        return float_sums_ == FloatSums::memory ? sum(column, token)
                                                : vector((kMaxColumns + column) * max_tokens() + token);
    }
    int sum_registers() const { return (float_sums_ == FloatSums::memory ? 1 : 2) * kMaxColumns * max_tokens(); }
    Xmm weight(int column) const { return vector(sum_registers() + column); }
    Xmm activation() const { return vector(sum_registers() + 2); }
    Xmm scratch() const { return vector(sum_registers() + 3); }
    // The next step's lines are fetched while this one is decoded and, from this one on, multiplied by its first tile,
    // so that memory is kept busy where rows are few.
    uint32_t body_lines() const { return static_cast<uint32_t>(layout_.body_stride / 64); }
    uint32_t lines_while_decoding() const { return body_lines() * 3 / 8; }
    int column_offset(int column) const { return column * vector_bytes(); }
    int row_offset(int token) const { return token * static_cast<int>(row_bytes_); }

    void generate() override;
    void multiply_blocks();  // what lies between prologue and epilogue

    using Part = std::function<void()>;

    // Loops over token blocks and panel groups.
    void leave_without_panels();
    void start_token_blocks();
    // Blocks of at most `most` tokens.
    void start_block(uint32_t most);
    void leave_block(Label& next_block, uint32_t most);
    void add_to(const Address& address, uint64_t value);
    void start_group();
    void keep_bias();
    void clear_totals();
    void multiply_group(const Part& do_step);

    // Decoding.
    // A sink takes the pairs instead of memory; `arranged` moves by panel_bytes from panel to panel, for its use.
    void decode_step(const ElementSink& sink = nullptr, int panel_bytes = 0);
    void point_at_next_body();
    void decode_panels(StepDecoder& step_decoder, uint32_t blocks, const ElementSink& sink, int panel_bytes);

    // Multiplying.
    // Points codes, Variable::scales and Variable::sums at the step of the block's first token.
    virtual void point_at_rows() = 0;
    virtual void multiply_tile(int columns, int tokens) = 0;
    void multiply_tiles();
    template <class Body>
    static void for_each_sum(int columns, int tokens, const Body& body) {
        for (int column = 0; column < columns; ++column)
            for (int token = 0; token < tokens; ++token) body(column, token);
    }
    Address total(int column, int token) { return ptr[totals + token * line_bytes() + column_offset(column)]; }
    Address float_sum(int column, int token) {
        return ptr[rsp + float_sums_offset() + token * line_bytes() + column_offset(column)];
    }
    void prefetch_ahead(int columns, uint32_t elements);
    // Totals, whole in block_sum, to memory; after the last step out, so that stores, which miss the cache, spread over
    // the multiplications of the next tile.
    void keep_or_store(int columns, int tokens);

private:
    void multiply_columns(int columns);
    void store_sum(int column, int token);
};

// By pairs. Sub-scales and zero points are folded into the i16 weights, so a segment is one plain dot product: the same
// exact integer as in the vector form.
class WordTileMatmul : public TileMatmul {
public:
    WordTileMatmul(const MatmulSpec& spec, Isa isa);

protected:
    const I16Row row_;

private:
    void point_at_rows() override;
    void multiply_tile(int columns, int tokens) override;
    void sum_segment(int columns, int tokens);
    void multiply_pair(int columns, int tokens, int pair);
    bool is_one_segment() const { return traits_.segment == kStepElements; }
    void start_float_sums(int columns, int tokens);
    void finish_segment(int columns, int tokens);
    void finish_segment_in_memory(int columns, int tokens);
    void add_real_minimum(int columns, int tokens);
    void subtract_integer_minimum(int columns, int tokens);
    void add_to_totals(int columns, int tokens);
};

}  // namespace riftjit::x86
