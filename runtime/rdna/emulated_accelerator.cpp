#include "runtime/rdna/emulated_accelerator.h"

#include <algorithm>

#include "host/available_memory.h"

namespace riftjit::runtime {

namespace machine = rdna::emulator;

EmulatedAccelerator::EmulatedAccelerator(rdna::Target chip, MachineChecks checks, uint32_t threads, MachineOrder order)
    : chip_(chip),
      machine_(chip, {.checks = checks == MachineChecks::all ? machine::Checks{} : machine::Checks::none(),
                      .seed = order.seed,
                      .host_threads = threads}) {
    how_.schedule = order.schedule;
    how_.residency = checks == MachineChecks::all ? machine::Residency::occupancy : machine::Residency::one;
    how_.instruction_limit = 1'000'000'000'000;  // hours: a long prompt's launch is not endless
}

std::string EmulatedAccelerator::name() const { return fmt::format("emulate:{}", rdna::name(chip_)); }

Result<Accelerator::Memory> EmulatedAccelerator::memory() const {
    const uint64_t free = available_memory();
    return Memory{free, free};
}

Result<uint64_t> EmulatedAccelerator::allocate(uint64_t bytes, std::string_view what) {
    if (const auto available = memory_below(bytes))
        return fail(ErrorKind::OutOfMemory, "{}: {} takes {} bytes, {} are available", name(), what, bytes, *available);
    return machine_.allocate_zeros(std::string(what), bytes);
}

Result<void> EmulatedAccelerator::read(std::span<std::byte> to, uint64_t from) {
    RIFTJIT_TRY(bytes, machine_.read(from, to.size()));
    std::ranges::copy(bytes, to.begin());
    bytes_read_ += to.size();
    return {};
}

Result<void> EmulatedAccelerator::copy(uint64_t to, uint64_t from, uint64_t bytes) {
    RIFTJIT_TRY(between, machine_.read(from, bytes));
    return machine_.write(to, between);
}

Result<Accelerator::Kernel> EmulatedAccelerator::load(const CodeObject& object) {
    const auto [known, is_new] = kernel_of_name_.try_emplace(object.name, Kernel(kernels_.size()));
    if (!is_new) return known->second;
    if (auto loaded = machine_.load(object.elf); !loaded) {
        kernel_of_name_.erase(known);
        return fail(loaded.error().kind, "{}: {}: {}", name(), object.name, loaded.error().message);
    }
    kernels_.push_back(object.name);
    return known->second;
}

Result<void> EmulatedAccelerator::launch(Kernel kernel, uint32_t groups, uint32_t lanes,
                                         std::span<const std::byte> args) {
    const auto report = machine_.launch(kernels_[kernel], {groups}, {lanes}, args, how_);
    if (!report) return fail(report.error().kind, "{}: {}: {}", name(), kernels_[kernel], report.error().message);
    counts_ += report->counts;
    if (!report->findings.empty())
        return fail(ErrorKind::Unsupported, "{}: {}{}; an error of the kernel, please report this line", name(),
                    report->findings.front().text(),
                    report->findings.size() == 1 ? "" : fmt::format(" (and {} more)", report->findings.size() - 1));
    if (!report->completed)
        return fail(ErrorKind::Unsupported, "{}: {} did not end within {} instructions", name(), kernels_[kernel],
                    how_.instruction_limit);
    if (launches_ != nullptr) launches_->push_back({kernels_[kernel], groups, lanes, report->counts});
    return {};
}

}  // namespace riftjit::runtime
