#include "host/cpus.h"

#include <hwloc.h>
#include <sched.h>

#include <algorithm>
#include <memory>

namespace riftjit {
namespace {

constexpr int kMaxCpus = 65536;  // the affinity call refuses masks smaller than the kernel's

struct TopologyDeleter {
    void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};

// Only cores are looked at, and only through the operating system: a start-up that must stay below 100 ms has no time
// for caches, devices, or for visiting every CPU to ask CPUID.
uint32_t count_cores() {
    hwloc_topology_t raw = nullptr;
    if (hwloc_topology_init(&raw) != 0) return 0;
    const std::unique_ptr<hwloc_topology, TopologyDeleter> topology(raw);
    hwloc_topology_set_all_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_type_filter(raw, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
    hwloc_topology_set_components(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
    if (hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_RESTRICT_TO_CPUBINDING) != 0 || hwloc_topology_load(raw) != 0)
        return 0;
    const int cores = hwloc_get_nbobjs_by_type(raw, HWLOC_OBJ_CORE);
    return cores > 0 ? uint32_t(cores) : 0;
}

}  // namespace

uint32_t usable_cpus() {
    struct SetDeleter {
        void operator()(cpu_set_t* set) const { CPU_FREE(set); }
    };
    const std::unique_ptr<cpu_set_t, SetDeleter> set(CPU_ALLOC(kMaxCpus));
    const size_t bytes = CPU_ALLOC_SIZE(kMaxCpus);
    if (!set || sched_getaffinity(0, bytes, set.get()) != 0) return 1;
    return std::max(1, CPU_COUNT_S(bytes, set.get()));
}

uint32_t physical_cores() {
    const uint32_t cpus = usable_cpus();
    if (cpus == 1) return 1;
    const uint32_t cores = count_cores();
    return cores == 0 ? cpus : std::min(cores, cpus);  // a machine without topology files: CPUs are what is known
}

}  // namespace riftjit
