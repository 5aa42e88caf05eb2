#include "jit/rdna/emulator/machine/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <thread>

#include "jit/rdna/emulator/machine/group_ledger.h"
#include "jit/rdna/emulator/machine/scheduler.h"
#include "jit/rdna/emulator/machine/wave_setup.h"
#include "jit/rdna/object/occupancy.h"

namespace riftjit::rdna::emulator {
namespace {

constexpr uint64_t kCodeBase = uint64_t{0x7F00} << 32;  // objects are loaded from here on, 16 MiB apart at least
constexpr uint64_t kCodeSpacing = uint64_t{1} << 24;
constexpr uint64_t kQueueBytes = 256;
constexpr uint64_t kAskEveryGroups = 64;       // workgroups of a thread
constexpr uint32_t kDynamicStackBytes = 1024;  // per lane, that the runtime adds where recursion hides the need

struct ScheduleName {
    std::string_view name;
    Schedule schedule;
};
constexpr ScheduleName kSchedules[] = {{"lock-step", Schedule::lock_step},
                                       {"long-quanta", Schedule::long_quanta},
                                       {"random", Schedule::random},
                                       {"reversed", Schedule::reversed}};

uint32_t scratch_bytes(const KernelDescriptor& descriptor) {
    return descriptor.scratch_bytes + (descriptor.uses_dynamic_stack ? kDynamicStackBytes : 0);
}

// Of the waves that are there at once, each of which gets all of its own.
Result<void> check_scratch(const LaunchContext& launch, uint64_t resident) {
    constexpr uint64_t kMostBytes = uint64_t{1} << 30;
    const KernelDescriptor& descriptor = launch.kernel->descriptor;
    const uint64_t waves = std::min(resident, launch.grid.count()) * launch.waves_per_group();
    const uint64_t each = uint64_t{scratch_bytes(descriptor)} * lanes(descriptor.wave_size);
    if (each == 0 || waves <= kMostBytes / each) return {};
    return fail(ErrorKind::Unsupported, "kernel {}: {} waves with {} bytes of scratch each, {} are possible together",
                launch.kernel->name, waves, each, kMostBytes);
}

// An object in memory, decoded when a kernel of a wave size is first launched.
struct LoadedProgram {
    LoadedObject object;
    std::map<WaveSize, std::unique_ptr<Program>> programs;

    const Program& program(WaveSize wave_size) {
        std::unique_ptr<Program>& program = programs[wave_size];
        if (!program) program = std::make_unique<Program>(object, wave_size);
        return *program;
    }
};

}  // namespace

std::optional<Schedule> schedule_from_name(std::string_view name) {
    for (const ScheduleName& entry : kSchedules)
        if (entry.name == name) return entry.schedule;
    return std::nullopt;
}

std::string_view name(Schedule schedule) {
    for (const ScheduleName& entry : kSchedules)
        if (entry.schedule == schedule) return entry.name;
    return "";
}

struct Machine::Impl {
    Impl(Target target, const MachineOptions& options)
        : target(target),
          options(options),
          memory({.target = target,
                  .wave_size = WaveSize::wave32,
                  .checks = options.checks,
                  .seed = options.seed,
                  .host_threads = options.checks.any() ? 1 : options.host_threads},
                 findings) {
        queue = memory.allocate("queue", kQueueBytes, MemoryAccess::read_only, InitialBytes::given);
    }

    struct Found {
        LoadedProgram* loaded;
        const LoadedKernel* kernel;
    };
    Found find(std::string_view kernel) const {
        for (const std::unique_ptr<LoadedProgram>& loaded : objects)
            if (const LoadedKernel* found = loaded->object.find(kernel)) return {loaded.get(), found};
        return {};
    }

    Result<void> map_segments(const LoadedObject& object);
    Result<void> validate_axes(const LoadedKernel& kernel, Dimensions grid, Dimensions group) const;
    Result<void> validate(const LoadedKernel& kernel, Dimensions grid, Dimensions group, uint64_t lds_bytes) const;
    Result<uint64_t> resident_groups(const LaunchContext& launch, const LaunchOptions& launch_options) const;
    Outcome run(const LaunchContext& launch, const LaunchOptions& launch_options, uint64_t resident, RunReport& report);
    Outcome run_apart(const LaunchContext& launch, const LaunchOptions& launch_options, RunReport& report);
    void check_initial_sgprs(const LoadedKernel& kernel);
    uint64_t place(std::string name, std::span<const std::byte> bytes);

