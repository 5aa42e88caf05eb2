// How reports name addresses and earlier instructions.
#include <fmt/format.h>

#include "jit/rdna/emulator/machine/program.h"
#include "jit/rdna/emulator/memory/memory_model.h"

namespace riftjit::rdna::emulator::memory {

std::string describe(const MemoryModel& model, const AccessRecord& access) {
    const uint32_t waves = model.shape.waves_per_group;
    const std::string who = fmt::format("group {}, wave {}", (access.wave - 1) / waves, (access.wave - 1) % waves);
    const Op* op = access.site() < model.sites.size() ? model.sites[access.site()] : nullptr;
    if (op == nullptr || op->program == nullptr) return who;
    const CodeLocation location = op->program->locate(op->address);
    return fmt::format("{} ({}+{:#x}: {})", who, location.function, location.offset, op->text());
}

std::string describe_address(const MemoryModel& model, uint64_t address) {
    if (const bool shared = address >> 32 == kSharedBase >> 32; shared || address >> 32 == kPrivateBase >> 32)
        return fmt::format(
            "{:#x}, in the aperture of {}, into which the address register of a FLAT instruction leads, not its offset",
            address, shared ? "LDS" : "scratch");
    const Allocation* near = model.map.nearest(address);
    if (near == nullptr) return fmt::format("{:#x}, near no allocation", address);
    const int64_t offset = static_cast<int64_t>(address - near->base);
    return fmt::format("{:#x} ({} {} {:#x}, {} bytes long)", address, near->name, offset < 0 ? "-" : "+",
                       offset < 0 ? static_cast<uint64_t>(-offset) : static_cast<uint64_t>(offset), near->size);
}

}  // namespace riftjit::rdna::emulator::memory
