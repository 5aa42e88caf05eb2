// A libamdhip64 that runs what it is given in the software machine, and fails as it is told to.
//
// RIFTJIT_STAND_IN, read by hipInit(), is a list with commas between its items:
//   devices=gfx1100+gfx906  what there is (nothing: none); default gfx1100
//   checks=all|none         of the machine; default none
//   machine=FILE            the program that runs it; default hip_stand_in_machine
//   fail=N                  the N-th call fails (error 999), and does nothing but what releases something
//   late=N                  the N-th launch fails, which whoever waits for it is told, and everything behind it
//   hang=N                  the N-th launch has no end: nothing behind it is ever done
//   taken=BYTES             so much of the memory is another process's once somebody has asked how much is free
//   flip=PART@OFFSET        behind each launch of a kernel whose name contains PART the lowest bit is another one of
//                           what the pointer at this offset of its arguments points to
//   trace=FILE              a line for each call: its name, and of which kernel or of how many bytes it was
//   count=FILE              at the end of the process, the number of calls and what was not released go there
//
// As HIP 6 does it, it has the properties of a device under three names. Compiled with STAND_IN_LACKS_EVENTS it lacks
// a function.
#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "tests/hip_stand_in/protocol.h"

extern char** environ;

namespace riftjit::hip_stand_in {
namespace {

constexpr int kInvalidValue = 1, kNotInitialized = 3, kNoDevice = 100, kInvalidDevice = 101, kNotReady = 600,
              kLaunchFailure = 719, kUnknown = 999;
constexpr uint64_t kMemory = uint64_t{8} << 30;

using Clock = std::chrono::steady_clock;

struct Event {
    Clock::time_point time;
    bool has_passed = false;
};
struct Module {
    int number;
};

struct State {
    std::vector<std::string> devices;
    std::string checks = "none", machine = STAND_IN_MACHINE, count_file, trace_file, flipped_kernel;
    uint64_t fail = 0, hang = 0, late = 0, taken = 0, flipped_offset = 0;
    uint64_t calls = 0, launches = 0;
    int device = 0, socket = -1;
    bool is_initialized = false, is_stuck = false, is_lost = false, has_told_memory = false;
    std::vector<std::string> kernels;
    std::string failed;  // the call that was told to fail
    int64_t allocations = 0, modules = 0, events = 0;
    uint64_t allocated = 0;
    std::vector<std::pair<uint64_t, uint64_t>> sizes;  // by address

