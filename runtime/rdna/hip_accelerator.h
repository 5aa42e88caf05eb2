// A card through HIP: its module API on the stream that every device has.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "runtime/rdna/accelerator.h"
#include "runtime/rdna/hip_library.h"

namespace riftjit::runtime {

struct HipOptions {
    // After that long a wait for launches is taken for one that has no end, and `stuck` gets a line that names the
    // kernel. HIP's wait cannot be broken off, so `stuck` had better end the process. 0: never.
    uint32_t patience_seconds = 60;
    void (*stuck)(const std::string& line) = nullptr;
    // Gets a line when something could not be released at the end, though nothing failed before.
    void (*unreleased)(const std::string& line) = nullptr;
};

class HipAccelerator final : public Accelerator {
public:
    static Result<std::unique_ptr<HipAccelerator>> create(std::shared_ptr<const HipLibrary> hip, HipDevice device,
                                                          const HipOptions& options);
    ~HipAccelerator() override;

    rdna::Target chip() const override { return device_.chip.value(); }
    std::string name() const override { return device_.text(); }
    Result<Memory> memory() const override;
    Result<uint64_t> allocate(uint64_t bytes, std::string_view what) override;
    Result<void> write(uint64_t to, std::span<const std::byte> bytes) override;
    Result<void> read(std::span<std::byte> to, uint64_t from) override;
    Result<void> copy(uint64_t to, uint64_t from, uint64_t bytes) override;
    Result<Kernel> load(const CodeObject& object) override;
    Result<void> launch(Kernel kernel, uint32_t groups, uint32_t lanes, std::span<const std::byte> args) override;
    Result<void> wait() override;
    Result<void> mark() override;
    Result<std::vector<double>> seconds_between_marks() override;

private:
    class Patience;
    struct Loaded {
        std::string name;
        HipLibrary::Module module;
        HipLibrary::Function function;
        bool has_ended = false;  // once
    };
    // Events of one kind, made once and used again and again.
    struct Events {
        unsigned flags;
        std::vector<HipLibrary::Event> all = {};
        size_t used = 0;
    };
    struct Allocated {
        uint64_t address, bytes;
        std::string what;
    };
    struct Milestone {
        HipLibrary::Event event;
        size_t launches;  // are behind it when the GPU comes to it
    };

    HipAccelerator(std::shared_ptr<const HipLibrary> hip, HipDevice device, const HipOptions& options);
    Result<void> enter() const;
    // What fails is told with the device's name and what the call was for: a text, or what makes one.
    template <class Purpose>
    Result<void> of(const Purpose& purpose, Result<void> result) const;
    std::string memory_at(uint64_t address) const;
    template <class Purpose>
    Result<HipLibrary::Event> record(Events& events, const Purpose& purpose);
    std::string who_is_stuck() const;
    Result<void> release_all() const;

    std::shared_ptr<const HipLibrary> hip_;
    HipDevice device_;
    HipOptions options_;
    mutable std::atomic<bool> has_failed_ = false;
    std::vector<Allocated> memory_;
    std::vector<Loaded> kernels_;
    std::vector<Kernel> launched_;  // since the last wait
    std::vector<Milestone> milestones_;
    Events moments_{0}, ends_{HipLibrary::kNoTiming};
    std::unique_ptr<Patience> patience_;
};

}  // namespace riftjit::runtime
