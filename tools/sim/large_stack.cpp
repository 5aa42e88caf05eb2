#include "tools/sim/large_stack.h"

#include <pthread.h>
#include <sys/resource.h>

#include <cstring>

namespace riftjit::tools {

namespace {

constexpr size_t kStackBytes = 8 << 20;

void* call(void* action) {
    (*static_cast<const std::function<void()>*>(action))();
    return nullptr;
}

}  // namespace

Result<void> run_on_large_stack(const std::function<void()>& action) {
    rlimit stack{};
    getrlimit(RLIMIT_STACK, &stack);
    if (stack.rlim_cur >= kStackBytes) {
        action();
        return {};
    }
    pthread_attr_t attributes;
    pthread_t thread;
    int error = pthread_attr_init(&attributes);
    if (error == 0) error = pthread_attr_setstacksize(&attributes, kStackBytes);
    if (error == 0) error = pthread_create(&thread, &attributes, call, const_cast<std::function<void()>*>(&action));
    pthread_attr_destroy(&attributes);
    if (error != 0)
        return fail(ErrorKind::OutOfMemory, "a stack of {} MiB, where the process has {} KiB: {}", kStackBytes >> 20,
                    stack.rlim_cur >> 10, std::strerror(error));
    pthread_join(thread, nullptr);
    return {};
}

}  // namespace riftjit::tools
