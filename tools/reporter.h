// Lines on stderr: warnings (counted, so that --strict can refuse), errors, exit codes.
#pragma once

#include <string>

#include "jit/result.h"

namespace riftjit::tools {

inline constexpr int kExitDone = 0;
inline constexpr int kExitError = 1;     // usage, load or run-time error with a message
inline constexpr int kExitInternal = 2;  // a broken invariant (check())
inline constexpr int kExitCache = 4;     // --cache-mode=require and a kernel was not usable
inline constexpr int kExitInterrupted = 130;

class Reporter {
public:
    void warn(const std::string& message);  // "warn: ..."
    int warnings() const { return warnings_; }

private:
    int warnings_ = 0;
};

// "error: ..." on stderr; returns the exit code that fits the kind.
int report(const Error& error);

}  // namespace riftjit::tools
