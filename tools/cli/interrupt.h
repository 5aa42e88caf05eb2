// Ctrl-C, SIGTERM and SIGHUP (the terminal is gone): the first asks the work in progress to stop, the second ends the
// process. Neither leaves files behind that were not finished.
#pragma once

namespace riftjit::tools {

enum class Interrupt { none, stop, quit };  // quit: SIGTERM or SIGHUP, leave after the timings

void end_on_interrupts();  // until watch_interrupts() the first ends the process too
void watch_interrupts();   // but for those that the process was started to ignore
Interrupt pending_interrupt();
int exit_code_of_interrupt();  // 0: there was none; 128 + the first signal, as shells count
void clear_interrupt();        // back at a prompt: the next Ctrl-C is a first one again

}  // namespace riftjit::tools
