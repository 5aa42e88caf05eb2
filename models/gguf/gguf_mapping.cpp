#include "models/gguf/gguf_mapping.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <mutex>
#include <string_view>
#include <utility>

#include "host/file_kind.h"
#include "host/round_up.h"
#include "models/gguf/gguf.h"
#include "models/gguf/gguf_text.h"

namespace riftjit::models {

// Nodes of a list that only grows, so that the signal handler may walk it without a lock; a node whose `begin` is null
// is free and used again.
struct GuardedRange {
    std::atomic<const std::byte*> begin = nullptr;
    const std::byte* end = nullptr;
    uint64_t offset_bytes = 0;  // of `begin` in the file
    std::string name;
    GuardedRange* next = nullptr;
};

namespace {

std::atomic<GuardedRange*> guarded_ranges = nullptr;
std::mutex guarded_ranges_mutex;  // among writers
std::atomic<LostPageHandler> lost_page_handler = nullptr;
struct sigaction previous_sigbus_action;

void write_to_stderr(std::string_view text) {
    // Nothing can be done about a stderr that takes no text.
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

// Only async-signal-safe calls from here on (signal-safety(7)).
void report_lost_page(const GuardedRange& range, const std::byte* address) {
    const uint64_t offset_bytes = range.offset_bytes + static_cast<uint64_t>(address - range.begin.load());
    char digits[20];
    const char* digits_end = std::to_chars(std::begin(digits), std::end(digits), offset_bytes).ptr;
    write_to_stderr("error: ");
    write_to_stderr(range.name);
    write_to_stderr(": byte ");
    write_to_stderr(std::string_view(digits, digits_end));
    write_to_stderr(" can no longer be read: the file was truncated while in use, or its disk failed\n");
    if (const LostPageHandler end = lost_page_handler) end();
}

void on_sigbus(int, siginfo_t* info, void*) {
    const auto* address = static_cast<const std::byte*>(info->si_addr);
    for (const GuardedRange* range = guarded_ranges.load(); range != nullptr; range = range->next) {
        const std::byte* begin = range->begin.load();
        if (begin != nullptr && address >= begin && address < range->end) report_lost_page(*range, address);
    }
    // The access is repeated under the action that was there before.
    sigaction(SIGBUS, &previous_sigbus_action, nullptr);
}

void install_sigbus_handler() {
    static const bool installed = [] {
        struct sigaction action = {};
        action.sa_sigaction = on_sigbus;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK;
        sigemptyset(&action.sa_mask);
        check(sigaction(SIGBUS, &action, &previous_sigbus_action) == 0, "SIGBUS takes a handler");
        return true;
    }();
    static_cast<void>(installed);
}

GuardedRange* guard(std::span<const std::byte> pages, uint64_t offset_bytes, const std::string& name) {
    install_sigbus_handler();
    const std::lock_guard lock(guarded_ranges_mutex);
    GuardedRange* range = guarded_ranges.load();
    while (range != nullptr && range->begin.load() != nullptr) range = range->next;
    if (range == nullptr) {
        range = new GuardedRange;  // stays in the list until the program ends
        range->next = guarded_ranges.load();
        guarded_ranges.store(range);
    }
    range->end = pages.data() + pages.size();
    range->offset_bytes = offset_bytes;
    range->name = name;
    range->begin.store(pages.data());  // last: the handler may look now
    return range;
}

void release(GuardedRange* range) {
    const std::lock_guard lock(guarded_ranges_mutex);
    range->begin.store(nullptr);
}

uint64_t page_bytes() {
    static const uint64_t bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    return bytes;
}

}  // namespace

void set_lost_page_handler(LostPageHandler handler) { lost_page_handler = handler; }

Mapping::Mapping(Mapping&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})),
      pages_(std::exchange(other.pages_, {})),
      guard_(std::exchange(other.guard_, nullptr)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(pages_, other.pages_);
    std::swap(guard_, other.guard_);
    return *this;
}

Mapping::~Mapping() {
    if (guard_ == nullptr) return;
    munmap(pages_.data(), pages_.size());
    release(guard_);
}

void Mapping::shrink(uint64_t size) {
    check(size <= bytes_.size(), "a mapping only shrinks");
    bytes_ = bytes_.first(size);
    if (guard_ == nullptr) return;
    const uint64_t before = static_cast<uint64_t>(bytes_.data() - pages_.data());
    const uint64_t kept = std::max(round_up(before + size, page_bytes()), page_bytes());
    if (kept >= pages_.size()) return;
    munmap(pages_.data() + kept, pages_.size() - kept);
    pages_ = pages_.first(kept);
    guard_->end = pages_.data() + kept;
}

void Mapping::drop_pages(std::span<const std::byte> range) {
    const auto begin = reinterpret_cast<uintptr_t>(range.data());
    const uintptr_t first = round_up(begin, page_bytes());
    const uintptr_t end = (begin + range.size()) / page_bytes() * page_bytes();
    if (first < end) madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
}

Result<RegularFile> RegularFile::open(const std::filesystem::path& path) {
    const std::string name = printable_path(path);
    if (path.native().find('\0') != std::string::npos)
        return fail(ErrorKind::Usage, "{}: the path contains a NUL byte", name);
    // Looked at before it is opened, because opening some devices has effects; and again afterwards, because it may
    // have been replaced in between.
    struct stat status = {};
    if (stat(path.c_str(), &status) != 0) return fail(ErrorKind::Io, "{}: cannot open: {}", name, std::strerror(errno));
    RIFTJIT_TRY_VOID(require_regular_file(status, name));
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (descriptor < 0) return fail(ErrorKind::Io, "{}: cannot open: {}", name, std::strerror(errno));
    RegularFile file(descriptor, 0, name);
    if (fstat(descriptor, &status) != 0) return fail(ErrorKind::Io, "{}: cannot stat: {}", name, std::strerror(errno));
    RIFTJIT_TRY_VOID(require_regular_file(status, name));
    file.size_bytes_ = static_cast<uint64_t>(status.st_size);
    return file;
}

RegularFile::RegularFile(RegularFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      size_bytes_(other.size_bytes_),
      name_(std::move(other.name_)) {}

RegularFile::~RegularFile() {
    if (descriptor_ >= 0) close(descriptor_);
}

Result<Mapping> RegularFile::map(uint64_t offset_bytes, uint64_t size_bytes) const {
    check(offset_bytes <= size_bytes_ && size_bytes <= size_bytes_ - offset_bytes, "only bytes of the file are mapped");
    Mapping mapping;
    if (size_bytes == 0) return mapping;
    const uint64_t before = offset_bytes % page_bytes();
    void* pages = mmap(nullptr, before + size_bytes, PROT_READ, MAP_SHARED, descriptor_,
                       static_cast<off_t>(offset_bytes - before));
    if (pages == MAP_FAILED)
        return fail(ErrorKind::Io, "{}: cannot map {} bytes at byte {}: {}", name_, size_bytes, offset_bytes,
                    std::strerror(errno));
    mapping.pages_ = {static_cast<std::byte*>(pages), before + size_bytes};
    mapping.bytes_ = mapping.pages_.subspan(before);
    mapping.guard_ = guard(mapping.pages_, offset_bytes - before, name_);
    return mapping;
}

}  // namespace riftjit::models
