#include "tools/interrupt.h"

#include <unistd.h>

#include <csignal>

#include "tools/reporter.h"

namespace riftjit::tools {

namespace {

volatile std::sig_atomic_t pending = 0;

void on_signal(int signal) {
    if (pending != 0) _exit(128 + signal);
    pending = signal == SIGTERM ? 2 : 1;
}

}  // namespace

void watch_interrupts() {
    struct sigaction action = {};
    action.sa_handler = on_signal;  // without SA_RESTART: a blocked read returns
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
}

Interrupt pending_interrupt() {
    if (pending == 0) return Interrupt::none;
    return pending == 1 ? Interrupt::stop : Interrupt::quit;
}

int exit_code_of_interrupt() {
    if (pending == 0) return kExitDone;
    return pending == 1 ? kExitInterrupted : kExitTerminated;
}

void clear_interrupt() { pending = 0; }

}  // namespace riftjit::tools
