// Anonymous memory from the system: zeroed, aligned, committed page by page as it is first touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "host/result.h"

namespace riftjit {

class Pages {
public:
    // huge: asks for 2 MiB pages, good for memory that is read as a stream.
    enum class Size : uint8_t { normal, huge };
    // sparse: address space for an upper bound of which little is used. The system need not be able to back all of it.
    enum class Backing : uint8_t { whole, sparse };

    Pages() = default;
    // Fails naming `what` and the bytes needed. At least 64-byte aligned; huge pages start on 2 MiB.
    static Result<Pages> allocate(uint64_t bytes, Size size, std::string_view what, Backing backing = Backing::whole);
    Pages(Pages&& other) noexcept;
    Pages& operator=(Pages&& other) noexcept;
    ~Pages();

    std::byte* data() const { return data_; }
    template <class T>
    T* as() const {
        return reinterpret_cast<T*>(data_);
    }
    uint64_t size_bytes() const { return size_bytes_; }

private:
    Pages(std::byte* data, uint64_t size_bytes) : data_(data), size_bytes_(size_bytes) {}

    std::byte* data_ = nullptr;
    uint64_t size_bytes_ = 0;
};

}  // namespace riftjit
