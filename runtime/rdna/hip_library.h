// libamdhip64, opened at run time: those of its functions that are used, each found by its name before the first call.
//
// Declarations are our own, since no header fits every release. They were compared with hip_runtime_api.h of
// ROCm 5.0, 5.7, 6.0, 6.2 and of HIP's repository at 6.3: of the functions below each has the same parameters in all of
// them, and so have the flags and the keys of launch arguments their values. Attributes have the same numbers there and
// in the header of 7 (the development branch of ROCm/rocm-systems): what was withdrawn became "unused". hipDeviceProp_t
// has the gfx id at byte 396 of 792 until 5.7 and at 1160 of 1472 from 6.0 on; in 7 the fields before it are the same
// ones (hip_library.cpp). Of functions in 7 AMD's list of changes was read, which are of errors' numbers: none is
// relied upon but success. No struct is passed but that one.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/result.h"
#include "jit/rdna/table/target.h"

namespace riftjit::runtime {

class HipLibrary;

// A function of the library. A call that fails says which it was and what HIP says of it.
template <class... Arguments>
class HipFunction {
public:
    HipFunction(HipLibrary& library, const char* name);

    Result<void> operator()(Arguments... arguments) const;
    int code(Arguments... arguments) const { return function_(arguments...); }  // 0: success

private:
    const HipLibrary& library_;
    const char* name_;
    int (*function_)(Arguments...);
};

class HipLibrary {
    void* handle_;
    std::string path_;
    std::vector<std::string> missing_;

public:
    using Module = struct HipModule*;
    using Function = struct HipKernel*;
    using Stream = struct HipStream*;  // null: the one that is there
    using Event = struct HipEvent*;
    static constexpr unsigned kBlockingSync = 4, kNoTiming = 2;  // of hipSetDeviceFlags; of hipEventCreateWithFlags
    static constexpr int kIntegrated = 16, kMemoryBusWidth = 59, kMemoryClockRate = 60;  // of hipDeviceGetAttribute

    // `path`: that file; empty: libamdhip64.so.7, .6, .5 or without a number, where the system looks for libraries.
    // Initialised. Stays loaded.
    static Result<std::shared_ptr<const HipLibrary>> open(const std::string& path);

    // A call that failed, and what it was for.
    static Result<void> of(std::string_view purpose, Result<void> result);

    const std::string& path() const { return path_; }
    Result<int> version() const;  // of the runtime: 60342134
    // "gfx1100" from the properties of a device, whose layout the function that is there decides.
    Result<std::string> gfx_id(int device) const;

    // Public as functions of a header are; members in this order are found in this order.
    HipFunction<unsigned> hipInit{*this, "hipInit"};
    HipFunction<int*> hipRuntimeGetVersion{*this, "hipRuntimeGetVersion"};
    HipFunction<int*> hipGetDeviceCount{*this, "hipGetDeviceCount"};
    HipFunction<char*, int, int> hipDeviceGetName{*this, "hipDeviceGetName"};
    HipFunction<int*, int, int> hipDeviceGetAttribute{*this, "hipDeviceGetAttribute"};
    HipFunction<size_t*, int> hipDeviceTotalMem{*this, "hipDeviceTotalMem"};
    HipFunction<int> hipSetDevice{*this, "hipSetDevice"};
    HipFunction<unsigned> hipSetDeviceFlags{*this, "hipSetDeviceFlags"};
    HipFunction<size_t*, size_t*> hipMemGetInfo{*this, "hipMemGetInfo"};
    HipFunction<void**, size_t> hipMalloc{*this, "hipMalloc"};
    HipFunction<void*> hipFree{*this, "hipFree"};
    HipFunction<void*, int, size_t> hipMemset{*this, "hipMemset"};
    HipFunction<void*, const void*, size_t> hipMemcpyHtoD{*this, "hipMemcpyHtoD"};
    HipFunction<void*, void*, size_t> hipMemcpyDtoH{*this, "hipMemcpyDtoH"};
    HipFunction<void*, void*, size_t> hipMemcpyDtoD{*this, "hipMemcpyDtoD"};
    HipFunction<Module*, const void*> hipModuleLoadData{*this, "hipModuleLoadData"};
    HipFunction<Module> hipModuleUnload{*this, "hipModuleUnload"};
    HipFunction<Function*, Module, const char*> hipModuleGetFunction{*this, "hipModuleGetFunction"};
    HipFunction<Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream, void**, void**>
        hipModuleLaunchKernel{*this, "hipModuleLaunchKernel"};
    HipFunction<Stream> hipStreamSynchronize{*this, "hipStreamSynchronize"};
    HipFunction<Event*, unsigned> hipEventCreateWithFlags{*this, "hipEventCreateWithFlags"};
    HipFunction<Event, Stream> hipEventRecord{*this, "hipEventRecord"};
    HipFunction<Event> hipEventQuery{*this, "hipEventQuery"};
    HipFunction<float*, Event, Event> hipEventElapsedTime{*this, "hipEventElapsedTime"};
    HipFunction<Event> hipEventDestroy{*this, "hipEventDestroy"};

private:
    template <class... Arguments>
    friend class HipFunction;

    HipLibrary(void* handle, std::string path);
    void* find(const char* name);  // noted as missing where it is not there
    std::unexpected<Error> failure(const char* call, int error) const;

    const char* (*error_string_)(int);
    const char* (*error_name_)(int);
};

template <class... Arguments>
HipFunction<Arguments...>::HipFunction(HipLibrary& library, const char* name)
    : library_(library), name_(name), function_(reinterpret_cast<int (*)(Arguments...)>(library.find(name))) {}

template <class... Arguments>
Result<void> HipFunction<Arguments...>::operator()(Arguments... arguments) const {
    if (const int error = function_(arguments...); error != 0) return library_.failure(name_, error);
    return {};
}

// A device that HIP knows, and whether models can run on it.
struct HipDevice {
    int index = 0;
    std::string name, gfx;  // "AMD Radeon RX 7900 XTX", "gfx1100"
    std::optional<rdna::Target> chip;
    uint64_t bytes = 0;             // of its memory
    uint64_t bytes_per_second = 0;  // at which the memory is read, by what HIP says of it; 0: it says nothing
    enum class Use : uint8_t { by_default, if_named, never } use = Use::never;
    std::string why_not;  // of the latter two

    std::string text() const;  // "hip:0 (AMD Radeon RX 7900 XTX, gfx1100)"
};
Result<std::vector<HipDevice>> list_hip_devices(const HipLibrary& hip);
// The one of this index, or of those that are used by default the one whose memory is fastest. Refusals name every
// device and what is wrong with it.
Result<HipDevice> choose_hip_device(const std::vector<HipDevice>& devices, std::optional<uint32_t> index);

}  // namespace riftjit::runtime
