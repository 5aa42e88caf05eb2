#include "runtime/rdna/rdna_backend.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "jit/rdna/kernels/kernels.h"
#include "jit/rdna/object/code_object.h"

namespace riftjit::runtime {
namespace {

constexpr uint32_t kWaveLanes = 32, kMaxGroupLanes = 128;

// The kernels there are, by spec: lanes of a workgroup and how the program is assembled; nullopt: none.
struct Choice {
    RdnaGroups groups;
    Result<rdna::KernelProgram> (*assemble)(rdna::KernelTarget, const KernelSpec&, const RdnaGroups&);
};

// Whole waves that fill the row without a rest.
std::optional<uint32_t> lanes_for(uint32_t width) {
    if (width == 0 || width % kWaveLanes != 0) return std::nullopt;
    return std::min(kMaxGroupLanes, width & ~(width - 1));
}

std::optional<Choice> choose(const RmsNormSpec& spec) {
    const auto lanes = lanes_for(spec.width);
    const bool is_plain =
        spec.gain == Presence::present && spec.addend == Addend::none && spec.output == RowFormat::f32;
    if (!lanes || !is_plain) return std::nullopt;
    return Choice{{*lanes}, [](rdna::KernelTarget target, const KernelSpec& kernel, const RdnaGroups& groups) {
                      const auto& norm = std::get<RmsNormSpec>(kernel);
                      return rdna::kernels::rms_norm(target, {norm.width, norm.epsilon, groups.lanes});
                  }};
}

std::optional<Choice> choose(const SwigluSpec& spec) {
    const auto lanes = lanes_for(spec.width);
    if (!lanes || spec.in_stride != spec.width || spec.output != RowFormat::f32) return std::nullopt;
    return Choice{{*lanes, spec.width / *lanes},
                  [](rdna::KernelTarget target, const KernelSpec&, const RdnaGroups& groups) {
                      return rdna::kernels::swiglu(target, {groups.lanes});
                  }};
}

std::optional<Choice> choose(const auto&) { return std::nullopt; }

Result<Choice> choose_for(const Target& target, const KernelSpec& spec) {
    const auto choice = std::visit([](const auto& op) { return choose(op); }, spec);
    if (!choice) return fail(ErrorKind::Unsupported, "{}: no kernel for {}", name(target), describe(spec));
    return *choice;
}

}  // namespace

Target RdnaBackend::target() const {
    const std::string_view digits = rdna::name(chip_).substr(3);  // "gfx1100"
    uint16_t level = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), level, 16);
    return {Architecture::rdna, level};
}

uint32_t RdnaBackend::row_bytes(RowFormat format, uint32_t width) const {
    check(format == RowFormat::f32, "rows are f32 on this back end");
    return f32_row_bytes(width);
}

uint64_t RdnaBackend::packed_bytes(DType type, uint32_t rows, uint32_t width) const {
    return rows * riftjit::row_bytes(type, width);
}

Result<RdnaGroups> RdnaBackend::groups(const KernelSpec& spec) const {
    RIFTJIT_TRY(choice, choose_for(target(), spec));
    return choice.groups;
}

Result<void> RdnaBackend::supports(const KernelSpec& spec) const {
    RIFTJIT_TRY_VOID(choose_for(target(), spec));
    return {};
}

Result<CodeObject> RdnaBackend::compile(const KernelSpec& spec) const {
    RIFTJIT_TRY_VOID(validate(spec));
    RIFTJIT_TRY(choice, choose_for(target(), spec));
    RIFTJIT_TRY(program, choice.assemble({chip_}, spec, choice.groups));
    RIFTJIT_TRY(code, rdna::link(program));
    code.name = kernel_name(spec);
    RIFTJIT_TRY(elf, rdna::write_code_object(chip_, rdna::CodeObjectVersion::v5, {&code, 1}));
    return CodeObject{kernel_name(spec), target(), std::move(elf)};
}

}  // namespace riftjit::runtime
