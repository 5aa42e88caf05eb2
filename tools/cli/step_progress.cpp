#include "tools/cli/step_progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>

#include "tools/cli/output.h"

namespace riftjit::tools {

StepProgress::StepProgress(uint64_t steps, std::string_view unit)
    : steps_(steps), unit_(unit), is_terminal_(isatty(STDERR_FILENO) != 0), start_(Clock::now()), drawn_(start_) {}

void StepProgress::wipe() {
    if (is_drawn_) write_diagnostic("\r\x1b[K");
    is_drawn_ = false;
}

void StepProgress::show(uint64_t done) {
    if (!is_terminal_) return;
    const auto now = Clock::now();
    if (now - drawn_ < std::chrono::milliseconds(100)) return;
    drawn_ = now;
    is_drawn_ = true;
    const double seconds = std::chrono::duration<double>(now - start_).count();
    write_diagnostic(fmt::format("\r{}\x1b[K",
                                 fitted(progress_line(done, steps_, seconds, unit_), terminal_columns(STDERR_FILENO))));
}

std::string fitted(std::string line, unsigned columns) {
    if (line.size() < columns) return line;
    const size_t most = columns > 0 ? columns - 1 : 0;  // the last column may wrap
    const size_t comma = line.rfind(", ", most);
    line.resize(comma != std::string::npos ? comma : most);
    return line;
}

std::string progress_line(uint64_t done, uint64_t steps, double seconds_so_far, std::string_view unit) {
    constexpr uint64_t kBarCells = 20;
    const uint64_t filled = kBarCells * done / steps;
    const std::string line = fmt::format("[{}{}] {:3} %, {} of {} {}", std::string(filled, '#'),
                                         std::string(kBarCells - filled, ' '), 100 * done / steps, done, steps, unit);
    if (done == 0) return line;
    const auto left = static_cast<uint64_t>(std::ceil(seconds_so_far * double(steps - done) / double(done)));
    return fmt::format("{}, {}:{:02} left", line, left / 60, left % 60);
}

}  // namespace riftjit::tools
