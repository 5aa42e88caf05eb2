#include "tools/run/selftest_command.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "engine/selftest.h"
#include "host/json_text.h"
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

std::string_view bits_text(bool has_processors) { return has_processors ? "the processor's" : "others"; }
std::string_view result_text(bool is_passed) { return is_passed ? "passed" : "FAILED"; }

class Selftest {
public:
    explicit Selftest(const SelftestOptions& options) : options_(options) {}

    Result<int> run() {
        RIFTJIT_TRY_VOID(test_kernels());
        RIFTJIT_TRY_VOID(test_models());
        if (options_.json)
            write_output(json_text(nlohmann::ordered_json({{"device", engine::name(options_.device)},
                                                           {"passed", failed_.empty()},
                                                           {"kernels", std::move(kernels_)},
                                                           {"no_kernels_for", lacking_},
                                                           {"models", std::move(models_)}}),
                                   2) +
                         "\n");
        if (failed_.empty()) return kExitDone;
        write_diagnostic(fmt::format("error: --device {}: {} of {} tests failed: {}\n", engine::name(options_.device),
                                     failed_.size(), tests_, fmt::join(failed_, ", ")));
        return kExitError;
    }

private:
    void note(const std::string& name, bool is_passed) {
        ++tests_;
        if (!is_passed) failed_.push_back(name);
    }

    Result<void> test_kernels() {
        print(
            fmt::format("{:>9} {:>9}  {:<15}  {:>8}  {:<6}  {}\n", "ERROR", "BOUND", "BITS", "MS", "RESULT", "KERNEL"));
        RIFTJIT_TRY(lacking, engine::selftest_kernels(options_.device, [this](const engine::KernelSelftest& test) {
                        note(test.name, test.is_passed());
                        kernels_.push_back({{"name", test.name},
                                            {"spec", test.text},
                                            {"error", test.error},
                                            {"bound", test.bound},
                                            {"processors_bits", test.has_processors_bits},
                                            {"ms", 1e3 * test.seconds},
                                            {"passed", test.is_passed()}});
                        print(fmt::format("{:>9.2e} {:>9.2e}  {:<15}  {:>8.3f}  {:<6}  {}\n", test.error, test.bound,
                                          bits_text(test.has_processors_bits), 1e3 * test.seconds,
                                          result_text(test.is_passed()), test.text));
                    }));
        lacking_ = lacking;
        if (!lacking.empty())
            print(fmt::format("no kernels here, and none in this device's plans, for {}\n", fmt::join(lacking, ", ")));
        return {};
    }

    Result<void> test_models() {
        print(fmt::format("\n{:<8} {:<5} {:>7} {:>8} {:>8}  {:<15}  {}\n", "WEIGHTS", "CACHE", "KERNELS", "ERROR",
                          "BOUND", "BITS", "RESULT"));
        for (const auto& [weights, cache] : combinations()) {
            RIFTJIT_TRY(test, engine::selftest_model(options_.device, weights, cache));
            note(fmt::format("the model of {} with a cache of {}", name(weights), name(cache)), test.is_passed());
            models_.push_back({{"weights", name(weights)},
                               {"cache", name(cache)},
                               {"kernels", test.kernels},
                               {"error", test.error},
                               {"bound", test.bound},
                               {"processors_bits", test.has_processors_bits},
                               {"passed", test.is_passed()}});
            print(fmt::format("{:<8} {:<5} {:>7} {:>8.5f} {:>8.5f}  {:<15}  {}\n", name(weights), name(cache),
                              test.kernels, test.error, test.bound, bits_text(test.has_processors_bits),
                              result_text(test.is_passed())));
        }
        return {};
    }

    void print(const std::string& text) const {
        if (!options_.json) write_output(text);
    }

    const SelftestOptions& options_;
    nlohmann::ordered_json kernels_ = nlohmann::ordered_json::array(), models_ = nlohmann::ordered_json::array();
    std::vector<std::string> lacking_, failed_;
    size_t tests_ = 0;
};

constexpr const char* kSelftestExamples =
    "Examples:\n"
    "  riftjit selftest                                          the processor's kernels\n"
    "  riftjit selftest --device hip                             those of a GPU\n"
    "  riftjit selftest --device emulate:gfx1201 --check none    the same without the GPU\n"
    "First each kernel by itself: ERROR is that of the value which is nearest to its BOUND, beside a reference in "
    "double,\n"
    "BITS compares with the processor's kernels at avx2, MS is the time of the step (with emulate, of the software "
    "machine).\n"
    "Then a model of one layer of random numbers for every type of weights, which reads 11 tokens at once and 3 "
    "alone:\n"
    "ERROR is that of the worst logit, in standard deviations of the logits. Exit code 1: something differs.";

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
        end_on_interrupts();
        const auto result = agreed ? Selftest(*options).run() : std::unexpected(agreed.error());
        return result ? *result : report(result.error());
    });
}

}  // namespace riftjit::tools
