// Matrix times many rows of the batch, quantised weights, with the same sums in the same order as for one row.
//
// Four waves take a panel of 32 rows of the matrix each, and together 16 or 32 rows of the batch. Steps are taken in
// slabs of 128 elements: a lane decodes those of its row to bytes in LDS, beside the multipliers and scales of its
// groups, and then the wave multiplies tiles of 16 rows by 16 with both digits of the codes, group by group. Codes of
// activations come through two buffers in LDS: while one slab is multiplied the next is on its way.
#include <algorithm>
#include <bit>

#include "jit/rdna/kernels/integer_tile.h"
#include "jit/rdna/kernels/kernels.h"
#include "jit/rdna/kernels/matmul.h"
#include "jit/rdna/kernels/quad_decoder.h"
#include "jit/rdna/kernels/rows.h"

namespace riftjit::rdna::kernels {
namespace {

constexpr uint32_t kTileWaves = 4, kTileLanes = kTileWaves * kPanelRows;
constexpr uint32_t kSlab = 128, kSlabRowBytes = kSlab + 16;
constexpr uint32_t kTile = IntegerTile::kSize, kSums = IntegerTile::kSums, kColumnTiles = kPanelRows / kTile;

class TileMatmulKernel final : public RdnaKernel<MatmulSpec> {
public:
    using RdnaKernel::RdnaKernel;

    void generate() override {
        header_.max_flat_workgroup_size = kTileLanes;
        locate_tile();
        locate_lanes();
        for (const Sums& column : totals)
            for (const Vgpr& total : column) v_mov_b32(total, 0);
        for (uint32_t i = 0; needs_sums && i < 4; ++i) v_mov_b32(staged_sums[i], 0);
        v_mov_b32(staged_scale, 0);
        s_mov_b32(step, 0);
        begin_stage(step, 0, true);
        end_stage(0, true);
        barrier();
        if (layout.full_steps != 0) {
            const Label top = label();
            bind(top);
            multiply_step(layout.full, false);
            s_add_co_u32(step, step, 1);
            s_cmp_lt_u32(step, layout.full_steps);
            s_cbranch_scc1(top);
        }
        if (layout.tail_blocks != 0) multiply_step(layout.tail, true);
        store_tiles();
    }

private:
    using Sums = std::vector<Vgpr>;  // kSums of one lane

    const uint32_t token_tiles = tile_matmul_rows(target()) / kTile, tokens = token_tiles * kTile;
    const PanelLayout layout{spec_.weight, spec_.width};
    const WeightFormat& format = weight_format(spec_.weight);
    const Summation sums = summation(format, kI16Max, kStepElements);
    const I16Row x_layout{spec_.width};
    const uint32_t panels = (spec_.rows + kPanelRows - 1) / kPanelRows;
    const bool has_multiplier = format.results.multiplier != kNoStep, has_offset = format.results.offset != kNoStep,
               has_minimum = format.results.minimum != kNoStep, needs_sums = has_offset || has_minimum;
    // Elements that the loop over a slab takes at once: a short segment, or a group of a long one.
    const uint32_t unit = sums.segment <= 64 ? sums.segment : sums.group;
    const bool ends_in_unit = unit == sums.segment;

    // LDS: two slabs of codes, high digits before low ones; two steps' sums of codes and scales, by group; and each
    // wave's slab of weights with what its groups and segments have.
    const uint32_t digit_bytes = tokens * kSlabRowBytes;
    const uint32_t x_lds[2] = {lds(2 * digit_bytes), lds(2 * digit_bytes)};
    const uint32_t sum_stride = tokens * 4 + 16, groups_per_step = kStepElements / sums.group;
    const uint32_t scales_at = needs_sums ? groups_per_step * sum_stride : 0, sums_bytes = scales_at + tokens * 4;
    const uint32_t sums_lds = lds(2 * sums_bytes);
    static constexpr uint32_t kColumnBytes = kPanelRows * 4;  // of a value for each row
    const uint32_t slab_groups = kSlab / sums.group, slab_segments = std::max(1u, kSlab / sums.segment);
    const uint32_t multipliers_at = kPanelRows * kSlabRowBytes;
    const uint32_t minima_at = multipliers_at + (has_multiplier ? slab_groups * kColumnBytes : 0);
    const uint32_t segment_scales_at = minima_at + (has_minimum ? slab_groups * kColumnBytes : 0);
    const uint32_t offsets_at = segment_scales_at + slab_segments * kColumnBytes;
    const uint32_t minimum_scales_at = offsets_at + (has_offset ? slab_segments * kColumnBytes : 0);
    const uint32_t wave_bytes = minimum_scales_at + (has_minimum ? kColumnBytes : 0);
    const uint32_t weights_lds = lds(kTileWaves * wave_bytes);

