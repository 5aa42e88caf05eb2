#include "tools/cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>

#include "tools/cli/output.h"

namespace riftjit::tools {

Progress::Progress(std::string what) : what_(std::move(what)) {
    if (isatty(STDERR_FILENO) != 0) thread_ = std::thread([this] { show_seconds(); });
}

Progress::~Progress() {
    if (!thread_.joinable()) return;
    {
        const std::lock_guard lock(mutex_);
        done_ = true;
    }
    done_changed_.notify_one();
    thread_.join();
}

void Progress::show_seconds() {
    std::unique_lock lock(mutex_);
    int seconds = 0;
    while (!done_changed_.wait_for(lock, std::chrono::seconds(1), [this] { return done_; })) {
        write_diagnostic(fmt::format("\r{} … {} s", what_, ++seconds));
    }
    if (seconds > 0) write_diagnostic("\r\x1b[K");
}

}  // namespace riftjit::tools
