#include "jit/profile.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>

#include "host/file_descriptor.h"

// The GDB manual, "JIT Compilation Interface": these names, types and the empty function are the protocol.
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" {
enum jit_actions_t : uint32_t { JIT_NOACTION = 0, JIT_REGISTER_FN, JIT_UNREGISTER_FN };
struct jit_code_entry {
    jit_code_entry* next_entry;
    jit_code_entry* prev_entry;
    const char* symfile_addr;
    uint64_t symfile_size;
};
struct jit_descriptor {
    uint32_t version;
    uint32_t action_flag;
    jit_code_entry* relevant_entry;
    jit_code_entry* first_entry;
};
[[gnu::noinline, gnu::used]] void __jit_debug_register_code() { asm volatile("" ::: "memory"); }
[[gnu::used]] jit_descriptor __jit_debug_descriptor = {1, JIT_NOACTION, nullptr, nullptr};
}
// NOLINTEND(bugprone-reserved-identifier)

namespace riftjit {

namespace {

std::mutex gdb_mutex;  // the list is one per process

void link_entry(jit_code_entry& entry) {
    const std::lock_guard lock(gdb_mutex);
    entry.prev_entry = nullptr;
    entry.next_entry = __jit_debug_descriptor.first_entry;
    if (entry.next_entry != nullptr) entry.next_entry->prev_entry = &entry;
    __jit_debug_descriptor.first_entry = &entry;
    __jit_debug_descriptor.relevant_entry = &entry;
    __jit_debug_descriptor.action_flag = JIT_REGISTER_FN;
    __jit_debug_register_code();
}

void unlink_entry(jit_code_entry& entry) {
    const std::lock_guard lock(gdb_mutex);
    if (entry.prev_entry != nullptr)
        entry.prev_entry->next_entry = entry.next_entry;
    else
        __jit_debug_descriptor.first_entry = entry.next_entry;
    if (entry.next_entry != nullptr) entry.next_entry->prev_entry = entry.prev_entry;
    __jit_debug_descriptor.relevant_entry = &entry;
    __jit_debug_descriptor.action_flag = JIT_UNREGISTER_FN;
    __jit_debug_register_code();
}

// The file is opened for each line: kernels are few, and a child process after fork() writes to its own.
Result<void> append_to_perf_map(std::string_view line) {
    const std::string path = perf_map_path();
    const FileDescriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0644));
    if (!file) return fail(ErrorKind::Io, "perf map: cannot open {}: {}", path, std::strerror(errno));
    if (write(file.get(), line.data(), line.size()) != ssize_t(line.size()))
        return fail(ErrorKind::Io, "perf map: cannot write {}: {}", path, std::strerror(errno));
    return {};
}

}  // namespace

struct ProfileRegistry::GdbEntry {
    std::vector<std::byte> elf;
    jit_code_entry entry{};
};

ProfileRegistry::ProfileRegistry(Profile sinks) : sinks_(sinks) {}

ProfileRegistry::~ProfileRegistry() {
    for (const auto& entry : gdb_entries_) unlink_entry(entry->entry);
}

Result<void> ProfileRegistry::announce(const CodeObject& object, const std::byte* address, uint32_t instruction_bytes) {
    if (has(sinks_, Profile::gdb)) {
        auto entry = std::make_unique<GdbEntry>();
        entry->elf = place_x86_object(object.elf, address);
        entry->entry.symfile_addr = reinterpret_cast<const char*>(entry->elf.data());
        entry->entry.symfile_size = entry->elf.size();
        link_entry(entry->entry);
        gdb_entries_.push_back(std::move(entry));
    }
    if (!has(sinks_, Profile::perf_map)) return {};
    return append_to_perf_map(
        fmt::format("{:x} {:x} {}\n", reinterpret_cast<uintptr_t>(address), instruction_bytes, object.name));
}

std::string perf_map_path() { return fmt::format("/tmp/perf-{}.map", getpid()); }

}  // namespace riftjit
