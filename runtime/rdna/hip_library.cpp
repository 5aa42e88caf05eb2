#include "runtime/rdna/hip_library.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace riftjit::runtime {
namespace {

constexpr std::array<const char*, 4> kNames = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                               "libamdhip64.so"};

// Chips beside a processor, which HIP's attribute need not say.
constexpr std::array kIntegratedChips = {rdna::Target::gfx1033, rdna::Target::gfx1035, rdna::Target::gfx1036,
                                         rdna::Target::gfx1103, rdna::Target::gfx1150, rdna::Target::gfx1151,
                                         rdna::Target::gfx1152, rdna::Target::gfx1153};

// Where a library is there and cannot be loaded, that is what to tell.
Result<std::pair<void*, std::string>> open_any(const std::string& path) {
    std::string why;
    for (const char* name : kNames) {
        const std::string file = path.empty() ? name : path;
        if (void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) return std::pair(handle, file);
        const std::string reason = dlerror();
        if (!path.empty()) return fail(ErrorKind::Io, "HIP: {}", reason);
        if (why.empty() && !reason.starts_with(file + ": cannot open shared object file")) why = reason;
    }
    if (!why.empty()) return fail(ErrorKind::Io, "HIP: {}", why);
    return fail(ErrorKind::Io,
                "HIP: no library: {} were looked for; ROCm has it, or RIFTJIT_HIP_LIBRARY may name its file",
                fmt::join(kNames, ", "));
}

}  // namespace

HipLibrary::HipLibrary(void* handle, std::string path)
    : handle_(handle),
      path_(std::move(path)),
      error_string_(reinterpret_cast<const char* (*)(int)>(find("hipGetErrorString"))),
      error_name_(reinterpret_cast<const char* (*)(int)>(find("hipGetErrorName"))) {}

void* HipLibrary::find(const char* name) {
    void* function = dlsym(handle_, name);
    if (function == nullptr) missing_.emplace_back(name);
    return function;
}

std::unexpected<Error> HipLibrary::failure(const char* call, int error) const {
    return fail(ErrorKind::Io, "HIP: {}: {} ({}, {})", call, error_string_(error), error_name_(error), error);
}

Result<void> HipLibrary::of(std::string_view purpose, Result<void> result) {
    if (result) return result;
    return fail(result.error().kind, "{}: {}", purpose, result.error().message);
}

Result<std::shared_ptr<const HipLibrary>> HipLibrary::open(const std::string& path) {
    RIFTJIT_TRY(opened, open_any(path));
    const std::shared_ptr<const HipLibrary> library(new HipLibrary(opened.first, opened.second));
    if (!library->missing_.empty())
        return fail(ErrorKind::Unsupported, "HIP: {} lacks {}", library->path_, fmt::join(library->missing_, ", "));
    RIFTJIT_TRY_VOID(HipLibrary::of("beginning with " + library->path_, library->hipInit(0)));
    return library;
}

Result<int> HipLibrary::version() const {
    int version = 0;
    RIFTJIT_TRY_VOID(of("its version", hipRuntimeGetVersion(&version)));
    return version;
}

// HIP 6 gave the struct another layout and the function that fills it another name; the plain name has the old one in
// every release.
Result<std::string> HipLibrary::gfx_id(int device) const {
    struct Layout {
        const char* function;
        size_t name_offset;  // of gcnArchName, 256 bytes
    };
    constexpr Layout kLayouts[] = {
        {"hipGetDevicePropertiesR0600", 1160}, {"hipGetDevicePropertiesR0000", 396}, {"hipGetDeviceProperties", 396}};
    std::array<char, 4096> properties;
    for (const Layout& layout : kLayouts) {
        const auto function = reinterpret_cast<int (*)(void*, int)>(dlsym(handle_, layout.function));
        if (function == nullptr) continue;
        properties.fill(0);
        if (const int error = function(properties.data(), device); error != 0) {
            RIFTJIT_TRY_VOID(of(fmt::format("the gfx id of hip:{}", device), failure(layout.function, error)));
        }
        const std::string name(properties.data() + layout.name_offset, strnlen(&properties[layout.name_offset], 256));
        if (name.starts_with("gfx")) return name.substr(0, name.find(':'));  // without "sramecc+" and the like
    }
    return fail(ErrorKind::Unsupported, "HIP: {} does not tell the gfx id of hip:{}", path_, device);
}

