// Readers of networks and lowering of equations call themselves as deep as what they read is nested, which they bound
// for a stack of 8 MiB. Where the process was given less (ulimit -s), a thread has it.
#pragma once

#include <exception>
#include <functional>
#include <optional>

#include "host/result.h"

namespace riftjit::tools {

// Runs `action` to its end, which throws nothing, on a stack of at least 8 MiB.
Result<void> run_on_large_stack(const std::function<void()>& action);

template <class Action>
auto on_large_stack(const Action& action) -> decltype(action()) {
    std::optional<decltype(action())> result;
    std::exception_ptr thrown;
    RIFTJIT_TRY_VOID(run_on_large_stack([&] {
        try {
            result = action();
        } catch (...) {
            thrown = std::current_exception();
        }
    }));
    if (thrown) std::rethrow_exception(thrown);
    return std::move(*result);
}

}  // namespace riftjit::tools
