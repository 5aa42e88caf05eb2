#include "jit/x86/host_kernels.h"

#include <bit>
#include <map>
#include <mutex>
#include <utility>

#include "jit/code_memory.h"

namespace riftjit::x86 {

struct HostKernels::Impl {
    // What profilers have not been told of.
    struct Unannounced {
        const CodeObject& object;
        const std::byte* address;
        uint32_t instruction_bytes;
    };

    Impl(KernelCache& kernels, Profile sinks) : cache(kernels), profile(sinks) {}
    Result<KernelFunction> place(const CodeObject& object);

    KernelCache& cache;
    std::mutex mutex;  // guards all below
    CodeMemory memory;
    std::map<const Kernel*, KernelFunction> functions;
    std::vector<Unannounced> unannounced;
    ProfileRegistry profile;
};

Result<KernelFunction> HostKernels::Impl::place(const CodeObject& object) {
    RIFTJIT_TRY(read, read_x86_object(object.elf));
    RIFTJIT_TRY(address, memory.add(read.code.bytes));
    unannounced.push_back({object, address, read.code.instruction_bytes});
    return std::bit_cast<KernelFunction>(address);
}

HostKernels::HostKernels(KernelCache& cache, Profile profile) : impl_(std::make_unique<Impl>(cache, profile)) {}

HostKernels::~HostKernels() = default;
HostKernels::HostKernels(HostKernels&&) noexcept = default;

Result<KernelFunction> HostKernels::get(const KernelSpec& spec, Isa isa) {
    RIFTJIT_TRY(kernel, impl_->cache.get(spec, isa));
    const std::lock_guard lock(impl_->mutex);
    if (const auto known = impl_->functions.find(kernel); known != impl_->functions.end()) return known->second;
    RIFTJIT_TRY(function, impl_->place(kernel->object));
    return impl_->functions[kernel] = function;
}

Result<void> HostKernels::seal() {
    const std::lock_guard lock(impl_->mutex);
    RIFTJIT_TRY_VOID(impl_->memory.seal());
    impl_->cache.publish();
    for (const auto& [object, address, instruction_bytes] : std::exchange(impl_->unannounced, {}))
        RIFTJIT_TRY_VOID(impl_->profile.announce(object, address, instruction_bytes));
    return {};
}

const CacheStatistics& HostKernels::statistics() const { return impl_->cache.statistics(); }

}  // namespace riftjit::x86
