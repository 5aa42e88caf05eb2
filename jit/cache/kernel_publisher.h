// Stores compiled kernels in the disk cache on a thread of its own: fsync must not delay the first token.
#pragma once

#include <sys/types.h>

#include <memory>

#include "jit/cache/disk_cache.h"

namespace riftjit {

class KernelPublisher {
public:
    explicit KernelPublisher(DiskCache disk);
    ~KernelPublisher();  // publishes what is queued, then collects garbage
    KernelPublisher(const KernelPublisher&) = delete;
    KernelPublisher& operator=(const KernelPublisher&) = delete;

    // Both outlive the publisher.
    void add(const KernelSpec& spec, const CodeObject& object);
    // From now on; before, entries only queue up, so that compiling has the processor to itself.
    void start();

private:
    struct Work;

    const pid_t owner_;
    std::unique_ptr<Work> work_;
};

}  // namespace riftjit
