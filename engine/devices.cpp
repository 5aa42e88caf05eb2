#include "engine/devices.h"

#include <charconv>
#include <cstdlib>

#include "runtime/rdna/hip_accelerator.h"

namespace riftjit::engine {

namespace {

StuckKernelHandler stuck_kernel_handler = nullptr;
UnreleasedHandler unreleased_handler = nullptr;

std::optional<uint32_t> parse_index(std::string_view text) {
    uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

// RIFTJIT_HIP_PATIENCE, in seconds.
Result<uint32_t> patience() {
    const char* text = std::getenv("RIFTJIT_HIP_PATIENCE");
    if (text == nullptr || *text == '\0') return runtime::HipOptions{}.patience_seconds;
    const auto seconds = parse_index(text);
    if (!seconds)
        return fail(ErrorKind::Usage, "RIFTJIT_HIP_PATIENCE: expected seconds, 0 for any number, got \"{}\"", text);
    return *seconds;
}

}  // namespace

Result<DeviceChoice> parse_device(std::string_view text) {
    using Kind = DeviceChoice::Kind;
    if (text == "cpu" || text == "none") return DeviceChoice{};
    if (text == "hip") return DeviceChoice{.kind = Kind::hip};
    constexpr std::string_view kHip = "hip:", kEmulate = "emulate:";
    if (text.starts_with(kHip))
        if (const auto index = parse_index(text.substr(kHip.size())))
            return DeviceChoice{.kind = Kind::hip, .index = index};
    if (text.starts_with(kEmulate)) {
        const auto chip = rdna::target_from_name(text.substr(kEmulate.size()));
        if (chip) return DeviceChoice{.kind = Kind::emulate, .chip = *chip};
        return fail(ErrorKind::Usage, "\"{}\" is not known, expected one of {}", text.substr(kEmulate.size()),
                    rdna::target_names());
    }
    return fail(ErrorKind::Usage, "\"{}\" is not known, expected cpu, hip, hip:N or emulate:TARGET", text);
}

std::string name(const DeviceChoice& choice) {
    switch (choice.kind) {
        case DeviceChoice::Kind::cpu:
            return "cpu";
        case DeviceChoice::Kind::hip:
            return choice.index ? fmt::format("hip:{}", *choice.index) : "hip";
        case DeviceChoice::Kind::emulate:
            return fmt::format("emulate:{}", rdna::name(choice.chip));
    }
    return "";
}

Result<std::shared_ptr<const runtime::HipLibrary>> open_hip() {
    const char* path = std::getenv("RIFTJIT_HIP_LIBRARY");
    return runtime::HipLibrary::open(path == nullptr ? "" : path);
}

void set_stuck_kernel_handler(StuckKernelHandler handler) { stuck_kernel_handler = handler; }
void set_unreleased_handler(UnreleasedHandler handler) { unreleased_handler = handler; }

Result<std::unique_ptr<runtime::Accelerator>> open_accelerator(const DeviceChoice& choice, uint32_t threads) {
    check(!choice.is_cpu(), "the processor is no accelerator");
    if (choice.kind == DeviceChoice::Kind::emulate)
        return std::make_unique<runtime::EmulatedAccelerator>(choice.chip, choice.checks, threads);
    RIFTJIT_TRY(seconds, patience());
    RIFTJIT_TRY(hip, open_hip());
    RIFTJIT_TRY(devices, runtime::list_hip_devices(*hip));
    RIFTJIT_TRY(device, runtime::choose_hip_device(devices, choice.index));
    const runtime::HipOptions options{seconds, stuck_kernel_handler, unreleased_handler};
    RIFTJIT_TRY(accelerator, runtime::HipAccelerator::create(hip, device, options));
    return std::unique_ptr<runtime::Accelerator>(std::move(accelerator));
}

}  // namespace riftjit::engine
