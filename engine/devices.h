// What a model runs on: the processor, a card through HIP, or the software machine in a card's place.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/machine.h"
#include "jit/rdna/table/target.h"
#include "runtime/device.h"
#include "runtime/rdna/emulated_accelerator.h"
#include "runtime/rdna/hip_library.h"

namespace riftjit::engine {

struct DeviceChoice {
    enum class Kind : uint8_t { cpu, hip, emulate } kind = Kind::cpu;
    std::optional<uint32_t> index;                                // of hip; absent: the device with the fastest memory
    rdna::Target chip{};                                          // of emulate
    runtime::MachineChecks checks = runtime::MachineChecks::all;  // of emulate

    bool is_cpu() const { return kind == Kind::cpu; }
};
// "cpu", "hip", "hip:1", "emulate:gfx1100".
Result<DeviceChoice> parse_device(std::string_view text);
std::string name(const DeviceChoice& choice);

// The library of RIFTJIT_HIP_LIBRARY, or HIP's.
Result<std::shared_ptr<const runtime::HipLibrary>> open_hip();

// What becomes of the process when a kernel on a card has no end; gets the whole line, on a thread of its own. HIP's
// wait for the kernel cannot be broken off. Null, as at first: nobody watches.
using StuckKernelHandler = void (*)(const std::string& line);
void set_stuck_kernel_handler(StuckKernelHandler handler);
// Gets the whole line when a card does not take back what it lent, though nothing failed before. Null, as at first: no
// one hears of it.
using UnreleasedHandler = void (*)(const std::string& line);
void set_unreleased_handler(UnreleasedHandler handler);

// A card or the software machine, which runs on `threads` threads where it checks nothing.
Result<std::unique_ptr<runtime::Accelerator>> open_accelerator(const DeviceChoice& choice, uint32_t threads);

}  // namespace riftjit::engine
