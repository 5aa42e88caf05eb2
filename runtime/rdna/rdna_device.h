// An RDNA GPU as a device, run by the software machine: what a plan binds to where no card is. It shows that nothing
// above Device knows the processor; kernels are few so far (rdna_backend.h).
#pragma once

#include <memory>

#include "jit/cache/kernel_cache.h"
#include "runtime/device.h"
#include "runtime/rdna/rdna_backend.h"

namespace riftjit::rdna::emulator {
class Machine;
}

namespace riftjit::runtime {

class RdnaDevice final : public Device {
public:
    // The cache must outlive the device.
    RdnaDevice(rdna::Target chip, KernelCache& kernels);
    ~RdnaDevice() override;

    const Backend& backend() const override { return backend_; }
    Result<Address> allocate(uint64_t bytes, MemoryUse use, std::string_view what) override;
    void write(Address to, std::span<const std::byte> bytes) override;
    void read(std::span<std::byte> to, Address from) const override;
    void copy(Address to, Address from, uint64_t bytes) override;
    void pack(const FileTensor& tensor, Address to, const Release& release) override;
    // Fails by name where the back end lacks a kernel. A finding of the machine while a plan runs is an internal error.
    Result<std::unique_ptr<BoundPlan>> bind(const graph::Plan& plan, const Addresses& addresses) override;
    Result<void> make_ready() override { return {}; }
    Result<double> read_rate(Address from, uint64_t bytes) const override;
    Result<void> lock(Address, uint64_t) const override { return {}; }

private:
    RdnaBackend backend_;
    KernelCache& kernels_;
    std::unique_ptr<rdna::emulator::Machine> machine_;
};

}  // namespace riftjit::runtime
