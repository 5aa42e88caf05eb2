// Regular files mapped read-only, opened without ever blocking. A mapped page that can no longer be read (the file was
// truncated by another process, the disk failed) ends the program with a message before the SIGBUS, or instead of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "host/result.h"

namespace riftjit::models {

// What becomes of the process after such a page was read and the line about it has gone to stderr. Called in the
// signal's handler: only what signal-safety(7) lists. When it returns, or null as at first, SIGBUS takes its course.
using LostPageHandler = void (*)();
void set_lost_page_handler(LostPageHandler handler);

struct GuardedRange;  // what the SIGBUS handler knows of a mapping

// A range of a file in memory. Unmapped on destruction.
class Mapping {
public:
    Mapping() = default;
    Mapping(Mapping&& other) noexcept;
    Mapping& operator=(Mapping&& other) noexcept;
    ~Mapping();

    std::span<const std::byte> bytes() const { return bytes_; }
    // Unmaps what lies behind the first `size` bytes.
    void shrink(uint64_t size);
    // Gives the whole pages inside `range` back to the kernel; they are read again from the file when touched.
    static void drop_pages(std::span<const std::byte> range);

private:
    friend class RegularFile;
    std::span<const std::byte> bytes_;  // as asked for
    std::span<std::byte> pages_;        // as mapped
    GuardedRange* guard_ = nullptr;
};

class RegularFile {
public:
    // Refuses at once whatever is not a regular file: a FIFO without a writer is not waited for.
    static Result<RegularFile> open(const std::filesystem::path& path);
    RegularFile(RegularFile&& other) noexcept;
    RegularFile& operator=(RegularFile&&) = delete;
    ~RegularFile();

    const std::string& name() const { return name_; }  // the path, escaped for messages
    uint64_t size_bytes() const { return size_bytes_; }
    Result<Mapping> map(uint64_t offset_bytes, uint64_t size_bytes) const;

private:
    RegularFile(int descriptor, uint64_t size_bytes, std::string name)
        : descriptor_(descriptor), size_bytes_(size_bytes), name_(std::move(name)) {}
    int descriptor_;
    uint64_t size_bytes_;
    std::string name_;
};

}  // namespace riftjit::models
