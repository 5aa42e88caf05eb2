// The process behind the stand-in for libamdhip64: hip_stand_in_machine GFX CHECKS, with its socket as descriptor 3.
// What a check finds goes to stderr, and the launch fails.
#include "jit/rdna/emulator/machine/machine.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "tests/hip_stand_in/server.h"

namespace riftjit::hip_stand_in {
namespace {

namespace machine = rdna::emulator;

class MachineServer final : public Server {
public:
    MachineServer(rdna::Target chip, bool checks)
        : machine_(chip, {.checks = checks ? machine::Checks{} : machine::Checks::none(), .host_threads = 2}) {
        how_.residency = checks ? machine::Residency::occupancy : machine::Residency::one;
    }

private:
    int answer(const Request& request, std::span<const std::byte> payload, uint64_t& value,
               std::vector<std::byte>& result) override {
        switch (request.ask) {
            case Ask::allocate:
                value = machine_.allocate("hipMalloc", request.count);
                return 0;
            case Ask::release:
                machine_.release(request.at);
                return 0;
            case Ask::fill:
                return fill(request.at, std::byte(request.from), request.count);
            case Ask::write:
                return machine_.write(request.at, payload) ? 0 : kInvalidValue;
            case Ask::read:
                return read_to(result, request.from, request.count);
            case Ask::copy: {
                std::vector<std::byte> between;
                if (const int error = read_to(between, request.from, request.count); error != 0) return error;
                return machine_.write(request.at, between) ? 0 : kInvalidValue;
            }
            case Ask::load:
                if (const auto loaded = machine_.load(payload); !loaded) {
                    std::fprintf(stderr, "stand-in: %s\n", loaded.error().message.c_str());
                    return kInvalidImage;
                }
                return 0;
            case Ask::find: {
                std::string name(reinterpret_cast<const char*>(payload.data()), payload.size());
                if (machine_.find(name) == nullptr) return kNotFound;
                value = kernels_.size();
                kernels_.push_back(std::move(name));
                return 0;
            }
            case Ask::launch:
                return launch(request, payload);
        }
        return kInvalidValue;
    }

    // In pieces: what is filled is not in memory twice.
    int fill(uint64_t at, std::byte byte, uint64_t count) {
        const std::vector<std::byte> bytes(std::min<uint64_t>(count, 1 << 24), byte);
        for (uint64_t done = 0; done < count; done += bytes.size()) {
            const auto part = std::span(bytes).first(std::min<uint64_t>(count - done, bytes.size()));
            if (!machine_.write(at + done, part)) return kInvalidValue;
        }
        return 0;
    }

    int read_to(std::vector<std::byte>& result, uint64_t from, uint64_t count) {
        auto bytes = machine_.read(from, count);
        if (!bytes) return kInvalidValue;
        result = std::move(*bytes);
        return 0;
    }

    int launch(const Request& request, std::span<const std::byte> args) {
        const auto report = machine_.launch(kernels_[request.kernel], {request.groups}, {request.lanes}, args, how_);
        if (!report) {
            std::fprintf(stderr, "stand-in: %s\n", report.error().message.c_str());
            return kLaunchFailure;
        }
        for (const machine::Finding& finding : report->findings)
            std::fprintf(stderr, "stand-in: %s\n", finding.text().c_str());
        return report->findings.empty() && report->completed ? 0 : kLaunchFailure;
    }

    machine::Machine machine_;
    machine::LaunchOptions how_;
    std::vector<std::string> kernels_;
};

}  // namespace
}  // namespace riftjit::hip_stand_in

int main(int argc, char** argv) {
    const auto chip = argc == 3 ? riftjit::rdna::target_from_name(argv[1]) : std::nullopt;
    if (!chip) return 1;
    riftjit::hip_stand_in::MachineServer(*chip, std::strcmp(argv[2], "all") == 0).serve();
}