    // Register map.
    const BoundArguments<MatmulArgs> bound = bind_arguments<MatmulArgs>(
        {field("weights", &MatmulArgs::weights), field("bias", &MatmulArgs::bias), field("x", &MatmulArgs::x),
         field("out", &MatmulArgs::out), field("batch", &MatmulArgs::batch)});
    const Sgpr weights = bound[&MatmulArgs::weights], bias = bound[&MatmulArgs::bias], x = bound[&MatmulArgs::x],
               out = bound[&MatmulArgs::out], batch = bound[&MatmulArgs::batch];
    const Sgpr panel = sgpr(), has_panel = sgpr(), first_token = sgpr(), rows = sgpr();
    std::optional<Sgpr> panel_address;
    const Sgpr step = sgpr(), bytes = sgpr(), sums_now = sgpr(), sums_next = sgpr();
    const Vgpr lane = vgpr(), row = vgpr(), wave_base = vgpr();  // the lane in its wave; % 16; the wave's region in LDS
    const StringOffsets offsets{vgpr(), vgpr(), vgpr()};
    // Staging: what the lane carries from memory to LDS.
    const uint32_t stage_loads = tokens / 8;
    const std::vector<Vgpr> stage_offsets = vgprs(stage_loads), staged = vgprs(stage_loads, 4);
    const Vgpr stage_address = vgpr(), sums_offset = vgpr(), staged_sums = vgpr(4), sums_address = vgpr(),
               scale_offset = vgpr(), staged_scale = vgpr(), scale_address = vgpr();
    const Sgpr stages_sums = lane_mask(), stages_scales = lane_mask();
    // Multiplying: what the lane loads of operands, of columns of values, of sums and scales of codes.
    const Vgpr x_address = vgpr(), weight_address = vgpr(), value_address = vgpr(), code_sums_address = vgpr(),
               half_offset = vgpr();
    IntegerTile tile{*this, kSlabRowBytes, sums.group};
    // By tile of tokens and tile of columns.
    const std::vector<Sums> totals = tile_sums(), accumulated = ends_in_unit ? std::vector<Sums>() : tile_sums(),
                            blocks = sums.segment >= kStepElements ? std::vector<Sums>() : tile_sums(),
                            minima = has_minimum ? tile_sums() : std::vector<Sums>();

    std::vector<Vgpr> vgprs(uint32_t count, unsigned dwords = 1) {
        std::vector<Vgpr> registers;
        for (uint32_t i = 0; i < count; ++i) registers.push_back(vgpr(dwords));
        return registers;
    }
    std::vector<Sums> tile_sums() {
        std::vector<Sums> result;
        for (uint32_t i = 0; i < token_tiles * kColumnTiles; ++i) result.push_back(vgprs(kSums));
        return result;
    }
    // ---- where things lie

    void locate_tile() {
        const Sgpr group = sgpr(), token_tile = sgpr(), wave = sgpr();
        const Vgpr wave_number = vgpr();
        const uint32_t panel_groups = (panels + kTileWaves - 1) / kTileWaves;
        s_load_b32(rows, batch, offsetof(BatchState, rows));
        s_divide_u32(token_tile, group, launch_workgroup(), panel_groups);
        s_mul_i32(first_token, token_tile, tokens);
        v_lshrrev_b32(wave_number, std::countr_zero(kPanelRows), launch_lane());
        v_readfirstlane_b32(wave, wave_number);
        v_mul_u32_u24(wave_base, wave_bytes, wave_number);
        // Waves beyond the last panel do its work again, and leave nothing.
        s_lshl_b32(panel, group, std::countr_zero(kTileWaves));
        s_add_co_u32(panel, panel, wave);
        s_cmp_lt_u32(panel, panels);
        s_cselect_b32(has_panel, 1, 0);
        s_min_u32(panel, panel, panels - 1);
        panel_address.emplace(locate_panel(*this, spec_.weight, spec_.width, weights, panel));
    }

