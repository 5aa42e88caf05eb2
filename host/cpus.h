// CPUs that this process may use: cpusets, containers and affinity masks are respected.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace riftjit {

uint32_t usable_cpus();     // hardware threads
uint32_t physical_cores();  // cores that have one of them

// How many CPUs' time the control groups of this process allow (quota / period, rounded up, 1 or more), of versions 1
// and 2 and of all groups above; nullopt: as much as there is. Limits: sched-bwc.rst, cgroup-v2.rst of the Linux
// kernel. /proc and /sys are looked for below `root`.
std::optional<uint32_t> cpu_quota(const std::filesystem::path& root = "/");

// The CPUs of the performance cores of a hybrid processor, as the kernel lists them ("0-15"); nullopt where all cores
// are alike. /sys is looked for below `root`.
std::optional<std::string> performance_cpus(const std::filesystem::path& root = "/");

// The calling thread, and those that it starts, run on performance cores from now on, where there are others beside:
// all meet at barriers, so that slower cores would be waited for. Only the CPUs of those are usable then.
void keep_to_performance_cores();
// What a program starts that was told no number, once it keeps to those: a thread a core, no more than the quota pays
// for.
uint32_t default_threads();

}  // namespace riftjit
