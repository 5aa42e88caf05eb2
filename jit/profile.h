// Tells profilers and debuggers where generated kernels lie: perf's map file and gdb's JIT interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host/result.h"
#include "jit/code_object.h"

namespace riftjit {

enum class Profile : uint8_t { none = 0, perf_map = 1, gdb = 2 };  // bits
constexpr Profile operator|(Profile a, Profile b) { return Profile(uint8_t(a) | uint8_t(b)); }
constexpr bool has(Profile set, Profile bit) { return (uint8_t(set) & uint8_t(bit)) != 0; }

// Announces kernels as long as it lives; gdb forgets them with it. perf's file stays for `perf report`.
class ProfileRegistry {
public:
    explicit ProfileRegistry(Profile sinks);
    ~ProfileRegistry();
    ProfileRegistry(const ProfileRegistry&) = delete;
    ProfileRegistry& operator=(const ProfileRegistry&) = delete;

    // The kernel's instructions lie at `address` and are executable.
    Result<void> announce(const CodeObject& object, const std::byte* address, uint32_t instruction_bytes);

private:
    struct GdbEntry;
    Profile sinks_;
    std::vector<std::unique_ptr<GdbEntry>> gdb_entries_;
};

// Where perf looks for the names of this process: tools/perf/Documentation/jit-interface.txt.
std::string perf_map_path();

}  // namespace riftjit