    ~State() {
        if (socket >= 0) close(socket);
        if (count_file.empty()) return;
        std::ofstream(count_file) << calls << " calls, " << allocations << " allocations, " << modules << " modules, "
                                  << events << " events\n";
    }
};
State state;

void configure() {
    if (state.socket >= 0) close(state.socket);
    const std::string count_file = state.count_file;
    state.count_file.clear();  // what was before writes nothing
    state = State{};
    state.count_file = count_file;
    state.devices = {"gfx1100"};
    const char* given = std::getenv("RIFTJIT_STAND_IN");
    std::istringstream items(given == nullptr ? "" : given);
    for (std::string item; std::getline(items, item, ',');) {
        const size_t equals = std::min(item.find('='), item.size());
        const std::string key = item.substr(0, equals), value = item.substr(std::min(equals + 1, item.size()));
        if (key == "checks") state.checks = value;
        if (key == "machine") state.machine = value;
        if (key == "count") state.count_file = value;
        if (key == "trace") state.trace_file = value;
        if (key == "late") state.late = std::strtoull(value.c_str(), nullptr, 10);
        if (key == "taken") state.taken = std::strtoull(value.c_str(), nullptr, 10);
        if (key == "flip") {
            const size_t at = std::min(value.find('@'), value.size() - 1);
            state.flipped_kernel = value.substr(0, at);
            state.flipped_offset = std::strtoull(value.c_str() + at + 1, nullptr, 10);
        }
        if (key == "fail") state.fail = std::strtoull(value.c_str(), nullptr, 10);
        if (key == "hang") state.hang = std::strtoull(value.c_str(), nullptr, 10);
        if (key != "devices") continue;
        state.devices.clear();
        std::istringstream names(value);
        for (std::string name; std::getline(names, name, '+');) state.devices.push_back(name);
    }
}

// Every call begins with it; an error ends the call.
int enter(const char* call, const std::string& of = "") {
    if (!state.trace_file.empty()) std::ofstream(state.trace_file, std::ios::app) << call << ' ' << of << '\n';
    if (++state.calls == state.fail) {
        state.failed = call;
        return kUnknown;
    }
    return state.is_initialized ? 0 : kNotInitialized;
}

bool is_device(int device) { return device >= 0 && size_t(device) < state.devices.size(); }

// Where the end of launches is waited for, of which one may have none and one may have failed.
int wait_for_launches() {
    while (state.is_stuck) pause();
    return state.is_lost ? kLaunchFailure : 0;
}

uint64_t free_memory() {
    const uint64_t used = state.allocated + (state.has_told_memory ? state.taken : 0);
    return kMemory - std::min(kMemory, used);
}

int start_machine() {
    if (state.socket >= 0) return 0;
    if (!is_device(state.device)) return kInvalidDevice;
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) return kUnknown;
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    // dup2() onto itself would leave the descriptor to be closed.
    if (sockets[1] == 3) sockets[1] = fcntl(3, F_DUPFD_CLOEXEC, 10);
    posix_spawn_file_actions_adddup2(&files, sockets[1], 3);
    std::string gfx = state.devices[size_t(state.device)], program = state.machine;
    char* arguments[] = {program.data(), gfx.data(), state.checks.data(), nullptr};
    pid_t process = 0;
    const int error = posix_spawn(&process, program.c_str(), &files, nullptr, arguments, environ);
    posix_spawn_file_actions_destroy(&files);
    close(sockets[1]);
    state.socket = sockets[0];
    return error == 0 ? 0 : kUnknown;
}

int ask(Request request, const void* payload, uint64_t bytes, uint64_t* value = nullptr, void* result = nullptr) {
    if (const int error = start_machine(); error != 0) return error;
    request.payload = bytes;
    Reply reply;
    if (!write_all(state.socket, &request, sizeof request) || !write_all(state.socket, payload, bytes) ||
        !read_all(state.socket, &reply, sizeof reply))
        return kUnknown;
    if (reply.payload != 0 && !read_all(state.socket, result, reply.payload)) return kUnknown;
    if (value != nullptr) *value = reply.value;
    return reply.error;
}

uint64_t number(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

int flip_bit(const void* arguments) {
    uint64_t address = 0;
    std::memcpy(&address, static_cast<const char*>(arguments) + state.flipped_offset, sizeof address);
    char byte = 0;
    const int error = ask({.ask = Ask::read, .from = address, .count = 1}, nullptr, 0, nullptr, &byte);
    byte ^= 1;
    return error != 0 ? error : ask({.ask = Ask::write, .at = address}, &byte, 1);
}

int properties(const char* call, void* out, int device, size_t gfx_offset) {
    if (const int error = enter(call); error != 0) return error;
    if (!is_device(device)) return kInvalidDevice;
    const std::string gfx = state.devices[size_t(device)] + ":sramecc-:xnack-";
    std::strcpy(static_cast<char*>(out) + gfx_offset, gfx.c_str());
    return 0;
}

}  // namespace
}  // namespace riftjit::hip_stand_in

using namespace riftjit::hip_stand_in;

#define ENTER(...) \
    if (const int error = enter(__VA_ARGS__); error != 0) return error

