// Kernels that do nothing of use, and one run of a program that asks the cache for them.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <vector>

#include "jit/cache/cache_admin.h"
#include "jit/cache/cache_entry.h"
#include "jit/cache/kernel_cache.h"
#include "tests/host/scratch.h"

namespace riftjit {

inline KernelSpec test_spec(uint32_t width = 1024) { return QuantizeSpec{width, RowFormat::i16}; }

// mov [rdi], esi; ret: stores `begin` where args points to. payload_bytes of constants make the entry larger.
inline MachineCode test_code(size_t payload_bytes = 64) {
    MachineCode code{std::vector<std::byte>(64 + payload_bytes, std::byte{0x5a}), 3};
    code.bytes[0] = std::byte{0x89};
    code.bytes[1] = std::byte{0x37};
    code.bytes[2] = std::byte{0xc3};
    return code;
}

inline CodeObject test_object(const KernelSpec& spec, Target target, size_t payload_bytes = 64) {
    return write_x86_object(kernel_name(spec), isa_of(target), test_code(payload_bytes));
}

inline Result<CodeObject> compile_test_object(const KernelSpec& spec, Target target) {
    return test_object(spec, target);
}

// What one run of the program saw.
struct CacheRun {
    bool is_answered = false;
    bool from_disk = false;
    uint32_t compiled = 0;
    std::vector<std::string> warnings;
    ErrorKind error_kind{};
    std::string error;
};

// Opens the cache, asks for one kernel per spec, publishes and closes.
inline CacheRun run_once(const std::string& directory, CacheMode mode = CacheMode::rw,
                         const std::vector<KernelSpec>& specs = {test_spec()}, size_t payload_bytes = 64) {
    CacheRun run;
    {
        DiskCache disk =
            DiskCache::open(directory, mode, [&](const std::string& text) { run.warnings.push_back(text); });
        const auto compile = [&](const KernelSpec& spec, Target target) -> Result<CodeObject> {
            ++run.compiled;
            return test_object(spec, target, payload_bytes);
        };
        KernelCache cache(compile, std::move(disk));
        run.is_answered = true;
        for (const KernelSpec& spec : specs) {
            const auto kernel = cache.get(spec, Isa::avx2);
            run.is_answered = run.is_answered && kernel.has_value();
            if (!kernel) {
                run.error_kind = kernel.error().kind;
                run.error = kernel.error().message;
                continue;
            }
            run.from_disk = (*kernel)->from_disk;
        }
        cache.publish();
    }
    return run;
}

// A cache directory with the entry of test_spec() in it.
class FilledCache {
public:
    FilledCache() : directory_(scratch_.path("cache")) { run_once(directory_); }

    const Scratch& scratch() const { return scratch_; }
    const std::string& directory() const { return directory_; }
    std::string entries() const { return directory_ + "/v1"; }
    std::string entry_name() const { return entry_file_name(cache_key(test_spec(), Isa::avx2)); }
    std::string entry_path() const { return entries() + "/" + entry_name(); }
    CacheVerdict verdict() const { return CacheAdmin::open(directory_).value().verify().value(); }

private:
    Scratch scratch_;
    std::string directory_;
};

inline std::vector<std::string> names_in(const std::string& directory) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory))
        names.push_back(entry.path().filename().string());
    return names;
}

// Runs `body` in a child process and returns what it returned, or "died: STATUS". Limits, user ids, environment and
// mounts that the child changes end with it.
inline std::string in_child(const std::function<std::string()>& body) {
    int ends[2];
    if (pipe(ends) != 0) return "no pipe";
    const pid_t child = fork();
    if (child == 0) {
        const std::string text = body();
        std::ignore = write(ends[1], text.data(), text.size());
        _exit(0);
    }
    close(ends[1]);
    std::string output;
    char buffer[4096];
    for (ssize_t count; (count = read(ends[0], buffer, sizeof buffer)) > 0;) output.append(buffer, size_t(count));
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    return status == 0 ? output : fmt::format("died: {:#x} {}", status, output);
}

inline std::string to_text(const CacheRun& run) {
    std::string text = fmt::format("answered={} from_disk={} compiled={} warnings={}", run.is_answered, run.from_disk,
                                   run.compiled, run.warnings.size());
    for (const std::string& warning : run.warnings) text += "\n" + warning;
    if (!run.error.empty()) text += "\nerror: " + run.error;
    return text;
}

inline bool is_root() { return geteuid() == 0; }
inline constexpr uid_t kNobody = 65534;

}  // namespace riftjit
