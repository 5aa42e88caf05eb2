#include "tools/rdna_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>

#include "tools/output.h"
#include "tools/reporter.h"

namespace riftjit::tools {

namespace {

constexpr int kNewFileMode = 0666;  // less what the user's mask takes away

std::unexpected<Error> system_error(std::string_view what, const std::string& path) {
    return fail(ErrorKind::Io, "cannot {} {}: {}", what, path, std::strerror(errno));
}

Result<std::vector<std::byte>> read_all(int file, const std::string& path) {
    constexpr size_t kStep = 1 << 16;
    std::vector<std::byte> bytes;
    for (size_t filled = 0;;) {
        bytes.resize(filled + kStep);
        const ssize_t count = read(file, bytes.data() + filled, kStep);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return system_error("read", path);
        filled += static_cast<size_t>(count);
        bytes.resize(filled);
        if (count == 0) return bytes;
    }
}

Result<void> write_all(int file, const std::string& path, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t count = write(file, bytes.data(), bytes.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return system_error("write", path);
        bytes = bytes.subspan(static_cast<size_t>(count));
    }
    return {};
}

}  // namespace

Result<std::vector<std::byte>> read_bytes(const std::string& path) {
    if (path == "-") return read_all(STDIN_FILENO, "standard input");
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return system_error("open", path);
    auto bytes = read_all(file, path);
    close(file);
    return bytes;
}

Result<void> write_file(const std::string& path, std::span<const std::byte> bytes) {
    struct stat status{};
    const bool is_special = stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);  // /dev/null, a pipe
    const std::string name = is_special ? path : fmt::format("{}.{}.tmp", path, getpid());
    const int flags = is_special ? O_WRONLY | O_CLOEXEC : O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC;
    const int file = open(name.c_str(), flags, kNewFileMode);
    if (file < 0) return system_error("write", path);
    Result<void> written = write_all(file, path, bytes);
    if (close(file) != 0 && written) written = system_error("write", path);
    if (is_special) return written;
    if (written && rename(name.c_str(), path.c_str()) != 0) written = system_error("write", path);
    if (!written) unlink(name.c_str());
    return written;
}

void add_rdna_target(CLI::App& app, RdnaChoice& choice, const std::string& help) {
    app.add_option_function<std::string>(
           "--target",
           [&choice](const std::string& text) {
               choice.target = rdna::target_from_name(text);
               if (!choice.target)
                   throw CLI::ValidationError(
                       fmt::format("--target: \"{}\" is not known, expected one of {}", text, rdna::target_names()),
                       CLI::ExitCodes::ValidationError);
           },
           help)
        ->type_name("GFX");
}

void add_rdna_choice(CLI::App& app, RdnaChoice& choice, const std::string& target_help, const std::string& wave_help) {
    add_rdna_target(app, choice, target_help);
    app.add_flag_callback("--wave64", [&choice] { choice.wave_size = rdna::WaveSize::wave64; }, wave_help);
}

int translate_lines(const std::function<Result<std::string>(std::string_view)>& translate) {
    int exit_code = kExitDone;
    std::string line;
    for (size_t number = 1; std::getline(std::cin, line); ++number) {
        Result<std::string> translated = translate(line);
        if (!translated) {
            write_diagnostic(fmt::format("error: line {}: {}\n", number, translated.error().message));
            exit_code = kExitError;
        }
        if (!write_output(translated.value_or("") + "\n")) return exit_code;
    }
    return exit_code;
}

}  // namespace riftjit::tools
