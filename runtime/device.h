// Where plans run: the memory, kernels and launches of one processor. DeviceModel and Sequences know no more of it than
// this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "graph/plan.h"
#include "host/result.h"
#include "jit/formats/dtype.h"

namespace riftjit::runtime {

// A device address. Only the device follows it.
using Address = std::byte*;

// What the places of a plan stand for.
struct Addresses {
    Address arena = nullptr;
    std::vector<Address> weights;       // by tensor id; null for what no step reads
    std::vector<Address> keys, values;  // by slot
    std::vector<Address> rope_tables;   // by table
    Address token_ids = nullptr;
    Address positions = nullptr;
    uint32_t pages_per_sequence = 0;  // of batches, at most
    std::vector<Address> states;      // by slot
};

// Null for a place that is none.
Address resolve(const graph::Place& place, const Addresses& addresses);

// Rows, runs, tiles or single rows of the batch that a step runs on: what unit_count() wants, where attention takes
// rows whole.
uint32_t rows_of(const graph::Step& step, const BatchState& batch);

// What a thread did with its time, by step of a plan, in seconds.
struct StepTimes {
    std::vector<double> working, waiting;  // the latter behind the step, for the other threads
};

// A row that a matrix is about to be multiplied by, as the kernel reads it: what rows of codes hold.
struct ProductInput {
    uint32_t weight;  // tensor id, in the graph that the plan was made of
    uint32_t matrix;  // of a stack
    std::span<const float> row;
};
using ProductObserver = std::function<void(const ProductInput&)>;

// A plan whose kernels and addresses are known. Running it allocates nothing and takes no lock.
class BoundPlan {
public:
    virtual ~BoundPlan() = default;
    // Runs every step on the batch's rows and waits for the result. Fails only where a device can fail while it runs.
    virtual Result<void> run(const BatchState& batch) = 0;
    // Repeats the last run, whose batch must still be there, step by step and returns the first step that wrote a float
    // which is no finite number; null also where the device fails. Slow: for a message, once something went wrong.
    virtual const graph::Step* first_not_finite() = 0;
    // Timed, the device notes how long its threads are in every step, which takes some 50 ns for each.
    virtual void set_timed(bool) {}
    // From now on every run shows the rows of each product before it; null: none. Fails where a device cannot.
    virtual Result<void> observe(ProductObserver) {
        return fail(ErrorKind::Unsupported, "this device does not show what it multiplies; --device cpu does");
    }
    // Of all runs since set_timed(true), by thread; empty where a device keeps no times.
    virtual std::vector<StepTimes> times() const { return {}; }
};

// A weight as it lies in the file, row-major.
struct FileTensor {
    DType type;
    uint32_t rows, width;
    const std::byte* data;
    bool is_temporary = false;  // gone after the call; else it stays as long as the device
};

enum class MemoryUse : uint8_t {
    stream,  // weights: written once, then read from end to end for every token
    random,  // activations, tables
    sparse,  // KV cache: address space, which may be more than there is memory; touched as far as the text goes
};

class Device {
public:
    // Tells that bytes of the file are no longer needed in memory.
    using Release = std::function<void(std::span<const std::byte>)>;

    virtual ~Device() = default;

    virtual const Backend& backend() const = 0;

    // Zeroed memory that lives as long as the device, aligned to 64 bytes or more.
    virtual Result<Address> allocate(uint64_t bytes, MemoryUse use, std::string_view what) = 0;
    // These and pack() fail only where a device can be lost.
    virtual Result<void> write(Address to, std::span<const std::byte> bytes) = 0;
    virtual Result<void> read(std::span<std::byte> to, Address from) const = 0;
    // As many bytes as `room` has: read into it, or the memory itself where the host shares it, which the next run of a
    // plan changes.
    virtual Result<std::span<const std::byte>> view(Address from, std::span<std::byte> room) const {
        RIFTJIT_TRY_VOID(read(room, from));
        return room;
    }
    virtual Result<void> copy(Address to, Address from, uint64_t bytes) = 0;  // not overlapping

    // Weights of matmuls and embeddings are kept in the layout that the device's kernels read: as many bytes as its
    // back end says.
    virtual Result<void> pack(const FileTensor& tensor, Address to, const Release& release) = 0;

    // Compiles or finds the plan's kernels. The plan must outlive what is returned.
    virtual Result<std::unique_ptr<BoundPlan>> bind(const graph::Plan& plan, const Addresses& addresses) = 0;
    // After a plan was bound and before it first runs, each time; other plans may have run before.
    virtual Result<void> make_ready() = 0;

    // Bytes per second at which the device reads this memory, again and again from front to back.
    virtual Result<double> read_rate(Address from, uint64_t bytes) const = 0;
    // Keeps this memory from being moved out of the device. Fails with the system's reason.
    virtual Result<void> lock(Address from, uint64_t bytes) const = 0;
};

}  // namespace riftjit::runtime
