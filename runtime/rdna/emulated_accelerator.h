// The software machine as a GPU: what a finding says is an error of the kernel, which ends the run.
#pragma once

#include <unordered_map>

#include "jit/rdna/emulator/machine/machine.h"
#include "runtime/rdna/accelerator.h"

namespace riftjit::runtime {

enum class MachineChecks : uint8_t { none, all };

// Which wave goes on when, of those that may.
struct MachineOrder {
    rdna::emulator::Schedule schedule = rdna::emulator::Schedule::long_quanta;
    uint64_t seed = 1;
};

struct EmulatedLaunch {
    std::string kernel;
    uint32_t groups, lanes;
    rdna::emulator::Counts counts;
};

class EmulatedAccelerator final : public Accelerator {
public:
    // Without checks workgroups run apart from each other, on `threads` threads of this machine.
    EmulatedAccelerator(rdna::Target chip, MachineChecks checks, uint32_t threads = 1, MachineOrder order = {});

    // Those from now on, with the lines that they touch (Counts::lines_loaded), in order, at the end of what is there;
    // it must outlive the accelerator.
    void note_launches(std::vector<EmulatedLaunch>* launches) {
        launches_ = launches;
        how_.counts_lines = true;
    }

    rdna::Target chip() const override { return chip_; }
    std::string name() const override;
    Result<Memory> memory() const override;
    Result<uint64_t> allocate(uint64_t bytes, std::string_view what) override;
    Result<void> write(uint64_t to, std::span<const std::byte> bytes) override { return machine_.write(to, bytes); }
    Result<void> read(std::span<std::byte> to, uint64_t from) override;
    Result<void> copy(uint64_t to, uint64_t from, uint64_t bytes) override;
    Result<Kernel> load(const CodeObject& object) override;
    Result<void> launch(Kernel kernel, uint32_t groups, uint32_t lanes, std::span<const std::byte> args) override;
    Result<void> wait() override { return {}; }
    Result<void> mark() override { return {}; }
    Result<std::vector<double>> seconds_between_marks() override { return std::vector<double>{}; }

    const rdna::emulator::Counts& counts() const { return counts_; }  // of every launch so far
    uint64_t bytes_read() const { return bytes_read_; }               // by whoever the accelerator works for

private:
    rdna::Target chip_;
    rdna::emulator::Machine machine_;
    rdna::emulator::LaunchOptions how_;
    rdna::emulator::Counts counts_;
    uint64_t bytes_read_ = 0;
    std::vector<EmulatedLaunch>* launches_ = nullptr;
    std::vector<std::string> kernels_;
    std::unordered_map<std::string, Kernel> kernel_of_name_;
};

}  // namespace riftjit::runtime
