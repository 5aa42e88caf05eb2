#include "host/cpus.h"

#include <hwloc.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <memory>
#include <string>

#include "host/control_groups.h"

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

std::optional<uint32_t> quota_of(const std::filesystem::path& folder, bool is_unified) {
    double quota = 0, period = 0;
    if (is_unified) {
        std::ifstream file(folder / "cpu.max");  // "150000 100000" or "max 100000"
        if (!(file >> quota >> period)) return std::nullopt;
    } else {
        std::ifstream quota_file(folder / "cpu.cfs_quota_us"), period_file(folder / "cpu.cfs_period_us");  // -1: none
        if (!(quota_file >> quota) || !(period_file >> period)) return std::nullopt;
    }
    if (quota <= 0 || period <= 0) return std::nullopt;
    return uint32_t(std::clamp(std::ceil(quota / period), 1.0, double(kMaxCpus)));
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

std::optional<uint32_t> cpu_quota(const std::filesystem::path& root) {
    std::optional<uint32_t> least;
    for (const ControlGroup& group : control_groups("cpu", root))
        if (const auto quota = quota_of(group.folder, group.is_unified))
            least = std::min(*quota, least.value_or(*quota));
    return least;
}

// The devices that count events of each kind of core (Intel's hybrid processors; perf's sysfs ABI) list its CPUs.
std::optional<std::string> performance_cpus(const std::filesystem::path& root) {
    const auto cpus_of = [&](const char* kind) {
        std::ifstream file(root / "sys/devices" / kind / "cpus");
        std::string list;
        file >> list;
        return list;
    };
    std::string performance = cpus_of("cpu_core");
    if (performance.empty() || cpus_of("cpu_atom").empty()) return std::nullopt;
    return performance;
}

void keep_to_performance_cores() {
    const auto performance = performance_cpus();
    if (!performance) return;
    cpu_set_t allowed, wanted;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
    struct BitmapDeleter {
        void operator()(hwloc_bitmap_s* bitmap) const { hwloc_bitmap_free(bitmap); }
    };
    const std::unique_ptr<hwloc_bitmap_s, BitmapDeleter> set(hwloc_bitmap_alloc());
    if (!set || hwloc_bitmap_list_sscanf(set.get(), performance->c_str()) != 0) return;
    CPU_ZERO(&wanted);
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu)
        if (CPU_ISSET(cpu, &allowed) && hwloc_bitmap_isset(set.get(), cpu)) CPU_SET(cpu, &wanted);
    if (CPU_COUNT(&wanted) != 0) sched_setaffinity(0, sizeof wanted, &wanted);
}

uint32_t default_threads() {
    const uint32_t cores = physical_cores();
    return std::min(cores, cpu_quota().value_or(cores));
}

}  // namespace riftjit
