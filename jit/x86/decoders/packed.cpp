#include "jit/x86/decoders/packed.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "jit/kernel_spec.h"
#include "jit/x86/decoders/decoder.h"

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

// Lines of `group` consecutive elements of each row; the last is filled up with zeros.
template <class Word>
void pack_float_panel(const PanelRows& source, uint32_t width, Word* out, uint32_t group) {
    for (uint32_t k = 0; k < round_up(width, group); ++k) {
        Word* line = out + uint64_t(k / group) * group * kPanelRows + k % group;
        for (uint32_t r = 0; r < kPanelRows; ++r) {
            if (k < width)
                std::memcpy(&line[r * group], source.rows[r] + uint64_t(k) * sizeof(Word), sizeof(Word));
            else
                line[r * group] = 0;
        }
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
               std::byte* headers, std::byte* bodies) {
    const StepLayout layout = step_layout(decoder.traits());
    const uint32_t block_bytes = riftjit::traits(decoder.traits().type).block_bytes;
    PackedBlock packed;
    for (uint32_t block = 0; block < blocks; ++block) {
        for (uint32_t lane = 0; lane < kPanelRows; ++lane) {
            decoder.pack_block(source.rows[lane] + (first_block + block) * block_bytes, packed);
            scatter_block(decoder.traits(), packed, lane, headers + layout.header_position(block),
                          bodies + layout.body_position(block));
        }
    }
}

void pack_decoded_panel(const Decoder& decoder, const PanelLayout& layout, const PanelRows& source, std::byte* out) {
    for (uint32_t step = 0; step <= layout.full_steps; ++step)
        pack_step(decoder, source, uint64_t(step) * layout.blocks_per_step,
                  step < layout.full_steps ? layout.blocks_per_step : layout.tail_blocks,
                  out + layout.header_offset + step * layout.header_stride,
                  out + layout.body_offset + step * layout.body_stride);
}

}  // namespace

uint32_t StepLayout::chunk_header_bytes() const {
    return static_cast<uint32_t>(round_up(blocks_per_chunk * header_bytes, 64));
}

uint32_t StepLayout::header_position(uint32_t block) const {
    return block / blocks_per_chunk * chunk_bytes() + block % blocks_per_chunk * header_bytes;
}

uint32_t StepLayout::body_position(uint32_t block) const {
    const uint32_t first_body = has_separate_headers ? 0 : chunk_header_bytes();
    return block / blocks_per_chunk * chunk_bytes() + first_body + block % blocks_per_chunk * body_bytes;
}

uint32_t StepLayout::bytes(
    uint32_t blocks) const {  // the last chunk's headers are padded, absent bodies are not stored
    return blocks == 0 ? 0 : body_position(blocks - 1) + body_bytes;
}

StepLayout step_layout(const DecoderTraits& traits) {
    StepLayout layout{};
    layout.blocks_per_step = kStepElements / riftjit::traits(traits.type).block_elements;
    layout.header_bytes = traits.header_bytes * kPanelRows;
    layout.body_bytes = traits.body_dwords * kPanelRows * static_cast<uint32_t>(sizeof(uint32_t));
    const uint32_t filling = layout.header_bytes == 0 ? 1 : 64 / std::gcd(64u, layout.header_bytes);
    layout.has_separate_headers = filling > layout.blocks_per_step;
    layout.blocks_per_chunk = layout.has_separate_headers ? 1 : filling;
    return layout;
}

PanelLayout panel_layout(DType type, uint32_t width) {
    const Decoder* decoder = find_decoder(type);
    check(decoder != nullptr, "panel_layout of a type that is not quantised");
    const StepLayout step = step_layout(decoder->traits());
    const uint32_t blocks = width / traits(type).block_elements;
    PanelLayout layout{};
    layout.blocks_per_step = step.blocks_per_step;
    layout.full_steps = blocks / step.blocks_per_step;
    layout.tail_blocks = blocks % step.blocks_per_step;
    layout.body_stride = step.bytes(step.blocks_per_step);
    layout.header_stride = layout.body_stride;
    if (step.has_separate_headers) {
        layout.header_stride = step.blocks_per_step * step.header_bytes;
        layout.body_offset = round_up(uint64_t(blocks) * step.header_bytes, 64);
    }
    layout.panel_bytes = layout.body_offset + layout.full_steps * layout.body_stride + step.bytes(layout.tail_blocks);
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
