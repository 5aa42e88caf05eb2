// Products with bf16 weights by AMX tiles, vector and tile form: TDPBF16PS of up to 16 rows ("tokens") by 16 rows of
// two panels, whose layout in memory is that of tiles already.
//
// A sum takes 32 elements at a time: the sums of the even and of the odd ones, each a chain of fused multiply-adds from
// zero on, are added, and that is added to the sum so far (SDM volume 2, TDPBF16PS; subnormals count as zero). So a
// product of `width` elements is off by no more than round_up(width, 32) / 32 + 18 roundings of a sum of magnitudes,
// fewer than a chain's `width`. A token's bits do not depend on how many share its tile.
#include "jit/x86/decoders/decoder_ops.h"
#include "jit/x86/emit/tiles.h"
#include "jit/x86/ops/matmul.h"
#include "jit/x86/rows.h"

namespace riftjit::x86 {

namespace {

class AmxBf16Matmul final : public MatmulEmitter {
public:
    using MatmulEmitter::MatmulEmitter;

private:
    static constexpr int kPanels = 2;
    static constexpr uint32_t kTileElements = 32;  // along k
    static constexpr int kPrefetchBytes = 2048;    // vector form: ahead of the weights that are multiplied

    uint32_t row_bytes() const { return activation_row_bytes(RowFormat::bf16, spec_.width); }
    int panel_bytes() const { return static_cast<int>(packed_panel_bytes(spec_.weight, spec_.width)); }
    uint32_t whole_tiles() const { return spec_.width / kTileElements; }
    int rest_lines() const { return static_cast<int>(spec_.width % kTileElements + 1) / 2; }
    bool is_vector() const { return spec_.form == MatmulForm::vector; }
    int token_tiles() const { return is_vector() ? 1 : 2; }  // at a time
    // Rows of a token block stay in the second-level cache while the panels pass by.
    uint32_t token_block() const {
        constexpr uint32_t kBytes = 1024 * 1024, kMin = 64, kMax = 512;
        return std::clamp(kBytes / row_bytes(), kMin, kMax) & ~(2 * kTileRows - 1);
    }

    // ---- stack frame ----

    static constexpr int kResults = 0;                       // [token tile][panel] tiles
    static constexpr int kRest = kResults + 4 * kTileBytes;  // [panel]: the last lines, zeros behind them
    static constexpr int kConfiguration = kRest + kPanels * kTileBytes;
    static constexpr int kVariables = kConfiguration + 64, kFrameBytes = kVariables + 64;
    enum class Variable : uint8_t { first_panel, tokens_left, block_tokens, x_block, out_block, tile_tokens, out };
    Address variable(Variable which) { return qword[rsp + kVariables + 8 * static_cast<int>(which)]; }
    Address variable32(Variable which) { return dword[rsp + kVariables + 8 * static_cast<int>(which)]; }

    // ---- register map ----

    const Reg64 args = rdi, x_stride = r11, line_stride = rbx, first_token = r15;
    const Reg32 panel = esi, end = edx, tiles_left = ecx;
    Reg64 x_of(int tile) const { return tile == 0 ? r8 : r9; }  // rows of a token tile, moving along k
    Reg64 weights_of(int p) const { return p == 0 ? r10 : r12; }
    const Reg64 out = r13, bias = r14;
    Tmm sum(int tile, int p) const { return Tmm(2 * tile + p); }

    void generate() override {
        Label has_panels, next_block, next_group, next_tokens, done;
        prologue({rbx, r12, r13, r14, r15}, kFrameBytes);
        mov(panel, panel);  // clears the upper half
        cmp(panel, end);
        jb(has_panels);
        epilogue();
        L(has_panels);
        mov(variable32(Variable::first_panel), panel);
        mov(rax, ptr[args + offsetof(MatmulArgs, batch)]);
        mov(eax, ptr[rax + offsetof(BatchState, rows)]);
        mov(variable32(Variable::tokens_left), eax);
        configure_tiles();
        mov(rax, ptr[args + offsetof(MatmulArgs, x)]);
        mov(variable(Variable::x_block), rax);
        mov(rax, ptr[args + offsetof(MatmulArgs, out)]);
        mov(variable(Variable::out_block), rax);
        mov(line_stride, 64);
        mov(x_stride, row_bytes());
        L(next_block);
        mov(eax, variable32(Variable::tokens_left));
        mov(ecx, token_block());
        cmp(eax, ecx);
        cmova(eax, ecx);
        mov(variable32(Variable::block_tokens), eax);
        mov(panel, variable32(Variable::first_panel));
        L(next_group);
        if (rest_lines() > 0) copy_rest();
        mov(rax.cvt32(), panel);
        shl(rax, 6);
        add(rax, variable(Variable::out_block));
        mov(variable(Variable::out), rax);
        xor_(first_token.cvt32(), first_token.cvt32());
        L(next_tokens);
        multiply();
        for (int tile = 0; tile < token_tiles(); ++tile) store_tile(tile);
        add(first_token, token_tiles() * kTileRows);
        cmp(first_token.cvt32(), variable32(Variable::block_tokens));
        jb(next_tokens, T_NEAR);
        add(panel, kPanels);
        cmp(panel, end);
        jb(next_group, T_NEAR);
        mov(eax, variable32(Variable::block_tokens));
        sub(variable32(Variable::tokens_left), eax);
        jz(done);
        mov(rax, uint64_t(token_block()) * row_bytes());
        add(variable(Variable::x_block), rax);
        mov(rax, uint64_t(token_block()) * spec_.out_stride * 4);
        add(variable(Variable::out_block), rax);
        jmp(next_block, T_NEAR);
        L(done);
        tilerelease();
        epilogue();
    }

