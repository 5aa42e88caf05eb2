#include "tools/run/selftest_command.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "engine/selftest.h"
#include "tools/cli/device_options.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/output.h"
#include "tools/cli/reporter.h"

namespace riftjit::tools {

namespace {

struct SelftestOptions {
    engine::DeviceChoice device;
    bool json = false;
};

struct Combination {
    DType weights, cache;
};

// Every type with the cache that is the default, and the other caches once.
std::vector<Combination> combinations() {
    std::vector<Combination> all;
    for (const DTypeTraits& type : all_dtypes())
        if (type.is_weight) all.push_back({type.type, DType::F16});
    for (const DType cache : {DType::F32, DType::Q8_0}) all.push_back({DType::Q8_0, cache});
    return all;
}

Result<int> run(const SelftestOptions& options) {
    auto rows = nlohmann::ordered_json::array();
    bool is_passed = true;
    end_on_interrupts();
    if (!options.json)
        write_output(fmt::format("{:<8} {:<5} {:>7} {:>8} {:>8}  {:<16} {}\n", "WEIGHTS", "CACHE", "KERNELS", "ERROR",
                                 "BOUND", "BITS", "RESULT"));
    for (const auto& [weights, cache] : combinations()) {
        RIFTJIT_TRY(result, engine::selftest(options.device, weights, cache));
        is_passed = is_passed && result.is_passed();
        rows.push_back({{"weights", name(weights)},
                        {"cache", name(cache)},
                        {"kernels", result.kernels},
                        {"error", result.error},
                        {"bound", result.bound},
                        {"processors_bits", result.has_processors_bits},
                        {"passed", result.is_passed()}});
        if (!options.json)
            write_output(fmt::format("{:<8} {:<5} {:>7} {:>8.5f} {:>8.5f}  {:<16} {}\n", name(weights), name(cache),
                                     result.kernels, result.error, result.bound,
                                     result.has_processors_bits ? "the processor's" : "others",
                                     result.is_passed() ? "passed" : "FAILED"));
    }
    if (options.json)
        write_output(nlohmann::ordered_json(
                         {{"device", engine::name(options.device)}, {"passed", is_passed}, {"models", std::move(rows)}})
                         .dump(2) +
                     "\n");
    return is_passed ? kExitDone : kExitError;
}

constexpr const char* kSelftestExamples =
    "Examples:\n"
    "  riftjit selftest                                          the processor's kernels\n"
    "  riftjit selftest --device hip                             those of a GPU\n"
    "  riftjit selftest --device emulate:gfx1201 --check none    the same without the GPU\n"
    "A model of one layer is made of random numbers for every type of weights, and reads 11 tokens at once and 3 "
    "alone.\n"
    "ERROR is that of the worst logit beside a reference in double, in standard deviations of the logits; BITS "
    "compares\n"
    "with the processor's kernels at avx2. Exit code 1: something differs.";

}  // namespace

void add_selftest_command(CLI::App& app, Command& chosen) {
    CLI::App* command = app.add_subcommand("selftest", "Compare a device's kernels with a reference in double");
    command->footer(kSelftestExamples);
    const auto options = std::make_shared<SelftestOptions>();
    add_device_option(*command, "", options->device);
    add_check_option(*command, "", options->device);
    command->add_flag("--json", options->json, "print one JSON object");
    on_chosen(*command, chosen, [command, options] {
        const auto agreed = check_device_flags(*command, options->device);
        const auto result = agreed ? run(*options) : std::unexpected(agreed.error());
        return result ? *result : report(result.error());
    });
}

}  // namespace riftjit::tools
