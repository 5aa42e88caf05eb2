#include "tools/run/devices_command.h"

#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "engine/devices.h"
#include "host/cpus.h"
#include "host/json_text.h"
#include "jit/x86/detect.h"
#include "tools/cli/output.h"
#include "tools/cli/reporter.h"

namespace riftjit::tools {

namespace {

using nlohmann::ordered_json;

struct Hip {
    std::string library;
    int version = 0;
    std::vector<runtime::HipDevice> devices;
};

Result<Hip> find_hip() {
    RIFTJIT_TRY(hip, engine::open_hip());
    RIFTJIT_TRY(version, hip->version());
    RIFTJIT_TRY(devices, runtime::list_hip_devices(*hip));
    return Hip{hip->path(), version, std::move(devices)};
}

std::vector<std::string> level_names(const x86::Processor& processor) {
    std::vector<std::string> names;
    for (const Isa level : processor.levels) names.emplace_back(name(level));
    return names;
}

// ROCm's way to pass one chip off as another: its code is for what the chip claims to be.
const char* overridden() { return std::getenv("HSA_OVERRIDE_GFX_VERSION"); }

std::string_view name(runtime::HipDevice::Use use) {
    switch (use) {
        case runtime::HipDevice::Use::by_default:
            return "by default";
        case runtime::HipDevice::Use::if_named:
            return "if named";
        case runtime::HipDevice::Use::never:
            return "never";
    }
    return "";
}

ordered_json devices_json() {
    const x86::Processor processor = x86::detect();
    const auto isa = engine::select_isa(std::nullopt);
    ordered_json cpu = {{"name", processor.name}, {"levels", level_names(processor)}};
    if (isa)
        cpu["level"] = riftjit::name(*isa);
    else
        cpu["why_not"] = isa.error().message;
    cpu["cores"] = physical_cores();
    cpu["threads"] = usable_cpus();
    ordered_json hip = ordered_json::object();
    if (const auto found = find_hip()) {
        hip["library"] = found->library;
        hip["version"] = found->version;
        hip["devices"] = ordered_json::array();
        for (const runtime::HipDevice& device : found->devices) {
            ordered_json entry = {{"device", fmt::format("hip:{}", device.index)},
                                  {"name", device.name},
                                  {"gfx", device.gfx},
                                  {"bytes", device.bytes},
                                  {"bytes_per_second", device.bytes_per_second},
                                  {"used", name(device.use)}};
            if (!device.why_not.empty()) entry["why_not"] = device.why_not;
            hip["devices"].push_back(std::move(entry));
        }
    } else {
        hip["why_not"] = found.error().message;
    }
    if (overridden() != nullptr) hip["HSA_OVERRIDE_GFX_VERSION"] = overridden();
    ordered_json emulated = ordered_json::array();
    for (const rdna::TargetInfo& chip : rdna::all_targets()) emulated.push_back(fmt::format("emulate:{}", chip.name));
    return {{"cpu", std::move(cpu)}, {"hip", std::move(hip)}, {"emulate", std::move(emulated)}};
}

constexpr const char* kDevicesExamples =
    "Examples:\n"
    "  riftjit devices                             a line for each\n"
    "  riftjit run --device hip -p \"Hi\"            a model on the GPU whose memory is fastest\n"
    "  RIFTJIT_HIP_LIBRARY=/opt/rocm/lib/libamdhip64.so riftjit devices\n"
    "HIP is looked for at run time: libamdhip64.so.7, .6, .5 or without a number, or RIFTJIT_HIP_LIBRARY. Nothing is "
    "run\n"
    "on a device. Its memory's speed is what HIP says of bus and clock, used to choose between devices alone.";

}  // namespace

std::string device_json() { return json_text(devices_json(), 2) + "\n"; }

std::string device_lines() {
    const auto line = [](const std::string& device, const std::string& text) {
        return fmt::format("{:<12}{}\n", device, text);
    };
    const x86::Processor processor = x86::detect();
    const auto isa = engine::select_isa(std::nullopt);
    const auto quota = cpu_quota();
    std::string text = line("cpu", fmt::format("{}: {} (of {}), {} cores, {} hardware threads{}", processor.name,
                                               isa ? std::string(riftjit::name(*isa)) : isa.error().message,
                                               fmt::join(level_names(processor), ", "), physical_cores(), usable_cpus(),
                                               quota ? fmt::format(", CPU quota {}", *quota) : ""));
    if (const auto found = find_hip()) {
        for (const runtime::HipDevice& device : found->devices)
            text += line(fmt::format("hip:{}", device.index),
                         fmt::format("{}, {}, {} bytes{}", device.name, device.gfx, device.bytes,
                                     device.why_not.empty() ? "" : ": " + device.why_not));
        if (found->devices.empty()) text += line("hip", fmt::format("{} knows no device", found->library));
    } else {
        text += line("hip", found.error().message);
    }
    if (overridden() != nullptr)
        text += line("", fmt::format("HSA_OVERRIDE_GFX_VERSION={} changes what devices claim to be", overridden()));
    return text + line("emulate:T", "the software machine, T one of " + rdna::target_names());
}

void add_devices_command(CLI::App& app, Command& chosen) {
    CLI::App* command = app.add_subcommand("devices", "List what models can run on here");
    command->footer(kDevicesExamples);
    const auto json = std::make_shared<bool>(false);
    command->add_flag("--json", *json, "print one JSON object");
    on_chosen(*command, chosen, [json] {
        write_output(*json ? device_json() : device_lines());
        return kExitDone;
    });
}

}  // namespace riftjit::tools