    // to = bytes from x to the row of the tile's `token`; the last row stands for those that are missing.
    void locate_token(Vgpr to, Vgpr token) {
        const Sgpr last = sgpr();
        s_sub_co_u32(last, rows, 1);
        v_add_nc_u32(to, first_token, token);
        v_min_u32(to, last, to);
        v_mul_lo_u32(to, to, x_layout.bytes());
    }
    void place_of_token(Vgpr to, Vgpr token) {  // bytes from a row of sums
        if (generation() != Generation::gfx11) return v_lshlrev_b32(to, 2, token);
        const Vgpr half = vgpr(), sum = vgpr();
        v_and_b32(half, 1, token);
        v_bfe_u32(sum, token, 1, 3);
        v_lshl_or_b32(sum, half, 3, sum);
        v_and_b32(to, ~(kTile - 1), token);
        v_or_b32(to, to, sum);
        v_lshlrev_b32(to, 2, to);
    }

    void locate_lanes() {
        v_and_b32(lane, kPanelRows - 1, launch_lane());
        v_and_b32(row, kTile - 1, lane);
        v_lshlrev_b32(offsets.chunk, 4, lane);
        v_lshlrev_b32(offsets.half, 1, lane);
        locate_staging();
        tile.locate(x_address, weight_address, lane);
        v_add_nc_u32(weight_address, wave_base, weight_address);
        v_lshl_add_u32(value_address, row, 2, wave_base);
        v_bfe_u32(half_offset, lane, 4, 1);
        v_lshlrev_b32(half_offset, 5, half_offset);  // eight values
        s_mov_b32(sums_now, 0);
        s_mov_b32(sums_next, 0);
    }
    void locate_staging() {
        const Vgpr token = vgpr(), within = vgpr(), from = vgpr();
        const uint32_t row_chunks = 2 * kSlab / 16;
        v_lshrrev_b32(token, std::countr_zero(row_chunks), launch_lane());
        v_and_b32(within, row_chunks - 1, launch_lane());
        const Vgpr digit = vgpr(), chunk = vgpr();
        v_lshrrev_b32(digit, 3, within);
        v_and_b32(chunk, 7, within);
        v_lshlrev_b32(from, 8, digit);
        v_lshl_add_u32(from, chunk, 4, from);
        for (uint32_t i = 0; i < stage_loads; ++i) {
            locate_token(stage_offsets[i], token);
            v_add_nc_u32(stage_offsets[i], stage_offsets[i], from);
            if (i == 0) {
                v_mul_u32_u24(stage_address, kSlabRowBytes, token);
                v_lshl_add_u32(stage_address, chunk, 4, stage_address);
                v_mul_u32_u24(digit, digit_bytes, digit);
                v_add_nc_u32(stage_address, digit, stage_address);
            }
            v_add_nc_u32(token, kTileLanes / row_chunks, token);
        }
        // Scales: a lane for each token.
        locate_token(scale_offset, launch_lane());
        place_of_token(scale_address, launch_lane());
        v_cmp_gt_u32(stages_scales, tokens, launch_lane());
        if (!needs_sums) return;
        const Vgpr part = vgpr();
        v_lshrrev_b32(token, 2, launch_lane());
        v_and_b32(part, 3, launch_lane());
        if (tokens * 4 != kTileLanes) v_cmp_gt_u32(stages_sums, tokens, token);
        locate_token(sums_offset, token);
        v_lshl_add_u32(sums_offset, part, 4, sums_offset);
        place_of_token(sums_address, token);
        v_mul_u32_u24(part, sum_stride * 64 / sums.group, part);
        v_add_nc_u32(sums_address, part, sums_address);
    }

    // ---- staging

