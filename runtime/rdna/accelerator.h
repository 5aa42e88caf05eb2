// One GPU below an RdnaDevice: memory, code objects and launches. Everything is done in the order in which it was asked
// for, one thing after the other. Fails with the cause, and with what of the GPU it concerned; what is done on a GPU
// that failed once fails too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jit/code_object.h"
#include "jit/rdna/table/target.h"

namespace riftjit::runtime {

class Accelerator {
public:
    virtual ~Accelerator() = default;

    virtual rdna::Target chip() const = 0;
    // As --device names it, and what it is: "hip:0 (AMD Radeon RX 7900 XTX, gfx1100)".
    virtual std::string name() const = 0;

    struct Memory {
        uint64_t free = 0, total = 0;  // bytes; 0: nobody says
    };
    virtual Result<Memory> memory() const = 0;

    // Zeroed, aligned to 64 bytes or more; lives as long as the accelerator.
    virtual Result<uint64_t> allocate(uint64_t bytes, std::string_view what) = 0;
    virtual Result<void> write(uint64_t to, std::span<const std::byte> bytes) = 0;
    virtual Result<void> read(std::span<std::byte> to, uint64_t from) = 0;  // after every launch so far
    virtual Result<void> copy(uint64_t to, uint64_t from, uint64_t bytes) = 0;

    // The object's kernel, by the object's name. The object must outlive the accelerator.
    using Kernel = uint32_t;
    virtual Result<Kernel> load(const CodeObject& object) = 0;
    // May return before the launch has ended; what fails then is told by a later call.
    virtual Result<void> launch(Kernel kernel, uint32_t groups, uint32_t lanes, std::span<const std::byte> args) = 0;
    virtual Result<void> wait() = 0;  // for every launch so far

    // A moment between two launches, as the GPU comes to it.
    virtual Result<void> mark() = 0;
    // In seconds, from each mark to the next; forgets them. After wait(). Empty where a GPU has no clock.
    virtual Result<std::vector<double>> seconds_between_marks() = 0;
};

}  // namespace riftjit::runtime
