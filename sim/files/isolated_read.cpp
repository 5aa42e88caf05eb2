#include "sim/files/isolated_read.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>

#include "sim/files/append_file.h"
#include "sim/files/spool.h"

namespace riftjit::sim {

namespace {

// The child's answer: kSpoolMagic and blocks, or the kind of its error as one byte and the message.
Result<void> answer(AppendFile& file, const Result<Recording>& read) {
    if (read) return append_spool(file, *read);
    return file.append(char(read.error().kind) + read.error().message);
}

constexpr uint64_t kMiB = 1 << 20;

std::unexpected<Error> beyond_memory(uint64_t file_bytes) {
    return fail(ErrorKind::OutOfMemory,
                "needs more memory than there is, or than {} MiB, the most for a file of {} bytes",
                most_reading_bytes(file_bytes) / kMiB, file_bytes);
}

// Of this process: all that its data segments and private mappings take.
uint64_t data_bytes() {
    std::ifstream file("/proc/self/statm");
    uint64_t pages = 0;
    for (int field = 0; field < 6; ++field) file >> pages;
    return file ? pages * uint64_t(sysconf(_SC_PAGESIZE)) : 0;
}

void lower_limit(__rlimit_resource_t resource, rlim_t value) {
    rlimit limit{};
    getrlimit(resource, &limit);
    limit.rlim_cur = std::min({value, limit.rlim_cur, limit.rlim_max});
    setrlimit(resource, &limit);
}

[[noreturn]] void run_child(const std::function<Result<Recording>()>& read, uint64_t file_bytes, AppendFile file) {
    const rlim_t seconds = kReadSeconds + file_bytes / (4 << 20);  // a sound file takes less than a twentieth of it
    const rlimit time{seconds, seconds + 1}, no_core{0, 0};        // SIGXCPU at the first, SIGKILL at the second
    setrlimit(RLIMIT_CPU, &time);
    setrlimit(RLIMIT_CORE, &no_core);
    lower_limit(RLIMIT_DATA, data_bytes() + most_reading_bytes(file_bytes));
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGILL}) std::signal(signal, SIG_DFL);
    Result<Recording> result = beyond_memory(file_bytes);
    try {
        result = read();
    } catch (const std::bad_alloc&) {
    }
    // How libhdf5 says that malloc() gave it nothing.
    if (!result && result.error().message.find("memory allocation failed") != std::string::npos)
        result = beyond_memory(file_bytes);
    _exit(answer(file, result) ? 0 : 1);
}

Result<Recording> understand(std::string_view bytes) {
    if (bytes.starts_with(kSpoolMagic)) return parse_spool(bytes);
    check(!bytes.empty(), "a reading process answers");
    return fail(ErrorKind(bytes[0]), "{}", bytes.substr(1));
}

std::unexpected<Error> explain(int status, uint64_t file_bytes) {
    if (!WIFSIGNALED(status)) return beyond_memory(file_bytes);
    if (WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGTERM)
        return fail(ErrorKind::Interrupted, "reading was interrupted");
    if (WTERMSIG(status) == SIGKILL) return fail(ErrorKind::OutOfMemory, "its reader was killed: it needs much memory");
    return fail(ErrorKind::Format, "is damaged: libhdf5 {} it",
                WTERMSIG(status) == SIGXCPU ? "came to no end with" : "crashed on");
}

}  // namespace

Result<Recording> read_in_child(const std::function<Result<Recording>()>& read, uint64_t file_bytes) {
    const FileDescriptor memory(memfd_create("riftjit-recording", MFD_CLOEXEC));
    if (!memory) return fail(ErrorKind::Io, "memfd_create: {}", std::strerror(errno));
    const pid_t child = fork();
    if (child < 0) return fail(ErrorKind::Io, "fork: {}", std::strerror(errno));
    if (child == 0) run_child(read, file_bytes, AppendFile::adopt("memory", FileDescriptor(dup(memory.get()))));
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    if (status != 0) return explain(status, file_bytes);
    const auto size = size_t(lseek(memory.get(), 0, SEEK_END));
    void* const mapping = size == 0 ? MAP_FAILED : mmap(nullptr, size, PROT_READ, MAP_SHARED, memory.get(), 0);
    if (mapping == MAP_FAILED) return fail(ErrorKind::OutOfMemory, "mmap of {} bytes: {}", size, std::strerror(errno));
    auto recording = understand({static_cast<const char*>(mapping), size});
    munmap(mapping, size);
    return recording;
}

}  // namespace riftjit::sim