    // Four lanes for each token. Where that is every lane, loads are not in a branch, before which waits count none.
    template <class Body>
    void if_stages_sums(const Body& body) {
        tokens * 4 == kTileLanes ? body() : if_lanes(stages_sums, body);
    }
    void begin_stage(Sgpr of_step, uint32_t slab, bool begins_step) {
        const Sgpr from = sgpr(2);
        s_mul_i32(bytes, of_step, I16Row::kBlockBytes);
        s_add_u64(from, x, bytes);
        for (uint32_t i = 0; i < stage_loads; ++i) global_load_b128(staged[i], stage_offsets[i], from, slab * kSlab);
        if (!begins_step) return;
        const Sgpr scales = sgpr(2);
        s_lshl_b32(bytes, of_step, 2);
        s_add_co_u32(bytes, bytes, x_layout.scales_offset_bytes());
        s_add_u64(scales, x, bytes);
        if (needs_sums) if_stages_sums([&] { global_load_b128(staged_sums, sums_offset, from, I16Row::kSumsOffset); });
        if_lanes(stages_scales, [&] { global_load_b32(staged_scale, scale_offset, scales); });
    }
    void end_stage(uint32_t buffer, bool begins_step) {
        for (uint32_t i = 0; i < stage_loads; ++i)
            ds_store_b128(stage_address, staged[i], x_lds[buffer] + i * (kTileLanes / 16) * kSlabRowBytes);
        if (!begins_step) return;
        const Vgpr to = vgpr();
        if (needs_sums)
            if_stages_sums([&] {
                v_add_nc_u32(to, sums_next, sums_address);
                if (sums.group == 32) {
                    v_add_nc_u32(staged_sums[0], staged_sums[0], staged_sums[1]);
                    v_add_nc_u32(staged_sums[1], staged_sums[2], staged_sums[3]);
                }
                for (uint32_t i = 0; i < 64 / sums.group; ++i)
                    ds_store_b32(to, staged_sums[i], sums_lds + i * sum_stride);
            });
        if_lanes(stages_scales, [&] {
            v_add_nc_u32(to, sums_next, scale_address);
            ds_store_b32(to, staged_scale, sums_lds + scales_at);
        });
    }

    // ---- a step

    void multiply_step(const StepLayout& step_layout, bool is_last) {
        const Sgpr base = sgpr(2), next = sgpr();
        s_mul_i32(bytes, step, layout.full.bytes());
        s_add_u64(base, *panel_address, bytes);
        if (step_layout.rest() != 0) v_mul_u32_u24(offsets.rest, step_layout.rest() * 4, lane);
        StepString string(*this, step_layout, base, offsets);
        QuadDecoder decoder(*this, spec_.weight, step_layout, string, weights);
        s_mov_b32(sums_now, sums_next);
        s_sub_co_u32(sums_next, sums_bytes, sums_now);
        for (const std::vector<Sums>* cleared : {&blocks, &minima})
            for (const Sums& tile_values : *cleared)
                for (const Vgpr& value : tile_values) v_mov_b32(value, 0);
        v_add_nc_u32(code_sums_address, sums_now, half_offset);
        for (uint32_t first = 0; first < step_layout.elements; first += kSlab) {
            const uint32_t slab = first / kSlab, end = std::min(first + kSlab, step_layout.elements);
            const bool ends_step = end == step_layout.elements;
            const bool stages = !ends_step || !is_last;
            if (stages && !ends_step) begin_stage(step, slab + 1, false);
            if (stages && ends_step) {  // behind the last step it is staged once more
                s_add_co_u32(next, step, 1);
                s_min_u32(next, next, layout.steps() - 1);
                begin_stage(next, 0, true);
            }
            decode_slab(decoder, first, end);
            multiply_slab(slab % 2, first, end, ends_step);
            if (ends_step) finish_step();
            if (stages) {
                end_stage((slab + 1) % 2, ends_step);
                barrier();
            }
        }
    }

    // ---- decoding: lanes are rows of the panel

