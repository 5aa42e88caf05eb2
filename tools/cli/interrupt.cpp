#include "tools/cli/interrupt.h"

#include <unistd.h>

#include <atomic>
#include <csignal>

#include "sim/files/unfinished_file.h"
#include "tools/cli/reporter.h"

namespace riftjit::tools {

namespace {

std::atomic<int> pending = 0;  // the first signal; several threads ask
static_assert(std::atomic<int>::is_always_lock_free);

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

void on_signal(int signal) {
    if (pending != 0) {
        sim::remove_unfinished_file();
        _exit(kExitSignal + signal);
    }
    pending = signal;
}

// SA_RESETHAND: the signal that it raises finds the default action.
void on_last_signal(int signal) {
    sim::remove_unfinished_file();
    raise(signal);
}

}  // namespace

void end_on_interrupts() {
    for (const int signal : kSignals) {
        struct sigaction action = {};
        sigaction(signal, nullptr, &action);
        if (action.sa_handler != SIG_DFL) continue;  // nohup and background jobs ignore theirs
        action.sa_handler = on_last_signal;
        action.sa_flags = SA_RESETHAND;
        sigaction(signal, &action, nullptr);
    }
}

void watch_interrupts() {
    for (const int signal : kSignals) {
        struct sigaction action = {};
        sigaction(signal, nullptr, &action);
        if (action.sa_handler == SIG_IGN) continue;  // background jobs of a script ignore SIGINT, nohup SIGHUP
        action = {};
        action.sa_handler = on_signal;  // without SA_RESTART: a blocked read returns
        sigaction(signal, &action, nullptr);
    }
}

Interrupt pending_interrupt() {
    if (pending == 0) return Interrupt::none;
    return pending == SIGINT ? Interrupt::stop : Interrupt::quit;
}

int exit_code_of_interrupt() {
    return pending == 0 ? kExitDone : kExitSignal + pending;
}

void clear_interrupt() { pending = 0; }

}  // namespace riftjit::tools
