// An RDNA GPU as a device: a card, or the software machine where none is (accelerator.h).
#pragma once

#include <memory>

#include "jit/cache/kernel_cache.h"
#include "runtime/device.h"
#include "runtime/rdna/accelerator.h"
#include "runtime/rdna/rdna_backend.h"

namespace riftjit::runtime {

class RdnaDevice final : public Device {
public:
    // The cache must outlive the device.
    RdnaDevice(std::unique_ptr<Accelerator> accelerator, KernelCache& kernels);
    // The software machine, with every check.
    RdnaDevice(rdna::Target chip, KernelCache& kernels);

    const Backend& backend() const override { return backend_; }
    Result<Address> allocate(uint64_t bytes, MemoryUse use, std::string_view what) override;
    Result<void> write(Address to, std::span<const std::byte> bytes) override;
    Result<void> read(std::span<std::byte> to, Address from) const override;
    Result<void> copy(Address to, Address from, uint64_t bytes) override;
    Result<void> pack(const FileTensor& tensor, Address to, const Release& release) override;
    // Fails by name where the back end lacks a kernel.
    Result<std::unique_ptr<BoundPlan>> bind(const graph::Plan& plan, const Addresses& addresses) override;
    Result<void> make_ready() override;
    Result<double> read_rate(Address from, uint64_t bytes) const override;
    Result<void> lock(Address, uint64_t) const override { return {}; }

private:
    RdnaBackend backend_;
    KernelCache& kernels_;
    std::unique_ptr<Accelerator> accelerator_;
};

}  // namespace riftjit::runtime
