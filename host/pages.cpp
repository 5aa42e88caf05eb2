#include "host/pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "host/round_up.h"

namespace riftjit {
namespace {

constexpr uint64_t kHugePageBytes = 2 << 20;

std::byte* map_anonymous(uint64_t bytes, int flags) {
    void* const address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    return address == MAP_FAILED ? nullptr : static_cast<std::byte*>(address);
}

// Maps more than needed, then gives back what lies before the first and behind the last boundary.
std::byte* map_aligned(uint64_t bytes, uint64_t alignment, int flags) {
    std::byte* const base = map_anonymous(bytes + alignment, flags);
    if (base == nullptr) return nullptr;
    const uint64_t before = (alignment - reinterpret_cast<uintptr_t>(base) % alignment) % alignment;
    if (before > 0) munmap(base, before);
    if (alignment > before) munmap(base + before + bytes, alignment - before);
    return base + before;
}

}  // namespace

Result<Pages> Pages::allocate(uint64_t bytes, Size size, std::string_view what, Backing backing) {
    if (bytes == 0) return Pages();
    const bool huge = size == Size::huge && bytes >= kHugePageBytes;
    const int flags = backing == Backing::sparse ? MAP_NORESERVE : 0;
    const uint64_t page_bytes = uint64_t(sysconf(_SC_PAGESIZE));
    if (bytes > std::numeric_limits<int64_t>::max() / 2)
        return fail(ErrorKind::OutOfMemory, "{} needs {} bytes, more than any process can have", what, bytes);
    const uint64_t whole = round_up(bytes, page_bytes);
    std::byte* const data = huge ? map_aligned(whole, kHugePageBytes, flags) : map_anonymous(whole, flags);
    if (data == nullptr)
        return fail(ErrorKind::OutOfMemory, "{} needs {} bytes of memory: {}", what, bytes, std::strerror(errno));
    if (huge) madvise(data, whole, MADV_HUGEPAGE);  // a wish: a kernel without huge pages may refuse
    return Pages(data, whole);
}

Pages::Pages(Pages&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_bytes_(std::exchange(other.size_bytes_, 0)) {}

Pages& Pages::operator=(Pages&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_bytes_, other.size_bytes_);
    return *this;
}

Pages::~Pages() {
    if (data_ != nullptr) munmap(data_, size_bytes_);
}

}  // namespace riftjit