    void decode_slab(QuadDecoder& decoder, uint32_t first, uint32_t end) {
        const Vgpr row_address = vgpr(), column_address = vgpr();
        v_mad_u32_u24(row_address, lane, kSlabRowBytes, wave_base);
        v_lshl_add_u32(column_address, lane, 2, wave_base);
        const auto store_value = [&](Vgpr value, uint32_t at, uint32_t index) {
            ds_store_b32(column_address, value, weights_lds + at + index * kColumnBytes);
        };
        for (uint32_t element = first; element < end; element += 16) {
            if (element % sums.group == 0) {
                const uint32_t group = (element - first) / sums.group;
                if (has_multiplier) store_value(decoder.multiplier(element), multipliers_at, group);
                if (has_minimum) store_value(decoder.minimum(element), minima_at, group);
            }
            ds_store_b128(row_address, signed_quads(decoder, element), weights_lds + element - first);
            const uint32_t behind = element + 16;
            if (behind % sums.segment == 0 || (behind == end && end % kSlab != 0)) {
                const uint32_t segment = (element - first) / sums.segment;
                store_value(decoder.scale(element), segment_scales_at, segment);
                if (has_offset) store_value(decoder.offset(element), offsets_at, segment);
            }
        }
        if (has_minimum) store_value(decoder.minimum_scale(first), minimum_scales_at, 0);
    }
    // Sixteen elements, less the zero point.
    Vgpr signed_quads(QuadDecoder& decoder, uint32_t element) {
        std::vector<Vgpr> quads;
        for (uint32_t i = 0; i < 4; ++i) quads.push_back(decoder.quad(element + 4 * i).bytes);
        const int32_t zero_point = decoder.zero_point();
        if (zero_point == 0 && are_neighbours(quads)) {
            const RegisterPart part = quads[0].whole();
            return Vgpr({part.id, part.first, 4});
        }
        const Vgpr result = vgpr(4);
        for (uint32_t i = 0; i < 4; ++i) {
            if (zero_point == 0) {
                v_mov_b32(result[i], quads[i]);
                continue;
            }
            // Codes are below 128: the difference and 128 fit the byte, and taking the 128 off flips its top bit.
            const Vgpr raised = vgpr();
            v_add_nc_u32(raised, uint32_t(128 - zero_point) * 0x0101'0101, quads[i]);
            v_xor_b32(result[i], 0x8080'8080, raised);
        }
        return result;
    }
    static bool are_neighbours(const std::vector<Vgpr>& quads) {
        for (uint32_t i = 0; i < 4; ++i)
            if (quads[i].whole().id != quads[0].whole().id || quads[i].whole().first != quads[0].whole().first + i)
                return false;
        return true;
    }

    // ---- multiplying: lanes are columns of tiles

    void multiply_slab(uint32_t buffer, uint32_t first, uint32_t end, bool ends_step) {
        const bool begins_segment = first % sums.segment == 0;
        if (!ends_in_unit && begins_segment)
            for (const Sums& tile_values : accumulated)
                for (const Vgpr& value : tile_values) v_mov_b32(value, 0);
        const Vgpr x_now = vgpr(), weights_now = vgpr(), groups_now = vgpr(), segments_now = vgpr(), sums_of = vgpr();
        const Sgpr count = sgpr();
        v_mov_b32(x_now, x_address);
        v_mov_b32(weights_now, weight_address);
        v_mov_b32(groups_now, value_address);
        if (ends_in_unit) v_mov_b32(segments_now, value_address);
        if (needs_sums) v_add_nc_u32(sums_of, first / sums.group * sum_stride, code_sums_address);
        loop(count, 0, (end - first) / unit, 1, [&] {
            for (uint32_t k = 0; k < unit; k += sums.group)
                multiply_group(x_now, weights_now, groups_now, sums_of, buffer, k);
            if (ends_in_unit) finish_segment(segments_now, sums_of);
            v_add_nc_u32(x_now, unit, x_now);
            v_add_nc_u32(weights_now, unit, weights_now);
            v_add_nc_u32(groups_now, unit / sums.group * kColumnBytes, groups_now);
            if (ends_in_unit) v_add_nc_u32(segments_now, kColumnBytes, segments_now);
            if (needs_sums) v_add_nc_u32(sums_of, unit / sums.group * sum_stride, sums_of);
        });
        if (!ends_in_unit && (end % sums.segment == 0 || ends_step)) finish_segment(value_address, sums_of);
    }

    Vgpr load_value(Vgpr address, uint32_t at, uint32_t column_tile) {
        const Vgpr value = vgpr();
        ds_load_b32(value, address, weights_lds + at + column_tile * kTile * 4);
        return value;
    }
    // Of a tile's tokens, as the lane's sums stand.
    Vgpr load_of_tokens(Vgpr address, uint32_t lds_offset, uint32_t token_tile) {
        const Vgpr values = vgpr(kSums);
        for (uint32_t i = 0; i < kSums; i += 4)
            ds_load_b128(values.part(i, 4), address, lds_offset + (token_tile * kTile + i) * 4);
        return values;
    }

    // Where a segment is one group, or a few, sums begin with its first: `accumulated` is then the unit's alone.
    std::vector<Sums> unit_sums_;

    void multiply_group(Vgpr x_now, Vgpr weights_now, Vgpr groups_now, Vgpr sums_of, uint32_t buffer, uint32_t k) {
        const uint32_t group = k / sums.group;
        std::vector<IntegerTile::Columns> columns;
        std::vector<Vgpr> multipliers, high_multipliers, minima_of;
        for (uint32_t c = 0; c < kColumnTiles; ++c) {
            columns.push_back(tile.load_columns(weights_now, weights_lds + c * kTile * kSlabRowBytes + k));
            if (has_multiplier) {
                multipliers.push_back(load_value(groups_now, multipliers_at + group * kColumnBytes, c));
                high_multipliers.push_back(vgpr());
                v_lshlrev_b32(high_multipliers.back(), 7, multipliers.back());
            }
            if (has_minimum) minima_of.push_back(load_value(groups_now, minima_at + group * kColumnBytes, c));
        }
        if (ends_in_unit && k == 0) unit_sums_ = tile_sums();
        const std::vector<Sums>& to = ends_in_unit ? unit_sums_ : accumulated;
        const bool is_first = ends_in_unit && k == 0;
        for (uint32_t t = 0; t < token_tiles; ++t) {
            const uint32_t rows_at = x_lds[buffer] + t * kTile * kSlabRowBytes + k;
            const std::vector<Vgpr> high = tile.multiply(x_now, rows_at, columns),
                                    low = tile.multiply(x_now, rows_at + digit_bytes, columns);
            std::optional<Vgpr> code_sums;
            if (has_minimum) code_sums = load_of_tokens(sums_of, sums_lds + group * sum_stride, t);
            for (uint32_t c = 0; c < kColumnTiles; ++c) {
                const uint32_t at = t * kColumnTiles + c;
                for (uint32_t v = 0; v < kSums; ++v) {
                    const Vgpr sum = to[at][v];
                    if (has_multiplier) {
                        if (is_first)
                            v_mul_i32_i24(sum, high[c][v], high_multipliers[c]);
                        else
                            v_mad_i32_i24(sum, high[c][v], high_multipliers[c], sum);
                        v_mad_i32_i24(sum, low[c][v], multipliers[c], sum);
                    } else if (is_first) {
                        v_lshl_add_u32(sum, high[c][v], 7, low[c][v]);
                    } else {
                        v_lshl_add_u32(sum, high[c][v], 7, sum);
                        v_add_nc_u32(sum, sum, low[c][v]);
                    }
                    if (has_minimum) v_mad_i32_i24(minima[at][v], minima_of[c], (*code_sums)[v], minima[at][v]);
                }
            }
        }
    }

    // block = fma(sum, scale, block), and with offsets of the codes' sum, whose group the segment is.
    void finish_segment(Vgpr segments_now, Vgpr sums_of) {
        const std::vector<Sums>& from = ends_in_unit ? unit_sums_ : accumulated;
        std::vector<Vgpr> scales, offsets_of;
        for (uint32_t c = 0; c < kColumnTiles; ++c) {
            scales.push_back(load_value(segments_now, segment_scales_at, c));
            if (has_offset) offsets_of.push_back(load_value(segments_now, offsets_at, c));
        }
        block_scales_ = scales;
        if (blocks.empty()) return;  // the step's only segment: finish_step() takes it
        for (uint32_t t = 0; t < token_tiles; ++t) {
            std::optional<Vgpr> code_sums;
            if (has_offset) code_sums = load_of_tokens(sums_of, sums_lds, t);
            for (uint32_t c = 0; c < kColumnTiles; ++c) {
                const uint32_t at = t * kColumnTiles + c;
                for (uint32_t v = 0; v < kSums; ++v) {
                    const Vgpr value = vgpr();
                    v_cvt_f32_i32(value, from[at][v]);
                    v_fmac_f32(blocks[at][v], value, scales[c]);
                    if (!has_offset) continue;
                    const Vgpr code_sum = vgpr();
                    v_cvt_f32_i32(code_sum, (*code_sums)[v]);
                    v_fmac_f32(blocks[at][v], code_sum, offsets_of[c]);
                }
            }
        }
    }
    std::vector<Vgpr> block_scales_;

    // total = fma(block - minima, scale of the activations, total).
    void finish_step() {
        std::vector<Vgpr> minimum_scales;
        for (uint32_t c = 0; has_minimum && c < kColumnTiles; ++c)
            minimum_scales.push_back(load_value(value_address, minimum_scales_at, c));
        for (uint32_t t = 0; t < token_tiles; ++t) {
            const Vgpr scales = load_of_tokens(code_sums_address, sums_lds + scales_at, t);
            for (uint32_t c = 0; c < kColumnTiles; ++c) {
                const uint32_t at = t * kColumnTiles + c;
                for (uint32_t v = 0; v < kSums; ++v) {
                    Vgpr block = vgpr();
                    if (blocks.empty()) {
                        const Vgpr value = vgpr();
                        v_cvt_f32_i32(value, accumulated[at][v]);
                        v_fma_f32(block, value, block_scales_[c], 0);
                    } else {
                        block = blocks[at][v];
                    }
                    if (has_minimum) {
                        const Vgpr value = vgpr();
                        v_cvt_f32_i32(value, minima[at][v]);
                        v_fma_f32(block, -value, minimum_scales[c], block);
                    }
                    v_fma_f32(totals[at][v], block, scales[v], totals[at][v]);
                }
            }
        }
    }

    // ---- results

    void store_tiles() {
        const Label done = label();
        s_cmp_eq_u32(has_panel, 0);
        s_cbranch_scc1(done);
        const Sgpr first_row = sgpr(), is_inside = lane_mask(), has_token = lane_mask(), left = sgpr();
        const Vgpr half = vgpr(), first_token_of_lane = vgpr();
        s_lshl_b32(first_row, panel, std::countr_zero(kPanelRows));
        s_sub_co_u32(left, rows, first_token);
        v_bfe_u32(half, lane, 4, 1);
        const uint32_t half_step = tile.row_of_sum(0, 1), sum_step = tile.row_of_sum(1, 0);
        v_mul_u32_u24(first_token_of_lane, half_step, half);
        const Sgpr base = sgpr(2);
        s_mul_i32(bytes, first_token, spec_.out_stride * 4);
        s_add_u64(base, out, bytes);
        for (uint32_t c = 0; c < kColumnTiles; ++c) {
            const Vgpr matrix_row = vgpr(), bias_value = vgpr(), address = vgpr(), token = vgpr();
            v_add_nc_u32(matrix_row, first_row, row);
            if (c != 0) v_add_nc_u32(matrix_row, c * kTile, matrix_row);
            v_cmp_gt_u32(is_inside, uint32_t(round_up(spec_.rows, 16)), matrix_row);
            v_lshlrev_b32(matrix_row, 2, matrix_row);
            if (spec_.bias == Presence::present) {
                v_mov_b32(bias_value, 0);
                if_lanes(is_inside, [&] { global_load_b32(bias_value, matrix_row, bias); });
            }
            v_mov_b32(token, first_token_of_lane);
            v_mul_lo_u32(address, token, spec_.out_stride * 4);
            v_add_nc_u32(address, matrix_row, address);
            for (uint32_t t = 0; t < token_tiles; ++t) {
                for (uint32_t v = 0; v < kSums; ++v) {
                    const Vgpr value = totals[t * kColumnTiles + c][v];
                    v_cmp_gt_u32(has_token, left, token);
                    s_and_mask(has_token, has_token, is_inside);
                    // Not in the branch: one wait for the bias does for all.
                    if (spec_.bias == Presence::present) v_add_f32(value, value, bias_value);
                    if_lanes(has_token, [&] {
                        if (spec_.epilogue == Epilogue::accumulate) {
                            const Vgpr other = vgpr();
                            global_load_b32(other, address, base);
                            v_add_f32(value, value, other);
                        }
                        global_store_b32(address, value, base);
                    });
                    const bool ends_tile = v + 1 == kSums;
                    if (ends_tile && t + 1 == token_tiles) continue;
                    const uint32_t ahead = ends_tile ? kTile - (kSums - 1) * sum_step : sum_step;
                    v_add_nc_u32(token, ahead, token);
                    v_add_nc_u32(address, ahead * spec_.out_stride * 4, address);
                }
            }
        }
        bind(done);
    }
};

}  // namespace

// Where dot products make the tiles, half as many rows, for the sake of registers.
uint32_t tile_matmul_rows(Target target) { return generation(target) == Generation::gfx10 ? kTile : 2 * kTile; }

LaunchShape tile_matmul_shape(Target target, const MatmulSpec& spec) {
    const uint32_t panels = (spec.rows + kPanelRows - 1) / kPanelRows;
    return {kTileLanes, (panels + kTileWaves - 1) / kTileWaves, tile_matmul_rows(target)};
}

Result<KernelProgram> tile_matmul_program(KernelTarget target, const MatmulSpec& spec, PassOptions options) {
    return assemble<TileMatmulKernel>(target, spec, "matmul", options);
}

}  // namespace riftjit::rdna::kernels
