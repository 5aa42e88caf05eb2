// Lines on stderr: warnings (counted, so that --strict can refuse), errors, exit codes.
#pragma once

#include <functional>
#include <string>

#include "host/result.h"

namespace riftjit::tools {

inline constexpr int kExitDone = 0;
inline constexpr int kExitError = 1;          // usage, load or run-time error with a message
inline constexpr int kExitInternal = 2;       // a broken invariant (check())
inline constexpr int kExitFindings = 3;       // the software machine reported something
inline constexpr int kExitCache = 4;          // --cache-mode=require and a kernel was not usable
inline constexpr int kExitSignal = 128;       // and the signal, as shells count: 130 after Ctrl-C

enum class Verbosity : uint8_t { errors, warnings, info, details };  // each with those before it

class Reporter {
public:
    explicit Reporter(Verbosity verbosity = Verbosity::info) : verbosity_(verbosity) {}

    void warn(const std::string& message);  // "warn: ...", counted even when not shown
    // warn() as what libraries take; the reporter must outlive it.
    std::function<void(const std::string&)> warner() {
        return [this](const std::string& message) { warn(message); };
    }
    void info(const std::string& line) const;
    void detail(const std::string& line) const;
    int warnings() const { return warnings_; }
    bool shows(Verbosity level) const { return level <= verbosity_; }

private:
    Verbosity verbosity_;
    int warnings_ = 0;
};

// "error: ..." on stderr; returns the exit code that fits the kind.
int report(const Error& error);

}  // namespace riftjit::tools
