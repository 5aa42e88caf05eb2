#include "tools/cli/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>

#include "tools/cli/reporter.h"

namespace riftjit::tools {

namespace {

// stdio keeps that writing failed, but not why.
int write_error = 0;

bool has_late_error = false;

bool has_reader() {
    pollfd output{STDOUT_FILENO, 0, 0};
    return poll(&output, 1, 0) < 0 || (output.revents & (POLLERR | POLLHUP)) == 0;
}

// Without destructors and what else exit() does: nothing is known of the state that they would find.
void end_after_internal_error(std::string_view line) {
    std::fflush(stdout);
    write_diagnostic(line);
    std::_Exit(kExitInternal);
}

// An exception that nobody had an answer to, on any thread: most likely memory ended while others computed.
[[noreturn]] void end_after_exception() {
    int exit_code = kExitInternal;
    try {
        if (const std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
        write_diagnostic("internal error: the program was to end, please report this line\n");
    } catch (const std::bad_alloc&) {
        write_diagnostic("error: out of memory\n");
        exit_code = kExitError;
    } catch (const std::exception& error) {
        write_diagnostic(fmt::format("internal error: {}, please report this line\n", error.what()));
    } catch (...) {
        write_diagnostic("internal error: an unknown exception, please report this line\n");
    }
    std::_Exit(exit_code);
}

}  // namespace

bool write_output(std::string_view text) {
    const bool is_written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
    if (!is_written) note_write_error(errno);
    return is_written && std::ferror(stdout) == 0;
}

void note_write_error(int error) {
    if (write_error == 0) write_error = error;
}

void note_late_error(const std::string& line) {
    write_diagnostic(fmt::format("error: {}\n", line));
    has_late_error = true;
}

int finish_output(int exit_code) {
    if (has_late_error && exit_code == kExitDone) exit_code = kExitError;
    if (std::fflush(stdout) != 0) note_write_error(errno);
    if (std::ferror(stdout) != 0) note_write_error(EIO);
    if (write_error == 0 || write_error == EPIPE || !has_reader()) return exit_code;
    std::fprintf(stderr, "error: standard output: %s\n", std::strerror(write_error));
    return exit_code == kExitDone ? kExitError : exit_code;
}

void write_diagnostic(std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
}

unsigned terminal_columns(int descriptor) {
    constexpr unsigned kUsual = 80;
    winsize size{};
    return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsual;
}

void prepare_process() {
    set_internal_error_handler(end_after_internal_error);
    std::set_terminate(end_after_exception);
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
    for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        const bool is_closed = fcntl(descriptor, F_GETFD) < 0 && errno == EBADF;
        // Standard output only for reading: what is written there is missed.
        if (is_closed && open("/dev/null", descriptor == STDERR_FILENO ? O_WRONLY : O_RDONLY) != descriptor) return;
    }
}

}  // namespace riftjit::tools
