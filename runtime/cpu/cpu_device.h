// The processor this program runs on: threads that share the units of every launch, and a barrier between launches.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "host/demand_memory.h"
#include "host/pages.h"
#include "host/thread_pool.h"
#include "jit/x86/backend.h"
#include "jit/x86/host_kernels.h"
#include "runtime/cpu/team_choice.h"
#include "runtime/cpu/weight_pieces.h"
#include "runtime/device.h"

namespace riftjit::runtime {

// Weights larger than memory are packed when they are first read, and again where they had to go; the file must be
// there as long as the device. Nothing else of a run changes, its bits included.
struct WeightsOnDemand {
    uint64_t most_resident;  // bytes
    uint64_t piece_bytes = 2 << 20;
};

class CpuDevice final : public Device {
public:
    // The cache must outlive the device.
    static Result<std::unique_ptr<CpuDevice>> create(Isa isa, uint32_t threads, Helpers helpers, KernelCache& cache,
                                                     Profile profile = Profile::none,
                                                     std::optional<WeightsOnDemand> on_demand = std::nullopt);

    const Backend& backend() const override { return x86::backend(isa_); }
    Result<Address> allocate(uint64_t bytes, MemoryUse use, std::string_view what) override;
    Result<void> write(Address to, std::span<const std::byte> bytes) override;
    Result<void> read(std::span<std::byte> to, Address from) const override;
    Result<std::span<const std::byte>> view(Address from, std::span<std::byte> room) const override {
        return std::span<const std::byte>(from, room.size());
    }
    Result<void> copy(Address to, Address from, uint64_t bytes) override;
    Result<void> pack(const FileTensor& tensor, Address to, const Release& release) override;
    Result<std::unique_ptr<BoundPlan>> bind(const graph::Plan& plan, const Addresses& addresses) override;
    Result<void> make_ready() override;
    Result<double> read_rate(Address from, uint64_t bytes) const override;
    Result<void> lock(Address from, uint64_t bytes) const override;

private:
    CpuDevice(Isa isa, ThreadPool pool, Helpers helpers, x86::HostKernels kernels,
              std::optional<WeightsOnDemand> on_demand)
        : isa_(isa), pool_(std::move(pool)), helpers_(helpers), kernels_(std::move(kernels)), on_demand_(on_demand) {}
    bool is_on_demand(const std::byte* address) const;

    Isa isa_;
    ThreadPool pool_;
    Helpers helpers_;
    x86::HostKernels kernels_;
    std::vector<Pages> memory_;
    std::optional<WeightsOnDemand> on_demand_;
    std::unique_ptr<WeightPieces> pieces_;   // of the memory below, which goes first
    std::unique_ptr<DemandMemory> weights_;  // null: all of them are in memory_
};

}  // namespace riftjit::runtime
