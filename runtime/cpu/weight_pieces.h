// What the weights in memory on demand are made of: tensors of the file, packed when they are wanted, and small
// vectors.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "host/demand_memory.h"
#include "runtime/device.h"

namespace riftjit::runtime {

class WeightPieces final : public DemandMemory::Maker {
public:
    // In ascending order of places, before any is touched.
    void add(uint64_t at, const FileTensor& tensor);
    void add(uint64_t at, std::vector<std::byte> bytes);

    void make(uint64_t begin, uint64_t end, std::byte* out) const override;
    uint64_t flank() const override { return flank_; }

private:
    using Source = std::variant<FileTensor, std::vector<std::byte>>;
    struct Piece {
        uint64_t begin, end;
        Source source;
    };
    void append(uint64_t at, uint64_t bytes, Source source);

    std::vector<Piece> pieces_;
    uint64_t flank_ = 0;  // bytes of the largest panel, which is packed whole
};

}  // namespace riftjit::runtime
