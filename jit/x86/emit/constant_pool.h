// The constants behind a kernel's instructions: equal ones are stored once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "jit/kernel_spec.h"

namespace riftjit::x86 {

class ConstantPool {
public:
    // Offset from the pool's start, which is aligned to 64. Alignments are powers of two up to that.
    int offset_of(std::span<const std::byte> constant, size_t alignment) {
        const auto known = std::ranges::find_if(entries_, [&](const Entry& entry) {
            return entry.alignment >= alignment && entry.size == constant.size() &&
                   std::memcmp(bytes_.data() + entry.offset, constant.data(), constant.size()) == 0;
        });
        if (known != entries_.end()) return static_cast<int>(known->offset);
        bytes_.resize(round_up(bytes_.size(), alignment));
        entries_.push_back({bytes_.size(), constant.size(), alignment});
        bytes_.insert(bytes_.end(), constant.begin(), constant.end());
        return static_cast<int>(entries_.back().offset);
    }
    std::span<const std::byte> bytes() const { return bytes_; }

private:
    struct Entry {
        size_t offset, size, alignment;
    };
    std::vector<std::byte> bytes_;
    std::vector<Entry> entries_;
};

}  // namespace riftjit::x86
