#include "runtime/cpu/weight_pieces.h"

#include <algorithm>
#include <cstring>

#include "host/round_up.h"
#include "jit/x86/decoders/packed.h"

namespace riftjit::runtime {
namespace {

uint32_t panels_of(const FileTensor& tensor) { return (tensor.rows + x86::kPanelRows - 1) / x86::kPanelRows; }

}  // namespace

void WeightPieces::append(uint64_t at, uint64_t bytes, Source source) {
    check(pieces_.empty() || at >= pieces_.back().end, "weights come in the order of their places");
    pieces_.push_back({at, at + bytes, std::move(source)});
}

void WeightPieces::add(uint64_t at, std::vector<std::byte> bytes) {
    const uint64_t size = bytes.size();
    append(at, size, std::move(bytes));
}

void WeightPieces::add(uint64_t at, const FileTensor& tensor) {
    const uint64_t panel_bytes = x86::packed_panel_bytes(tensor.type, tensor.width);
    const uint64_t bytes = panels_of(tensor) * panel_bytes;
    if (tensor.is_temporary) {
        std::vector<std::byte> packed(bytes);
        x86::pack_panels(tensor.type, tensor.rows, tensor.width, tensor.data, packed.data(), 0, panels_of(tensor));
        return add(at, std::move(packed));
    }
    flank_ = std::max(flank_, panel_bytes);
    append(at, bytes, tensor);
}

void WeightPieces::make(uint64_t begin, uint64_t end, std::byte* out) const {
    auto piece = std::ranges::upper_bound(pieces_, begin, {}, &Piece::begin);
    if (piece != pieces_.begin()) --piece;
    for (; piece != pieces_.end() && piece->begin < end; ++piece) {
        const uint64_t first = std::max(begin, piece->begin), last = std::min(end, piece->end);
        if (first >= last) continue;
        if (const auto* bytes = std::get_if<std::vector<std::byte>>(&piece->source)) {
            std::memcpy(out + (first - begin), bytes->data() + (first - piece->begin), last - first);
            continue;
        }
        const auto& tensor = std::get<FileTensor>(piece->source);
        const uint64_t panel_bytes = x86::packed_panel_bytes(tensor.type, tensor.width);
        const auto first_panel = uint32_t((first - piece->begin) / panel_bytes);
        const auto last_panel = uint32_t((last - piece->begin + panel_bytes - 1) / panel_bytes);
        // pack_panels() counts from the tensor's place, which may lie far before `out`.
        const auto place = reinterpret_cast<std::byte*>(reinterpret_cast<uintptr_t>(out) + piece->begin - begin);
        x86::pack_panels(tensor.type, tensor.rows, tensor.width, tensor.data, place, first_panel, last_panel);
    }
}

}  // namespace riftjit::runtime
