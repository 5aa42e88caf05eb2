// The processor this program runs on: threads that share the units of every launch, and a barrier between launches.
#pragma once

#include <vector>

#include "host/pages.h"
#include "host/thread_pool.h"
#include "jit/x86/backend.h"
#include "jit/x86/host_kernels.h"
#include "runtime/cpu/team_choice.h"
#include "runtime/device.h"

namespace riftjit::runtime {

class CpuDevice final : public Device {
public:
    // The cache must outlive the device.
    static Result<std::unique_ptr<CpuDevice>> create(Isa isa, uint32_t threads, Helpers helpers, KernelCache& cache,
                                                     Profile profile = Profile::none);

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
    CpuDevice(Isa isa, ThreadPool pool, Helpers helpers, x86::HostKernels kernels)
        : isa_(isa), pool_(std::move(pool)), helpers_(helpers), kernels_(std::move(kernels)) {}

    Isa isa_;
    ThreadPool pool_;
    Helpers helpers_;
    x86::HostKernels kernels_;
    std::vector<Pages> memory_;
};

}  // namespace riftjit::runtime
