// A libcuda whose GPU is the host, for tests of hip_stand_in_cuda: the functions that it calls.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/hip_stand_in/cuda_stand_in/interpreter.h"

using riftjit::hip_stand_in::PtxProgram;

namespace {
void* pointer(uint64_t address) { return reinterpret_cast<void*>(address); }
int told(const std::exception& error) {
    std::fprintf(stderr, "libcuda of tests: %s\n", error.what());
    return 1;
}
}  // namespace

extern "C" {

int cuInit(unsigned) { return 0; }
int cuDeviceGet(int* device, int) {
    *device = 0;
    return 0;
}
int cuDevicePrimaryCtxRetain(void** context, int) {
    *context = nullptr;
    return 0;
}
int cuCtxSetCurrent(void*) { return 0; }
int cuGetErrorString(int, const char** text) {
    *text = "it failed";
    return 0;
}
int cuMemAlloc_v2(uint64_t* address, size_t bytes) {
    void* memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
    *address = reinterpret_cast<uintptr_t>(memory);
    return memory == nullptr ? 2 : 0;
}
int cuMemFree_v2(uint64_t address) {
    std::free(pointer(address));
    return 0;
}
int cuMemsetD8_v2(uint64_t to, unsigned char byte, size_t bytes) {
    std::memset(pointer(to), byte, bytes);
    return 0;
}
int cuMemcpyHtoD_v2(uint64_t to, const void* from, size_t bytes) {
    std::memcpy(pointer(to), from, bytes);
    return 0;
}
int cuMemcpyDtoH_v2(void* to, uint64_t from, size_t bytes) {
    std::memcpy(to, pointer(from), bytes);
    return 0;
}
int cuMemcpyDtoD_v2(uint64_t to, uint64_t from, size_t bytes) {
    std::memmove(pointer(to), pointer(from), bytes);
    return 0;
}
int cuModuleLoadDataEx(PtxProgram** module, const void* text, unsigned, int*, void**) try {
    *module = new PtxProgram(static_cast<const char*>(text));
    return 0;
} catch (const std::exception& error) {
    return told(error);
}
int cuModuleGetFunction(PtxProgram** function, PtxProgram* module, const char* name) {
    *function = module;
    return module->name() == name ? 0 : 500;
}
int cuFuncSetAttribute(PtxProgram*, int, int) { return 0; }
int cuLaunchKernel(PtxProgram* function, unsigned groups, unsigned, unsigned, unsigned lanes, unsigned, unsigned,
                   unsigned lds_bytes, void*, void** parameters, void**) try {
    std::vector<std::byte> bytes(function->parameter_bytes());
    std::memcpy(bytes.data(), parameters[0], bytes.size());
    function->run(groups, lanes, lds_bytes, bytes);
    return 0;
} catch (const std::exception& error) {
    return told(error);
}

}  // extern "C"
