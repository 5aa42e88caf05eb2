// Ctrl-C and SIGTERM: the first Ctrl-C asks the work in progress to stop, the second ends the process with 130.
#pragma once

namespace riftjit::tools {

enum class Interrupt { none, stop, quit };  // quit: SIGTERM, leave after the timings

void watch_interrupts();
Interrupt pending_interrupt();
void clear_interrupt();  // back at a prompt: the next Ctrl-C is a first one again

}  // namespace riftjit::tools
