// In place of the software machine (RIFTJIT_STAND_IN=devices=gfx1030,machine=hip_stand_in_cuda): an NVIDIA GPU, to
// which kernels are translated (ptx/ptx.h). hip_stand_in_cuda GFX CHECKS, with its socket as descriptor 3; checks:
// none.
//
// libcuda is opened at run time: libcuda.so.1, or what RIFTJIT_CUDA_LIBRARY names. What it says of a failure goes to
// stderr. Declarations are our own, those of the driver API since CUDA 11 ("CUDA Driver API").
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>

#include "tests/hip_stand_in/ptx/ptx.h"
#include "tests/hip_stand_in/server.h"

namespace riftjit::hip_stand_in {
namespace {

constexpr int kOutOfMemory = 2;

using Context = struct CudaContext*;
using Module = struct CudaModule*;
using Function = struct CudaFunction*;

class Cuda {
public:
    // Ends the process where there is no library or GPU: nobody could be told in another way.
    Cuda() {
        const char* named = std::getenv("RIFTJIT_CUDA_LIBRARY");
        handle_ = dlopen(named != nullptr ? named : "libcuda.so.1", RTLD_NOW);
        if (handle_ == nullptr) give_up(dlerror());
        int device = 0;
        Context context = nullptr;
        if (!call<unsigned>("cuInit", 0) || !call<int*, int>("cuDeviceGet", &device, 0) ||
            !call<Context*, int>("cuDevicePrimaryCtxRetain", &context, device) ||
            !call<Context>("cuCtxSetCurrent", context))
            give_up("no GPU");
    }

    template <class... Arguments>
    bool call(const char* name, Arguments... arguments) {
        void*& function = functions_[name];
        if (function == nullptr) function = dlsym(handle_, name);
        if (function == nullptr) give_up(name);
        const int error = reinterpret_cast<int (*)(Arguments...)>(function)(arguments...);
        if (error == 0) return true;
        const char* text = nullptr;
        const auto describe = reinterpret_cast<int (*)(int, const char**)>(dlsym(handle_, "cuGetErrorString"));
        if (describe == nullptr || describe(error, &text) != 0) text = "unknown error";
        std::fprintf(stderr, "stand-in: %s: %s (%d)\n", name, text, error);
        return false;
    }

private:
    [[noreturn]] static void give_up(const char* why) {
        std::fprintf(stderr, "stand-in: CUDA: %s\n", why);
        std::exit(1);
    }

    void* handle_;
    std::map<std::string, void*> functions_;
};

class CudaServer final : public Server {
public:
    explicit CudaServer(rdna::Target chip) : chip_(chip) {}

private:
    struct Kernel {
        Function function;
        uint32_t lanes, lds_bytes, parameter_bytes;
    };

    int answer(const Request& request, std::span<const std::byte> payload, uint64_t& value,
               std::vector<std::byte>& result) override {
        const auto code = [](bool done) { return done ? 0 : kLaunchFailure; };
        switch (request.ask) {
            case Ask::allocate:
                return cuda_.call<uint64_t*, size_t>("cuMemAlloc_v2", &value, request.count) ? 0 : kOutOfMemory;
            case Ask::release:
                return code(cuda_.call<uint64_t>("cuMemFree_v2", request.at));
            case Ask::fill:
                return code(cuda_.call<uint64_t, unsigned char, size_t>(
                    "cuMemsetD8_v2", request.at, static_cast<unsigned char>(request.from), request.count));
            case Ask::write:
                return code(cuda_.call<uint64_t, const void*, size_t>("cuMemcpyHtoD_v2", request.at, payload.data(),
                                                                      payload.size()));
            case Ask::read:
                result.resize(request.count);
                return code(
                    cuda_.call<void*, uint64_t, size_t>("cuMemcpyDtoH_v2", result.data(), request.from, result.size()));
            case Ask::copy:
                return code(
                    cuda_.call<uint64_t, uint64_t, size_t>("cuMemcpyDtoD_v2", request.at, request.from, request.count));
            case Ask::load:
                return load(payload);
            case Ask::find: {
                const auto found = loaded_.find(std::string(reinterpret_cast<const char*>(payload.data()),  //
                                                            payload.size()));
                if (found == loaded_.end()) return kNotFound;
                value = kernels_.size();
                kernels_.push_back(found->second);
                return 0;
            }
            case Ask::launch:
                return launch(request, payload);
        }
        return kInvalidValue;
    }

    int load(std::span<const std::byte> file) {
        const auto object = rdna::load_code_object(file, chip_);
        if (!object) return say(object.error(), kInvalidImage);
        for (const rdna::LoadedKernel& kernel : object->kernels) {
            const auto ptx = ptx_of(*object, kernel);
            if (!ptx) return say(ptx.error(), kInvalidImage);
            Kernel loaded{nullptr, kernel.metadata.max_flat_workgroup_size, kernel.descriptor.lds_bytes,
                          ptx_parameter_bytes(kernel)};
            if (!build(*ptx, kernel.name, loaded)) return kInvalidImage;
            loaded_.insert_or_assign(kernel.name, loaded);
        }
        return 0;
    }

    bool build(const std::string& ptx, const std::string& name, Kernel& kernel) {
        constexpr int kErrorLog = 5, kErrorLogBytes = 6, kMaxDynamicShared = 8;  // CU_JIT_*; CU_FUNC_ATTRIBUTE_*
        std::string log(4096, '\0');
        int keys[] = {kErrorLog, kErrorLogBytes};
        void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
        Module module = nullptr;
        if (!cuda_.call<Module*, const void*, unsigned, int*, void**>("cuModuleLoadDataEx", &module, ptx.c_str(), 2,
                                                                      keys, values)) {
            std::fprintf(stderr, "stand-in: %s: %s\n", name.c_str(), log.c_str());
            return false;
        }
        return cuda_.call<Function*, Module, const char*>("cuModuleGetFunction", &kernel.function, module,
                                                          name.c_str()) &&
               cuda_.call<Function, int, int>("cuFuncSetAttribute", kernel.function, kMaxDynamicShared,
                                              int(kernel.lds_bytes));
    }

    int launch(const Request& request, std::span<const std::byte> args) {
        const Kernel& kernel = kernels_[request.kernel];
        if (request.lanes > kernel.lanes || request.lanes % 32 != 0 || args.size() > kernel.parameter_bytes)
            return kInvalidValue;
        std::vector<std::byte> padded(args.begin(), args.end());
        padded.resize(kernel.parameter_bytes);
        void* parameters[] = {padded.data()};
        using Stream = void*;
        return cuda_.call<Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream,
                          void**, void**>("cuLaunchKernel", kernel.function, request.groups, 1, 1, request.lanes, 1, 1,
                                          kernel.lds_bytes, nullptr, parameters, nullptr)
                   ? 0
                   : kLaunchFailure;
    }

    static int say(const Error& error, int code) {
        std::fprintf(stderr, "stand-in: %s\n", error.message.c_str());
        return code;
    }

    rdna::Target chip_;
    Cuda cuda_;
    std::map<std::string, Kernel> loaded_;
    std::vector<Kernel> kernels_;
};

}  // namespace
}  // namespace riftjit::hip_stand_in

int main(int argc, char** argv) {
    const auto chip = argc == 3 ? riftjit::rdna::target_from_name(argv[1]) : std::nullopt;
    if (!chip || std::string(argv[2]) != "none") return 1;
    riftjit::hip_stand_in::CudaServer(*chip).serve();
}