std::string HipDevice::text() const { return fmt::format("hip:{} ({}, {})", index, name, gfx); }

Result<std::vector<HipDevice>> list_hip_devices(const HipLibrary& hip) {
    int count = 0;
    RIFTJIT_TRY_VOID(HipLibrary::of("how many devices there are", hip.hipGetDeviceCount(&count)));
    std::vector<HipDevice> devices;
    for (int index = 0; index < count; ++index) {
        HipDevice& device = devices.emplace_back(HipDevice{.index = index});
        const auto of = [index](std::string_view what, Result<void> result) {
            return HipLibrary::of(fmt::format("{} of hip:{}", what, index), std::move(result));
        };
        const auto ask = [&](std::string_view what, int& value, int attribute) {
            return of(what, hip.hipDeviceGetAttribute(&value, attribute, index));
        };
        std::array<char, 256> name{};
        RIFTJIT_TRY_VOID(of("the name", hip.hipDeviceGetName(name.data(), int(name.size()) - 1, index)));
        device.name = name.data();
        RIFTJIT_TRY(gfx, hip.gfx_id(index));
        device.gfx = gfx;
        device.chip = rdna::target_from_name(gfx);
        RIFTJIT_TRY_VOID(of("the memory", hip.hipDeviceTotalMem(&device.bytes, index)));
        int is_integrated = 0, bus_bits = 0, clock_khz = 0;
        RIFTJIT_TRY_VOID(ask("the kind", is_integrated, HipLibrary::kIntegrated));
        RIFTJIT_TRY_VOID(ask("the memory's bus", bus_bits, HipLibrary::kMemoryBusWidth));
        RIFTJIT_TRY_VOID(ask("the memory's clock", clock_khz, HipLibrary::kMemoryClockRate));
        device.bytes_per_second = uint64_t(std::max(bus_bits, 0)) / 8 * uint64_t(std::max(clock_khz, 0)) * 1000;
        using Use = HipDevice::Use;
        if (!device.chip) {
            device.why_not = fmt::format("no code is generated for {}, see riftjit targets", gfx);
        } else if (is_integrated != 0 || std::ranges::find(kIntegratedChips, *device.chip) != kIntegratedChips.end()) {
            device.use = Use::if_named;
            device.why_not = fmt::format("integrated, and so taken only as --device hip:{}", index);
        } else {
            device.use = Use::by_default;
        }
    }
    return devices;
}

Result<HipDevice> choose_hip_device(const std::vector<HipDevice>& devices, std::optional<uint32_t> index) {
    std::string all;
    for (const HipDevice& device : devices)
        all += (all.empty() ? "" : "; ") + device.text() + (device.why_not.empty() ? "" : ": " + device.why_not);
    if (devices.empty()) return fail(ErrorKind::Unsupported, "--device hip: HIP knows no device");
    if (index) {
        if (*index >= devices.size())
            return fail(ErrorKind::Usage, "--device hip:{}: there is no such device; there are {}", *index, all);
        const HipDevice& device = devices[*index];
        if (device.use == HipDevice::Use::never)
            return fail(ErrorKind::Unsupported, "{}: {}", device.text(), device.why_not);
        return device;
    }
    const HipDevice* best = nullptr;
    for (const HipDevice& device : devices)
        if (device.use == HipDevice::Use::by_default &&
            (best == nullptr || device.bytes_per_second > best->bytes_per_second))
            best = &device;
    if (best == nullptr) return fail(ErrorKind::Unsupported, "--device hip: no device that can be used: {}", all);
    return *best;
}

}  // namespace riftjit::runtime
