// Memory that is made when it is first touched, piece by piece, and given up again where too much of it would be there
// at once: for what can be made anew at any time, such as weights from their file.
//
// Touching a piece that is not there faults. The handler of SIGSEGV then makes it on the thread that touched it, aside,
// and puts it in its place whole, so that other threads see all of it or fault as well. Which piece goes when one too
// many is there is drawn by lot: for memory that is read from end to end again and again this keeps the share that
// fits, where the longest unused one would always be the next that is wanted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "host/result.h"

namespace riftjit {

class DemandMemory {
public:
    class Maker {
    public:
        virtual ~Maker() = default;
        // Writes bytes [begin, end) of the memory, the first of them to `out`; as many as flank() bytes before and
        // behind may be overwritten. Runs within a signal handler, on any thread, at the same time as others.
        virtual void make(uint64_t begin, uint64_t end, std::byte* out) const = 0;
        virtual uint64_t flank() const = 0;
    };
    struct Limits {
        uint64_t most_resident;          // bytes, raised to a few pieces for each of `threads`
        uint32_t threads;                // that may touch it at once
        uint64_t piece_bytes = 2 << 20;  // at least; more where the memory has very many
    };

    // Zeroes until `maker` makes something else of it, which must outlive the memory. Fails naming `what`.
    static Result<std::unique_ptr<DemandMemory>> reserve(uint64_t bytes, const Limits& limits, const Maker& maker,
                                                         std::string_view what);
    DemandMemory(const DemandMemory&) = delete;
    virtual ~DemandMemory() = default;

    virtual std::byte* data() const = 0;  // at 2 MiB; readable alone
    virtual uint64_t size_bytes() const = 0;
    virtual uint64_t most_resident() const = 0;
    virtual uint64_t made_bytes() const = 0;  // so far, again and again counted as often

protected:
    DemandMemory() = default;
};

}  // namespace riftjit