    // tile_tokens = min(rows, 16), the rows of the tiles that hold sums and activations.
    void configure_tiles() {
        const TileConfiguration configuration;
        vmovups(zmm0, constant_bytes(&configuration, sizeof configuration));
        vmovups(ptr[rsp + kConfiguration], zmm0);
        mov(ecx, kTileRows);
        cmp(eax, ecx);
        cmova(eax, ecx);
        mov(variable(Variable::tile_tokens), rax);
        for (int tile = 0; tile < 6; ++tile)
            mov(byte[rsp + kConfiguration + static_cast<int>(offsetof(TileConfiguration, rows)) + tile], al);
        ldtilecfg(ptr[rsp + kConfiguration]);
    }

    // The second panel's pointer; the first's once more where the group has one panel only.
    void point_at_weights() {
        mov(weights_of(0).cvt32(), panel);
        imul(weights_of(0), weights_of(0), panel_bytes());
        add(weights_of(0), ptr[args + offsetof(MatmulArgs, weights)]);
        lea(weights_of(1), ptr[weights_of(0) + panel_bytes()]);
        lea(eax, ptr[rsi + 1]);
        cmp(eax, end);
        cmovae(weights_of(1), weights_of(0));
    }
    void copy_rest() {
        point_at_weights();
        vpxord(zmm1, zmm1, zmm1);
        for (int p = 0; p < kPanels; ++p)
            for (int line = 0; line < static_cast<int>(kTileRows); ++line) {
                if (line < rest_lines())
                    vmovups(zmm0, ptr[weights_of(p) + static_cast<int>(whole_tiles()) * kTileBytes + line * 64]);
                vmovups(ptr[rsp + kRest + p * kTileBytes + line * 64], line < rest_lines() ? zmm0 : zmm1);
            }
    }

    // A tile's first token: no later than that its last row is the block's last, which may reach back before the block.
    void point_at_token(const Reg64& token, int tile) {
        mov(token.cvt32(), variable32(Variable::block_tokens));
        sub(token, variable(Variable::tile_tokens));
        lea(x_of(tile), ptr[first_token + tile * static_cast<int>(kTileRows)]);
        cmp(x_of(tile), token);
        cmovl(token, x_of(tile));
    }

    void multiply() {
        point_at_weights();
        for (int tile = 0; tile < token_tiles(); ++tile) {
            point_at_token(rax, tile);
            imul(rax, rax, static_cast<int>(row_bytes()));
            add(rax, variable(Variable::x_block));
            mov(x_of(tile), rax);
            for (int p = 0; p < kPanels; ++p) tilezero(sum(tile, p));
        }
        if (whole_tiles() > 0) {
            Label again;
            mov(tiles_left, whole_tiles());
            L(again);
            if (is_vector())
                for (int p = 0; p < kPanels; ++p)
                    for (int line = 0; line < static_cast<int>(kTileRows); ++line)
                        prefetcht1(ptr[weights_of(p) + kPrefetchBytes + line * 64]);
            multiply_tile([&](int p) { return ptr[weights_of(p) + line_stride]; });
            for (int p = 0; p < kPanels; ++p) add(weights_of(p), kTileBytes);
            for (int tile = 0; tile < token_tiles(); ++tile) add(x_of(tile), kTileElements * 2);
            dec(tiles_left);
            jnz(again);
        }
        if (rest_lines() > 0) multiply_tile([&](int p) { return ptr[rsp + line_stride + kRest + p * kTileBytes]; });
        for (int tile = 0; tile < token_tiles(); ++tile)
            for (int p = 0; p < kPanels; ++p)
                tilestored(ptr[rsp + line_stride + kResults + (2 * tile + p) * kTileBytes], sum(tile, p));
    }
    template <class WeightTile>
    void multiply_tile(const WeightTile& weight_tile) {
        for (int tile = 0; tile < token_tiles(); ++tile) {
            const Tmm activations(4 + tile);
            tileloadd(activations, ptr[x_of(tile) + x_stride]);
            for (int p = 0; p < kPanels; ++p) {
                if (tile == 0) tileloadd(Tmm(6 + p), weight_tile(p));
                tdpbf16ps(sum(tile, p), activations, Tmm(6 + p));
            }
        }
    }

    // Tokens first_token + 16 * tile and those after it; the lines before them are another tile's.
    void store_tile(int tile) {
        const Reg64 line = r8;
        const Reg32 tokens = ecx;
        Label again, done;
        point_at_token(rax, tile);
        lea(r9, ptr[first_token + tile * static_cast<int>(kTileRows)]);
        mov(out, r9);
        sub(r9, rax);  // lines to leave out
        mov(tokens, variable32(Variable::tile_tokens));
        sub(tokens, r9d);
        jle(done, T_NEAR);
        shl(r9, 6);
        lea(line, ptr[rsp + r9 + kResults + 2 * tile * kTileBytes]);
        imul(out, out, static_cast<int>(spec_.out_stride) * 4);
        add(out, variable(Variable::out));
        L(again);
        for (int p = 0; p < kPanels; ++p) {
            Label is_absent;
            if (p > 0) {
                lea(eax, ptr[rsi + p]);
                cmp(eax, end);
                jae(is_absent);
                inc(panel);
            }
            vmovaps(zmm2, ptr[line + p * kTileBytes]);
            store_row(out + p * 64, zmm2, 0, panel, args, bias, zmm3);
            if (p > 0) dec(panel);
            L(is_absent);
        }
        add(line, 64);
        add(out, spec_.out_stride * 4);
        dec(tokens);
        jnz(again, T_NEAR);
        L(done);
    }
};

}  // namespace

MachineCode generate_amx_bf16_matmul(const MatmulSpec& spec, Isa isa) { return AmxBf16Matmul(spec, isa).finish(); }

}  // namespace riftjit::x86
