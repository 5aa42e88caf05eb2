// The life of memory: allocations, launches, groups, waves.
#include <algorithm>

#include "jit/rdna/emulator/memory/buffer_resource.h"
#include "jit/rdna/emulator/memory/memory_model.h"

namespace riftjit::rdna::emulator {
namespace {

// As AMD's kernel driver sets them up for user processes: beyond every 47-bit address.

constexpr size_t kMostSpareGroups = 64;  // of up to 0.4 MB each, and LDS

}  // namespace

using namespace memory;

struct MemorySystem::Impl {
    MemoryModel model;
};

MemoryModel& MemoryAccessor::model(MemorySystem& system) { return system.impl_->model; }

MemorySystem::MemorySystem(const MemoryConfiguration& configuration, Findings& findings)
    : impl_(new Impl{MemoryModel(configuration, findings)}) {}
MemorySystem::~MemorySystem() = default;

uint64_t MemorySystem::allocate(std::string name, uint64_t size, MemoryAccess access, InitialBytes initial) {
    MemoryModel& model = impl_->model;
    if (!model.configuration.checks.undefined && initial == InitialBytes::undefined) initial = InitialBytes::given;
    return model.map.allocate(std::move(name), size, access, initial, MemoryMap::Placement::across_slots).base;
}

Result<uint64_t> MemorySystem::allocate_at(uint64_t address, std::string name, uint64_t size, MemoryAccess access) {
    return impl_->model.map.allocate_at(address, std::move(name), size, access);
}

void MemorySystem::release(uint64_t address) { impl_->model.map.release(address); }

Result<void> MemorySystem::write(uint64_t address, std::span<const std::byte> bytes) {
    MemoryModel& model = impl_->model;
    Allocation* allocation = model.map.find(address, bytes.size());
    if (allocation == nullptr)
        return fail(ErrorKind::Usage, "{} bytes to be written at {} lie outside every allocation", bytes.size(),
                    describe_address(model, address));
    if (bytes.empty()) return {};
    const uint64_t offset = address - allocation->base;
    std::memcpy(allocation->bytes + offset, bytes.data(), bytes.size());
    if (allocation->undefined == nullptr) return {};
    for (uint64_t at = 0; at < bytes.size();) {
        const auto count = static_cast<unsigned>(std::min<uint64_t>(32, bytes.size() - at));
        allocation->set_undefined_bytes(offset + at, count, 0);
        at += count;
    }
    return {};
}

Result<std::vector<std::byte>> MemorySystem::read(uint64_t address, uint64_t size) const {
    const Allocation* allocation = impl_->model.map.find(address, size);
    if (allocation == nullptr)
        return fail(ErrorKind::Usage, "{} bytes to be read at {} lie outside every allocation", size,
                    describe_address(impl_->model, address));
    const std::byte* begin = allocation->bytes + (address - allocation->base);
    return std::vector<std::byte>(begin, begin + size);
}

void MemorySystem::begin_launch(const LaunchShape& shape) { impl_->model.begin_launch(shape); }

namespace {

std::unique_ptr<GroupMemory> spare_group(MemoryModel& model) {
    const std::lock_guard lock(model.mutex);
    if (model.spare_groups.empty()) return std::make_unique<GroupMemory>();
    std::unique_ptr<GroupMemory> group = std::move(model.spare_groups.back());
    model.spare_groups.pop_back();
    return group;
}

}  // namespace

void GroupMemory::renew(uint64_t lds_size) {
    if (lds_size > lds_capacity) {
        lds_bytes = std::make_unique_for_overwrite<std::byte[]>(lds_size);
        lds_capacity = lds_size;
        lds.undefined.reset();
    }
    lds.bytes = lds_bytes.get();
    lds.size = lds_size;
    lds.shadow.clear();
    for (LineCache* cache : {&l0[0], &l0[1], &l1, &scalar}) cache->invalidate();
    barriers = {};
}

void MemorySystem::begin_group(Group& group) {
    MemoryModel& model = impl_->model;
    std::unique_ptr<GroupMemory> memory = spare_group(model);
    const uint32_t size = model.shape.lds_bytes;
    memory->renew(size);
    fill_with_garbage({memory->lds.bytes, size}, model.configuration.seed + 0x4C4453 + group.number);
    if (model.configuration.checks.undefined) memory->lds.make_undefined();
    group.memory = memory.get();
    const std::lock_guard lock(model.mutex);
    model.groups[&group] = std::move(memory);
}

void MemorySystem::begin_wave(WaveState& wave) {
    MemoryModel& model = impl_->model;
    auto memory = std::make_unique<WaveMemory>();
    memory->id = wave.group_number * model.shape.waves_per_group + wave.index + 1;
    memory->group = wave.group->memory;
    memory->l0 = model.shape.workgroup_mode == WorkgroupMode::wgp ? wave.index % 2 : 0;
    if (model.shape.scratch_bytes != 0) {
        const uint64_t bytes = (uint64_t{model.shape.scratch_bytes} + 3) / 4 * 4 * wave.lanes;
        memory->scratch = &model.map.allocate("scratch", bytes, MemoryAccess::read_write, InitialBytes::given,
                                              MemoryMap::Placement::slot_start);
        if (model.configuration.checks.undefined) {
            memory->scratch_undefined = std::make_unique_for_overwrite<std::byte[]>(bytes);
            std::fill_n(memory->scratch_undefined.get(), bytes, std::byte{0xFF});
        }
    }
    wave.memory = memory.get();
    wave.shared_base = kSharedBase;
    wave.private_base = kPrivateBase;
    const std::lock_guard lock(model.mutex);
    model.waves[&wave] = std::move(memory);
}

std::array<uint32_t, 4> MemorySystem::scratch_resource(const WaveState& wave) const {
    return memory::scratch_resource(flat_scratch(wave), wave.lanes);
}

uint64_t MemorySystem::flat_scratch(const WaveState& wave) const {
    return wave.memory->scratch == nullptr ? 0 : wave.memory->scratch->base;
}

void MemorySystem::end_wave(WaveState& wave) {
    MemoryModel& model = impl_->model;
    WaveMemory& memory = *wave.memory;
    if (model.checked) model.deliver_all(memory);
    if (memory.scratch != nullptr) model.map.release(memory.scratch->base);
    wave.memory = nullptr;
    const std::lock_guard lock(model.mutex);
    model.counts += memory.counts;
    model.waves.erase(&wave);
}

void MemorySystem::end_group(Group& group) {
    MemoryModel& model = impl_->model;
    group.memory = nullptr;
    const std::lock_guard lock(model.mutex);
    const auto found = model.groups.find(&group);
    if (model.spare_groups.size() < kMostSpareGroups) model.spare_groups.push_back(std::move(found->second));
    model.groups.erase(found);
}

Counts MemorySystem::end_launch() {
    check(impl_->model.waves.empty(), "a launch ends while some of its waves run");
    return impl_->model.counts;
}

void MemorySystem::complete(WaveState& wave, uint32_t token) { impl_->model.complete(*wave.memory, token); }
void MemorySystem::barrier_signal(WaveState& wave, unsigned barrier) { impl_->model.barrier_signal(wave, barrier); }
void MemorySystem::barrier_wait_done(WaveState& wave, unsigned barrier) {
    impl_->model.barrier_wait_done(wave, barrier);
}

}  // namespace riftjit::rdna::emulator
