#include "jit/x86/packed.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "jit/kernel_spec.h"
#include "jit/x86/decoder.h"

namespace riftjit::x86 {

namespace {

bool is_float(DType type) { return type == DType::F32 || type == DType::F16 || type == DType::BF16; }

uint64_t float_panel_bytes(DType type, uint32_t width) {
    const uint64_t padded = type == DType::BF16 ? round_up(width, 2) : width;
    return round_up(padded * kPanelRows * traits(type).block_bytes, 64);
}

// Pointers to the 16 rows of a panel; rows beyond the last read zeros.
struct PanelRows {
    const std::byte* rows[kPanelRows];

    PanelRows(const std::byte* file_rows, uint64_t row_bytes, uint32_t rows_in_tensor, uint32_t panel,
              const std::byte* zeros) {
        for (uint32_t r = 0; r < kPanelRows; ++r) {
            const uint64_t row = uint64_t(panel) * kPanelRows + r;
            rows[r] = row < rows_in_tensor ? file_rows + row * row_bytes : zeros;
        }
    }
};

template <class Word>
void pack_float_panel(const PanelRows& source, uint32_t width, Word* out, uint32_t group) {
    for (uint32_t k = 0; k < width; ++k) {
        Word* line = out + uint64_t(k / group) * group * kPanelRows + k % group;
        for (uint32_t r = 0; r < kPanelRows; ++r)
            std::memcpy(&line[r * group], source.rows[r] + uint64_t(k) * sizeof(Word), sizeof(Word));
    }
}

void pack_float_panel(DType type, const PanelRows& source, uint32_t width, std::byte* out) {
    switch (type) {
        case DType::F32:
            return pack_float_panel(source, width, reinterpret_cast<uint32_t*>(out), 1);
        case DType::F16:
            return pack_float_panel(source, width, reinterpret_cast<uint16_t*>(out), 1);
        default:
            return pack_float_panel(source, width, reinterpret_cast<uint16_t*>(out), 2);
    }
}

// Spreads one row's block over its lane of the panel's planes.
void scatter_block(const DecoderTraits& traits, const PackedBlock& block, uint32_t lane, std::byte* header,
                   std::byte* body) {
    if (traits.header_bytes == 1) {
        header[lane] = static_cast<std::byte>(block.header[0]);
    } else {
        auto* halves = reinterpret_cast<uint16_t*>(header);
        for (uint32_t i = 0; i < traits.header_bytes / 2; ++i) halves[i * kPanelRows + lane] = block.header[i];
    }
    auto* dwords = reinterpret_cast<uint32_t*>(body);
    for (uint32_t i = 0; i < traits.body_dwords; ++i) dwords[i * kPanelRows + lane] = block.body[i];
}

void pack_step(const Decoder& decoder, const PanelRows& source, uint64_t first_block, uint32_t blocks,
               std::byte* header, std::byte* body) {
    const DecoderTraits& traits = decoder.traits();
    const uint32_t block_bytes = riftjit::traits(traits.type).block_bytes;
    PackedBlock packed;
    for (uint32_t block = 0; block < blocks; ++block) {
        for (uint32_t lane = 0; lane < kPanelRows; ++lane) {
            decoder.pack_block(source.rows[lane] + (first_block + block) * block_bytes, packed);
            scatter_block(traits, packed, lane, header + block * traits.header_bytes * kPanelRows,
                          body + block * traits.body_dwords * kPanelRows * sizeof(uint32_t));
        }
    }
}

void pack_decoded_panel(const Decoder& decoder, const PanelLayout& layout, const PanelRows& source, std::byte* out) {
    for (uint32_t step = 0; step < layout.full_steps; ++step)
        pack_step(decoder, source, uint64_t(step) * layout.blocks_per_step, layout.blocks_per_step,
                  out + layout.header_offset + step * layout.header_stride,
                  out + layout.body_offset + step * layout.body_stride);
    pack_step(decoder, source, uint64_t(layout.full_steps) * layout.blocks_per_step, layout.tail_blocks,
              out + layout.header_offset + layout.full_steps * layout.header_stride, out + layout.tail_body_offset);
}

}  // namespace

PanelLayout panel_layout(DType type, uint32_t width) {
    const Decoder* decoder = find_decoder(type);
    check(decoder != nullptr, "panel_layout of a type that is not quantised");
    const uint64_t header = decoder->traits().header_bytes * kPanelRows;  // per block
    const uint64_t body = decoder->traits().body_dwords * kPanelRows * sizeof(uint32_t);
    const uint32_t blocks = width / traits(type).block_elements;
    PanelLayout layout{};
    layout.blocks_per_step = kStepElements / traits(type).block_elements;
    layout.full_steps = blocks / layout.blocks_per_step;
    layout.tail_blocks = blocks % layout.blocks_per_step;
    const uint64_t step_header = layout.blocks_per_step * header, step_body = layout.blocks_per_step * body;
    if (step_header % 64 == 0) {
        layout.header_stride = layout.body_stride = step_header + step_body;
        layout.body_offset = step_header;
        layout.tail_body_offset = layout.full_steps * layout.body_stride + round_up(layout.tail_blocks * header, 64);
    } else {
        layout.header_stride = step_header;
        layout.body_stride = step_body;
        layout.body_offset = round_up(blocks * header, 64);
        layout.tail_body_offset = layout.body_offset + layout.full_steps * layout.body_stride;
    }
    layout.panel_bytes = layout.tail_body_offset + layout.tail_blocks * body;
    return layout;
}

uint64_t packed_panel_bytes(DType type, uint32_t width) {
    return is_float(type) ? float_panel_bytes(type, width) : panel_layout(type, width).panel_bytes;
}

void pack_panels(DType type, uint32_t rows, uint32_t width, const std::byte* file_rows, std::byte* out,
                 uint32_t panel_begin, uint32_t panel_end) {
    const uint64_t bytes = row_bytes(type, width), panel_bytes = packed_panel_bytes(type, width);
    const std::vector<std::byte> zeros(bytes);
    const Decoder* decoder = find_decoder(type);
    const PanelLayout layout = decoder != nullptr ? panel_layout(type, width) : PanelLayout{};
    for (uint32_t panel = panel_begin; panel < panel_end; ++panel) {
        std::byte* to = out + panel * panel_bytes;
        const PanelRows source(file_rows, bytes, rows, panel, zeros.data());
        if (decoder != nullptr)
            pack_decoded_panel(*decoder, layout, source, to);
        else
            pack_float_panel(type, source, width, to);
    }
}

}  // namespace riftjit::x86
