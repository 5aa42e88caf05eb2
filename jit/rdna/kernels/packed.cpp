#include "jit/rdna/kernels/packed.h"

#include <algorithm>
#include <cstring>

#include "host/result.h"
#include "host/round_up.h"

namespace riftjit::rdna::kernels {
namespace {

uint32_t blocks_per_step(DType type) { return kStepElements / traits(type).block_elements; }

bool is_digits(const BitField& field) { return field.role == FieldRole::digits; }

// Digits share bytes: as many as the block has bytes of them.
uint32_t digit_bytes(const BitField& field) {
    uint32_t bytes = 0;
    for (const BitPlane& plane : field.planes) {
        check(plane.first_bit == bytes * 8 && plane.bits == 8, "digits are bytes, one plane behind the other");
        for (const Axis& axis : plane.axes)
            if (axis.stride != 0) bytes += axis.extent;
    }
    return bytes;
}

// `bits` bits of a block, from bit `from` on, to bit `to` of the string.
struct Move {
    uint32_t from, to;
    uint32_t bits;
};

void append(std::vector<Move>& moves, const Move& move) {
    if (!moves.empty()) {
        Move& last = moves.back();
        if (last.from + last.bits == move.from && last.to + last.bits == move.to && last.bits + move.bits <= 32) {
            last.bits += move.bits;
            return;
        }
    }
    moves.push_back(move);
}

// The bits [low, low + bits) of a field's value.
void append_value(std::vector<Move>& moves, const BitField& field, uint32_t value, uint32_t first_block_bit,
                  uint32_t low, uint32_t bits, uint32_t to) {
    for (const BitPlane& plane : field.planes) {
        if (value - plane.first_value >= plane.values()) continue;
        const uint32_t begin = std::max<uint32_t>(low, plane.to_bit),
                       end = std::min<uint32_t>(low + bits, plane.to_bit + plane.bits);
        if (begin >= end) continue;
        append(moves, {first_block_bit + plane.bit_of(value) + begin - plane.to_bit, to + begin - low, end - begin});
    }
}

// Where in its plane an element's bits lie.
uint32_t code_bit(uint32_t element, uint32_t bits) {
    const uint32_t per_dword = 32 / bits, within = element % per_dword;
    return element / per_dword * 32 + within % 4 * 8 + within / 4 * bits;
}

// Of a row's step, `blocks` blocks.
std::vector<Move> step_moves(const WeightFormat& format, const StepLayout& layout, uint32_t blocks) {
    const auto& [type, type_name, block_elements, block_bytes, is_weight] = traits(format.type);
    std::vector<Move> moves;
    for (const PackedPiece& piece : layout.planes) {
        const BitField& field = format.fields[piece.field];
        if (is_digits(field)) {
            for (uint32_t byte = 0; byte < digit_bytes(field); ++byte)
                append(moves, {byte * 8, piece.first_bit + byte * 8, 8});
            continue;
        }
        for (uint32_t element = 0; element < layout.elements; ++element)
            append_value(moves, field, element % block_elements, element / block_elements * block_bytes * 8,
                         piece.to_bit, piece.bits, piece.first_bit + code_bit(element, piece.bits));
    }
    for (const PackedPiece& piece : layout.shared) {
        const BitField& field = format.fields[piece.field];
        const uint32_t values = block_elements / field.span;
        for (uint32_t block = 0; block < blocks; ++block)
            for (uint32_t value = 0; value < values; ++value)
                append_value(moves, field, value, block * block_bytes * 8, 0, piece.bits,
                             piece.first_bit + (block * values + value) * piece.bits);
    }
    return moves;
}

// Strings of rows are at most 256 dwords and a half long.
using StringWords = std::array<uint32_t, kStepElements + 1>;

void move_bits(const std::vector<Move>& moves, const std::byte* blocks, StringWords& string) {
    for (const Move& move : moves) {
        uint64_t word = 0;
        std::memcpy(&word, blocks + move.from / 8, (move.from % 8 + move.bits + 7) / 8);
        word = (word >> move.from % 8 & ((uint64_t{1} << move.bits) - 1)) << move.to % 32;
        string[move.to / 32] |= uint32_t(word);
        if (word >> 32 != 0) string[move.to / 32 + 1] |= uint32_t(word >> 32);
    }
}

void place_string(const StepLayout& layout, const StringWords& string, uint32_t row, std::byte* step) {
    for (uint32_t chunk = 0; chunk < layout.chunks(); ++chunk)
        std::memcpy(step + layout.chunk_offset_bytes(chunk) + row * 16, &string[chunk * 4], 16);
    std::memcpy(step + layout.rest_offset_bytes() + row * layout.rest() * 4, &string[layout.chunks() * 4],
                layout.rest() * 4);
    if (layout.has_half) std::memcpy(step + layout.half_offset_bytes() + row * 2, &string[layout.dwords], 2);
}

class StepPacker {
public:
    StepPacker(const WeightFormat& format, const StepLayout& layout, uint32_t blocks)
        : layout_(layout), moves_(step_moves(format, layout, blocks)) {}
    void pack(const std::byte* blocks, uint32_t row, std::byte* step) const {
        StringWords string{};
        move_bits(moves_, blocks, string);
        place_string(layout_, string, row, step);
    }

private:
    const StepLayout& layout_;
    const std::vector<Move> moves_;
};

void pack_quantised(DType type, uint32_t rows, uint32_t width, const std::byte* file, std::byte* out, uint32_t begin,
                    uint32_t end) {
    const WeightFormat& format = weight_format(type);
    const PanelLayout panel(type, width);
    const uint32_t step_blocks = blocks_per_step(type), block_bytes = traits(type).block_bytes;
    const StepPacker full(format, panel.full, step_blocks), tail(format, panel.tail, std::max(1u, panel.tail_blocks));
    for (uint32_t row = begin; row < end && row < rows; ++row) {
        const std::byte* blocks = file + row * row_bytes(type, width);
        std::byte* step = out + row / kPanelRows * panel.bytes();
        for (uint32_t i = 0; i < panel.full_steps; ++i) {
            full.pack(blocks, row % kPanelRows, step);
            blocks += uint64_t(step_blocks) * block_bytes;
            step += panel.full.bytes();
        }
        if (panel.tail_blocks != 0) tail.pack(blocks, row % kPanelRows, step);
    }
}

void pack_floats(DType type, uint32_t rows, uint32_t width, const std::byte* file, std::byte* out, uint32_t begin,
                 uint32_t end) {
    const uint64_t bytes = row_bytes(type, width);
    for (uint32_t row = begin; row < end && row < rows; ++row) {
        const std::byte* from = file + row * bytes;
        std::byte* to = out + row / kPanelRows * panel_bytes(type, width) + row % kPanelRows * kFloatChunkBytes;
        for (uint64_t done = 0; done < bytes; done += kFloatChunkBytes, to += kPanelRows * kFloatChunkBytes)
            std::memcpy(to, from + done, std::min<uint64_t>(kFloatChunkBytes, bytes - done));
    }
}

}  // namespace

StepLayout::StepLayout(const WeightFormat& format, uint32_t blocks) {
    elements = blocks * traits(format.type).block_elements;
    uint32_t next = 0;
    for (uint8_t i = 0; i < format.fields.size(); ++i) {
        const BitField& field = format.fields[i];
        if (field.span != 1) continue;
        if (is_digits(field)) {
            check(blocks == 1, "a step of digits is one block");
            planes.push_back({.field = i, .bits = 8, .first_bit = next});
            next += digit_bytes(field) * 8;
            continue;
        }
        for (uint8_t bits = 8, done = 0; bits != 0; bits /= 2) {
            if ((field.bits() & bits) == 0) continue;
            planes.push_back({.field = i, .bits = bits, .to_bit = done, .first_bit = next});
            done = uint8_t(done + bits);
            next += elements * bits;
        }
    }
    for (uint8_t i = 0; i < format.fields.size(); ++i)
        if (const BitField& field = format.fields[i]; field.span != 1)
            shared.push_back({.field = i, .bits = uint8_t(field.bits()), .first_bit = 0});
    std::ranges::stable_sort(shared, std::greater(), &PackedPiece::bits);
    for (PackedPiece& piece : shared) {
        piece.first_bit = next;
        next += elements / format.fields[piece.field].span * piece.bits;
    }
    const uint32_t left = next % 32;
    has_half = left == 16;
    dwords = next / 32 + (left != 0 && !has_half ? 1 : 0);
}

PanelLayout::PanelLayout(DType type, uint32_t width)
    : full_steps(width / kStepElements),
      full(weight_format(type), blocks_per_step(type)),
      tail_blocks(width % kStepElements / traits(type).block_elements),
      tail(weight_format(type), std::max(1u, tail_blocks)) {}

std::vector<int8_t> grid_of(DType type) {
    for (const LaneStep& step : weight_format(type).steps) {
        const auto table = LaneTable(step.index);
        if (step.op != LaneOp::lookup || table == LaneTable::nonlinear || table == LaneTable::fp4 ||
            table == LaneTable::ternary_powers)
            continue;
        const auto entries = lane_table(table);
        return {entries.begin(), entries.end()};
    }
    return {};
}

uint64_t panel_bytes(DType type, uint32_t width) {
    if (is_float(type)) return round_up(row_bytes(type, width), kFloatChunkBytes) * kPanelRows;
    return PanelLayout(type, width).bytes();
}

uint64_t panels_offset_bytes(DType type) { return is_float(type) ? 0 : round_up(grid_of(type).size(), 64); }

uint64_t packed_bytes(DType type, uint32_t rows, uint32_t width) {
    return panels_offset_bytes(type) + round_up(rows, kPanelRows) / kPanelRows * panel_bytes(type, width);
}

void pack_grid(DType type, std::byte* out) {
    if (is_float(type)) return;
    const std::vector<int8_t> grid = grid_of(type);
    if (!grid.empty()) std::memcpy(out, grid.data(), grid.size());
}

void pack_panels(DType type, uint32_t rows, uint32_t width, const std::byte* file, std::byte* out, uint32_t begin,
                 uint32_t end) {
    const auto pack = is_float(type) ? pack_floats : pack_quantised;
    pack(type, rows, width, file, out + panels_offset_bytes(type), begin * kPanelRows, end * kPanelRows);
}

}  // namespace riftjit::rdna::kernels
