// Code objects for GPUs: as `disasm` and `emulate` read them.
#include "engine/machine.h"
#include "jit/kernel_spec.h"
#include "jit/rdna/assembly/object_listing.h"
#include "jit/rdna/emulator/machine/machine.h"
#include "jit/rdna/object/loader.h"
#include "tests/mutants/campaign.h"

namespace riftjit::mutants {
namespace code_object_mutants_test {

using namespace rdna;

// On zeros: what a kernel makes of its arguments is not asked for.
void launch(const LoadedObject& object, std::span<const std::byte> bytes) {
    emulator::Machine machine(object.target, {});
    if (!machine.load(bytes)) return;
    for (const LoadedKernel& kernel : object.kernels) {
        const auto& required = kernel.metadata.required_workgroup_size;
        const emulator::Dimensions group =
            required ? emulator::Dimensions{(*required)[0], (*required)[1], (*required)[2]} : emulator::Dimensions{32};
        const std::vector<std::byte> arguments(std::min<size_t>(kernel.metadata.kernarg_bytes, 64));
        const auto report = machine.launch(kernel.name, {.x = 2}, group, arguments, {.instruction_limit = 20'000});
        if (!report) check(!report.error().message.empty(), "a refusal says why");
    }
}

Outcome read(const std::string& file) {
    const auto bytes = std::as_bytes(std::span(file));
    const auto object = load_code_object(bytes);
    if (!object) {
        check(!object.error().message.empty(), "a refusal says why");
        return {object.error().message};
    }
    format_object(*object, list_functions(*object));
    launch(*object, bytes);
    return {};
}

TEST(CodeObjectMutants, AreRefusedOrRun) {
    std::vector<std::string> seeds;
    for (const rdna::Target chip : {rdna::Target::gfx1030, rdna::Target::gfx1100, rdna::Target::gfx1201}) {
        const auto target = riftjit::target_from_name(rdna::name(chip));
        for (const KernelSpec& spec :
             {KernelSpec(SwigluSpec{256, 512, RowFormat::f32}),
              KernelSpec(RmsNormSpec{256, 1e-5F, Presence::present, Addend::residual, RowFormat::f32})}) {
            const auto object = engine::compile(spec, *target);
            ASSERT_TRUE(object) << object.error().message;
            seeds.emplace_back(reinterpret_cast<const char*>(object->elf.data()), object->elf.size());
        }
    }
    Campaign("code-object", std::move(seeds), read).run();
}

}  // namespace code_object_mutants_test
}  // namespace riftjit::mutants