extern "C" {

// For tests in the process.
uint64_t stand_in_calls() { return state.calls; }
const char* stand_in_failed() { return state.failed.c_str(); }
int64_t stand_in_left() { return state.allocations + state.modules + state.events; }

const char* hipGetErrorString(int error) {
    switch (error) {
        case kInvalidValue:
            return "invalid argument";
        case 2:
            return "out of memory";
        case kNotInitialized:
            return "initialization error";
        case kNoDevice:
            return "no ROCm-capable device is detected";
        case kInvalidDevice:
            return "invalid device ordinal";
        case 200:
            return "device kernel image is invalid";
        case 500:
            return "named symbol not found";
        case kNotReady:
            return "device not ready";
        case 719:
            return "unspecified launch failure";
        default:
            return "unknown error";
    }
}
const char* hipGetErrorName(int error) {
    return error == 2 ? "hipErrorOutOfMemory" : error == 719 ? "hipErrorLaunchFailure" : "hipErrorUnknown";
}

int hipInit(unsigned) {
    configure();
    state.is_initialized = true;
    ENTER("hipInit");
    return state.devices.empty() ? kNoDevice : 0;
}
int hipRuntimeGetVersion(int* version) {
    ENTER("hipRuntimeGetVersion");
    *version = 60000000;
    return 0;
}
int hipGetDeviceCount(int* count) {
    ENTER("hipGetDeviceCount");
    *count = int(state.devices.size());
    return 0;
}
int hipDeviceGetName(char* name, int size, int device) {
    ENTER("hipDeviceGetName");
    if (!is_device(device)) return kInvalidDevice;
    std::strncpy(name, "Software machine", size_t(size));
    return 0;
}
// 16 integrated (chips that are no table's say it), 59 bits of the memory bus, 60 kHz of the memory.
int hipDeviceGetAttribute(int* value, int attribute, int device) {
    ENTER("hipDeviceGetAttribute");
    if (!is_device(device)) return kInvalidDevice;
    *value = attribute == 59 ? 256 : attribute == 60 ? 1'000'000 + 1000 * device : 0;
    return 0;
}
int hipDeviceTotalMem(size_t* bytes, int device) {
    ENTER("hipDeviceTotalMem");
    if (!is_device(device)) return kInvalidDevice;
    *bytes = kMemory;
    return 0;
}
int hipGetDevicePropertiesR0600(void* out, int device) {
    return properties("hipGetDevicePropertiesR0600", out, device, 1160);
}
int hipGetDevicePropertiesR0000(void* out, int device) {
    return properties("hipGetDevicePropertiesR0000", out, device, 396);
}
int hipGetDeviceProperties(void* out, int device) { return properties("hipGetDeviceProperties", out, device, 396); }
int hipSetDevice(int device) {
    ENTER("hipSetDevice");
    if (!is_device(device)) return kInvalidDevice;
    state.device = device;
    return 0;
}
int hipSetDeviceFlags(unsigned) {
    ENTER("hipSetDeviceFlags");
    return 0;
}
int hipMemGetInfo(size_t* free, size_t* total) {
    ENTER("hipMemGetInfo");
    *free = free_memory();
    state.has_told_memory = true;
    *total = kMemory;
    return 0;
}
int hipMalloc(void** memory, size_t bytes) {
    ENTER("hipMalloc", std::to_string(bytes));
    if (bytes > free_memory()) return 2;
    uint64_t address = 0;
    if (const int error = ask({.ask = Ask::allocate, .count = bytes}, nullptr, 0, &address); error != 0) return error;
    *memory = reinterpret_cast<void*>(address);
    ++state.allocations;
    state.allocated += bytes;
    state.sizes.emplace_back(address, bytes);
    return 0;
}
int hipFree(void* memory) {
    const int told = enter("hipFree");
    const auto found = std::find_if(state.sizes.begin(), state.sizes.end(),
                                    [memory](const auto& size) { return size.first == number(memory); });
    if (found == state.sizes.end()) return kInvalidValue;
    state.allocated -= found->second;
    state.sizes.erase(found);
    --state.allocations;
    const int error = ask({.ask = Ask::release, .at = number(memory)}, nullptr, 0);
    return told != 0 ? told : state.is_lost ? kLaunchFailure : error;
}
int hipMemset(void* memory, int byte, size_t bytes) {
    ENTER("hipMemset", std::to_string(bytes));
    return ask({.ask = Ask::fill, .at = number(memory), .from = uint64_t(byte), .count = bytes}, nullptr, 0);
}
int hipMemcpyHtoD(void* to, const void* from, size_t bytes) {
    ENTER("hipMemcpyHtoD", std::to_string(bytes));
    if (const int error = wait_for_launches(); error != 0) return error;
    return ask({.ask = Ask::write, .at = number(to)}, from, bytes);
}
int hipMemcpyDtoH(void* to, void* from, size_t bytes) {
    ENTER("hipMemcpyDtoH", std::to_string(bytes));
    if (const int error = wait_for_launches(); error != 0) return error;
    return ask({.ask = Ask::read, .from = number(from), .count = bytes}, nullptr, 0, nullptr, to);
}
int hipMemcpyDtoD(void* to, void* from, size_t bytes) {
    ENTER("hipMemcpyDtoD", std::to_string(bytes));
    if (const int error = wait_for_launches(); error != 0) return error;
    return ask({.ask = Ask::copy, .at = number(to), .from = number(from), .count = bytes}, nullptr, 0);
}
// The image's length is that of an ELF file without anything behind its section headers.
int hipModuleLoadData(Module** module, const void* image) {
    ENTER("hipModuleLoadData");
    const auto* bytes = static_cast<const unsigned char*>(image);
    uint64_t sections = 0;
    uint16_t size = 0, count = 0;
    std::memcpy(&sections, bytes + 40, 8);
    std::memcpy(&size, bytes + 58, 2);
    std::memcpy(&count, bytes + 60, 2);
    const uint64_t length = sections + uint64_t{size} * count;
    if (const int error = ask({.ask = Ask::load}, image, length); error != 0) return error;
    *module = new Module{int(++state.modules)};
    return 0;
}
int hipModuleUnload(Module* module) {
    const int told = enter("hipModuleUnload");
    delete module;
    --state.modules;
    return told != 0 ? told : state.is_lost ? kLaunchFailure : 0;
}
int hipModuleGetFunction(void** function, Module*, const char* name) {
    ENTER("hipModuleGetFunction", name);
    uint64_t kernel = 0;
    if (const int error = ask({.ask = Ask::find}, name, std::strlen(name), &kernel); error != 0) return error;
    *function = reinterpret_cast<void*>(kernel + 1);
    state.kernels.resize(std::max<size_t>(state.kernels.size(), kernel + 1));
    state.kernels[kernel] = name;
    return 0;
}
int hipModuleLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                          unsigned block_y, unsigned block_z, unsigned, void*, void** parameters, void** extra) {
    const bool is_known = number(function) - 1 < state.kernels.size();
    const std::string name = is_known ? state.kernels[number(function) - 1] : "";
    ENTER("hipModuleLaunchKernel", name);
    if (!is_known || grid_x == 0 || grid_y != 1 || grid_z != 1 || block_x == 0 || block_x > 1024 || block_y != 1 ||
        block_z != 1 || parameters != nullptr || extra == nullptr || number(extra[0]) != 1 || number(extra[2]) != 2 ||
        number(extra[4]) != 3)
        return kInvalidValue;
    if (++state.launches == state.hang) state.is_stuck = true;
    if (state.launches == state.late) state.is_lost = true;
    if (state.is_stuck || state.is_lost) return 0;
    const Request launch{
        .ask = Ask::launch, .kernel = uint32_t(number(function) - 1), .groups = grid_x, .lanes = block_x};
    const int error = ask(launch, extra[1], *static_cast<size_t*>(extra[3]));
    if (error != 0 || state.flipped_kernel.empty() || name.find(state.flipped_kernel) == std::string::npos)
        return error;
    return flip_bit(extra[1]);
}
int hipStreamSynchronize(void*) {
    ENTER("hipStreamSynchronize");
    return wait_for_launches();
}
#ifndef STAND_IN_LACKS_EVENTS
int hipEventCreateWithFlags(Event** event, unsigned) {
    ENTER("hipEventCreateWithFlags");
    *event = new Event;
    ++state.events;
    return 0;
}
#endif
int hipEventRecord(Event* event, void*) {
    ENTER("hipEventRecord");
    *event = {Clock::now(), !state.is_stuck};
    return 0;
}
int hipEventQuery(Event* event) {
    ENTER("hipEventQuery");
    return event->has_passed ? 0 : kNotReady;
}
int hipEventElapsedTime(float* milliseconds, Event* from, Event* to) {
    ENTER("hipEventElapsedTime");
    *milliseconds = std::chrono::duration<float, std::milli>(to->time - from->time).count();
    return 0;
}
int hipEventDestroy(Event* event) {
    const int told = enter("hipEventDestroy");
    delete event;
    --state.events;
    return told != 0 ? told : state.is_lost ? kLaunchFailure : 0;
}

}  // extern "C"