    Target target;
    MachineOptions options;
    Findings findings;
    MemorySystem memory;
    SlotPool slots;
    std::vector<std::unique_ptr<LoadedProgram>> objects;
    uint64_t next_code_base = kCodeBase;
    uint64_t queue = 0;
};

Machine::Machine(Target target, const MachineOptions& options) : impl_(std::make_unique<Impl>(target, options)) {}
Machine::~Machine() = default;
Machine::Machine(Machine&&) noexcept = default;
Machine& Machine::operator=(Machine&&) noexcept = default;

Result<void> Machine::load(std::span<const std::byte> code_object) {
    RIFTJIT_TRY(object, load_code_object(code_object, impl_->target));
    if (object.target != impl_->target)
        return fail(ErrorKind::Usage, "the code object is for {}, the machine is a {}", name(object.target),
                    name(impl_->target));
    for (const LoadedKernel& kernel : object.kernels)
        if (find(kernel.name)) return fail(ErrorKind::Usage, "kernel {} is loaded already", kernel.name);
    move_object(object, impl_->next_code_base);
    RIFTJIT_TRY_VOID(impl_->map_segments(object));
    auto loaded = std::make_unique<LoadedProgram>();
    loaded->object = std::move(object);
    impl_->objects.push_back(std::move(loaded));
    return {};
}

Result<void> Machine::Impl::map_segments(const LoadedObject& object) {
    uint64_t end = next_code_base;
    for (const Segment& segment : object.segments) {
        if (segment.bytes.empty()) continue;
        const MemoryAccess access =
            segment.access == SegmentAccess::read_write ? MemoryAccess::read_write : MemoryAccess::read_only;
        RIFTJIT_TRY_VOID(memory.allocate_at(segment.address, fmt::format("segment at {:#x}", segment.address),
                                            segment.bytes.size(), access));
        RIFTJIT_TRY_VOID(memory.write(segment.address, segment.bytes));
        end = std::max(end, segment.address + segment.bytes.size());
    }
    next_code_base = (end / kCodeSpacing + 1) * kCodeSpacing;
    return {};
}

const LoadedKernel* Machine::find(std::string_view kernel) const { return impl_->find(kernel).kernel; }

uint64_t Machine::Impl::place(std::string name, std::span<const std::byte> bytes) {
    const uint64_t address =
        memory.allocate(std::move(name), bytes.size(), MemoryAccess::read_write, InitialBytes::given);
    check(memory.write(address, bytes).has_value(), "an allocation refuses its own bytes");
    return address;
}

uint64_t Machine::allocate(std::string name, std::span<const std::byte> bytes) {
    return impl_->place(std::move(name), bytes);
}
uint64_t Machine::allocate(std::string name, uint64_t size) {
    return impl_->memory.allocate(std::move(name), size, MemoryAccess::read_write, InitialBytes::undefined);
}
uint64_t Machine::allocate_zeros(std::string name, uint64_t size) {
    return impl_->memory.allocate(std::move(name), size, MemoryAccess::read_write, InitialBytes::zeros);
}
Result<void> Machine::write(uint64_t address, std::span<const std::byte> bytes) {
    return impl_->memory.write(address, bytes);
}
Result<std::vector<std::byte>> Machine::read(uint64_t address, uint64_t size) const {
    return impl_->memory.read(address, size);
}
void Machine::release(uint64_t address) { impl_->memory.release(address); }

// A dispatch packet counts work-items along an axis in 32 bits; gfx12 numbers workgroups along y and z in 16 of TTMP7.
Result<void> Machine::Impl::validate_axes(const LoadedKernel& kernel, Dimensions grid, Dimensions group) const {
    constexpr uint32_t kMostInTtmp7 = 1 << 16;
    const struct {
        char name;
        uint32_t groups, items;
    } axes[] = {{'x', grid.x, group.x}, {'y', grid.y, group.y}, {'z', grid.z, group.z}};
    for (const auto& axis : axes) {
        if (uint64_t{axis.groups} * axis.items > UINT32_MAX)
            return fail(ErrorKind::Usage,
                        "kernel {}: {} workgroups of {} work-items along {}, {} work-items are possible", kernel.name,
                        axis.groups, axis.items, axis.name, UINT32_MAX);
        if (generation(target) == Generation::gfx12 && axis.name != 'x' && axis.groups > kMostInTtmp7)
            return fail(ErrorKind::Usage, "kernel {}: {} workgroups along {}, {} are possible on {}", kernel.name,
                        axis.groups, axis.name, kMostInTtmp7, rdna::name(target));
    }
    return {};
}

Result<void> Machine::Impl::validate(const LoadedKernel& kernel, Dimensions grid, Dimensions group,
                                     uint64_t lds_bytes) const {
    const uint64_t items = group.count();
    if (grid.count() == 0 || items == 0)
        return fail(ErrorKind::Usage, "kernel {}: grid and group must not be empty", kernel.name);
    if (grid.count() > UINT32_MAX) return fail(ErrorKind::Usage, "kernel {}: {} workgroups", kernel.name, grid.count());
    if (items > kMaxThreadsPerGroup)
        return fail(ErrorKind::Usage, "kernel {}: a workgroup of {} work-items, {} are possible", kernel.name, items,
                    kMaxThreadsPerGroup);
    RIFTJIT_TRY_VOID(validate_axes(kernel, grid, group));
    if (const auto& required = kernel.metadata.required_workgroup_size;
        required && *required != std::array{group.x, group.y, group.z})
        return fail(ErrorKind::Usage, "kernel {}: a workgroup of {},{},{} work-items, the kernel requires {}",
                    kernel.name, group.x, group.y, group.z, fmt::join(*required, ","));
    const uint32_t most = kernel.metadata.max_flat_workgroup_size;
    if (most > 0 && items > most)
        return fail(ErrorKind::Usage, "kernel {}: a workgroup of {} work-items, the kernel allows {}", kernel.name,
                    items, most);
    if (lds_bytes > kMaxLdsBytes)
        return fail(ErrorKind::Usage, "kernel {}: {} bytes of LDS, {} are possible", kernel.name, lds_bytes,
                    kMaxLdsBytes);
    return {};
}

Result<uint64_t> Machine::Impl::resident_groups(const LaunchContext& launch,
                                                const LaunchOptions& launch_options) const {
    if (launch_options.residency == Residency::all) return launch.grid.count();
    if (launch_options.residency == Residency::one) return 1;
    const KernelDescriptor& descriptor = launch.kernel->descriptor;
    RIFTJIT_TRY(fit, occupancy(target, descriptor.wave_size, descriptor.vgprs(), launch.lds_bytes,
                               static_cast<uint32_t>(launch.group.count())));
    const uint64_t groups = uint64_t{fit.groups_per_wgp} * launch_options.work_group_processors;
    if (groups == 0)
        return fail(ErrorKind::Usage, "kernel {}: not one workgroup fits on the device", launch.kernel->name);
    return groups;
}

// gfx1100 and gfx1102 initialise the first SGPRs wrongly unless user and system SGPRs fill 16 of them in wave32.
void Machine::Impl::check_initial_sgprs(const LoadedKernel& kernel) {
    const KernelDescriptor& descriptor = kernel.descriptor;
    if (!options.checks.registers || !info(target).workgroup_id_in_s15 || descriptor.wave_size != WaveSize::wave32)
        return;
    const WorkgroupIds& ids = descriptor.workgroup_ids;
    const unsigned filled = descriptor.user_sgpr_count + ids.x + ids.y + ids.z + descriptor.workgroup_info;
    if (filled >= kMaxUserSgprs) return;
    findings.report(Finding{
        .kind = FindingKind::initial_sgprs,
        .kernel = kernel.name,
        .detail = fmt::format("{} SGPRs are initialised, {} needs {}", filled, rdna::name(target), kMaxUserSgprs)});
}

// On several threads if checks and trace allow: each takes the next workgroup, and the ledger stops the launch where
// one thread would.
Outcome Machine::Impl::run_apart(const LaunchContext& launch, const LaunchOptions& launch_options, RunReport& report) {
    const bool parallel = !options.checks.any() && !launch_options.trace;
    const auto threads = static_cast<uint32_t>(
        std::min<uint64_t>(parallel ? std::max(options.host_threads, 1u) : 1, launch.grid.count()));
    GroupLedger ledger(launch, launch_options);
    std::mutex report_mutex;
    const auto work = [&] {
        Scheduler scheduler(launch, launch_options, memory, slots);
        for (uint64_t taken = 1; const std::optional<uint64_t> turn = ledger.take(); ++taken) {
            const std::function<bool()> is_interrupted = [&] {
                return !ledger.is_wanted(*turn) || (launch_options.is_interrupted && launch_options.is_interrupted());
            };
            if (taken % kAskEveryGroups == 0 && is_interrupted()) {  // short workgroups do not ask
                ledger.finish(*turn, Outcome::interrupted, 0);
                continue;
            }
            const Outcome outcome = scheduler.run(ledger.group(*turn), 1, 1, is_interrupted);
            ledger.finish(*turn, outcome, scheduler.executed());
        }
        const std::lock_guard lock(report_mutex);
        report.counts += scheduler.counts();
        if (!scheduler.interrupted_at().empty()) report.interrupted_at = scheduler.interrupted_at();
    };
    if (threads > 1) findings.keep(Findings::Order::by_committed_group);
    std::vector<std::thread> workers;
    for (uint32_t i = 1; i < threads; ++i) workers.emplace_back(work);
    work();
    for (std::thread& worker : workers) worker.join();
    const Outcome outcome = ledger.close();
    findings.keep(Findings::Order::as_reported);
    return outcome;
}

Outcome Machine::Impl::run(const LaunchContext& launch, const LaunchOptions& launch_options, uint64_t resident,
                           RunReport& report) {
    if (launch_options.residency == Residency::one) return run_apart(launch, launch_options, report);
    Scheduler scheduler(launch, launch_options, memory, slots);
    const Outcome outcome = scheduler.run(0, launch.grid.count(), resident, launch_options.is_interrupted);
    report.counts += scheduler.counts();
    report.interrupted_at = scheduler.interrupted_at();
    return outcome;
}

Result<RunReport> Machine::launch(std::string_view kernel, Dimensions grid, Dimensions group,
                                  std::span<const std::byte> args, const LaunchOptions& options) {
    const Impl::Found found = impl_->find(kernel);
    if (!found.kernel) return fail(ErrorKind::Usage, "there is no kernel {}", kernel);
    const KernelDescriptor& descriptor = found.kernel->descriptor;
    const uint64_t lds_bytes = uint64_t{descriptor.lds_bytes} + options.dynamic_lds_bytes;
    RIFTJIT_TRY_VOID(impl_->validate(*found.kernel, grid, group, lds_bytes));
    RIFTJIT_TRY(arguments, build_arguments(*found.kernel, grid, group, args, options.dynamic_lds_bytes, impl_->queue));
    const Program& program = found.loaded->program(descriptor.wave_size);
    LaunchContext launch{.kernel = found.kernel,
                         .target = impl_->target,
                         .entry = program.at(found.kernel->code.address),
                         .queue_address = impl_->queue,
                         .vgpr_end = program.vgpr_end(),
                         .grid = grid,
                         .group = group,
                         .lds_bytes = static_cast<uint32_t>(lds_bytes),
                         .seed = impl_->options.seed,
                         .checks = impl_->options.checks,
                         .findings = &impl_->findings};
    if (!launch.entry) return fail(ErrorKind::Format, "kernel {}: its first instruction lies outside the code", kernel);
    RIFTJIT_TRY(resident, impl_->resident_groups(launch, options));
    RIFTJIT_TRY_VOID(check_scratch(launch, resident));
    launch.kernarg_address = impl_->place("kernel arguments", arguments);
    launch.dispatch_packet_address = impl_->place(
        "dispatch packet", dispatch_packet(*found.kernel, grid, group, launch.kernarg_address, launch.lds_bytes));
    impl_->check_initial_sgprs(*found.kernel);

    RunReport report{.seed = impl_->options.seed};
    impl_->memory.begin_launch({.lds_bytes = launch.lds_bytes,
                                .scratch_bytes = scratch_bytes(descriptor),
                                .waves_per_group = launch.waves_per_group(),
                                .groups = static_cast<uint32_t>(grid.count()),
                                .workgroup_mode = descriptor.workgroup_mode,
                                .counts_lines = options.counts_lines});
    const Outcome outcome = impl_->run(launch, options, resident, report);
    report.completed = outcome == Outcome::completed;
    if (outcome != Outcome::interrupted)
        report.interrupted_at.clear();
    else if (report.interrupted_at.empty())
        report.interrupted_at = "between workgroups";
    report.counts += impl_->memory.end_launch();
    impl_->memory.release(launch.kernarg_address);
    impl_->memory.release(launch.dispatch_packet_address);
    report.findings = impl_->findings.take();
    return report;
}

}  // namespace riftjit::rdna::emulator
