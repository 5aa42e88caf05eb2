#include "runtime/rdna/rdna_device.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "jit/rdna/emulator/machine/machine.h"
#include "jit/rdna/kernels/packed.h"
#include "runtime/rdna/batch_image.h"

namespace riftjit::runtime {
namespace {

using rdna::emulator::Machine;

uint64_t number_of(Address address) { return reinterpret_cast<uintptr_t>(address); }

// One workgroup after the other for each launch, in the order of the plan: every launch ends before the next begins.
class RdnaPlan final : public BoundPlan {
public:
    RdnaPlan(const graph::Plan& plan, Machine& machine, uint32_t pages_per_sequence)
        : plan_(plan), machine_(machine), batch_(plan.max_tokens, pages_per_sequence) {
        batch_.move_to(machine.allocate("the batch", std::vector<std::byte>(batch_.bytes())));
    }

    Result<void> bind(const RdnaBackend& backend, KernelCache& kernels, const Addresses& addresses);
    void run(const BatchState& batch) override;
    const graph::Step* first_not_finite() override;

private:
    struct Launch {
        std::string kernel;
        rdna::kernels::LaunchShape shape;
        std::vector<std::byte> args;  // the op's Args struct
        uint32_t rows = 0;            // of the last run
    };

    uint32_t rows_of(const graph::Step& step, const BatchState& batch) const;
    void launch(const Launch& launch);
    bool is_finite(const Argument& argument, uint64_t address, uint32_t rows) const;

    const graph::Plan& plan_;
    Machine& machine_;
    std::vector<Launch> launches_;
    BatchImage batch_;
};

Result<void> RdnaPlan::bind(const RdnaBackend& backend, KernelCache& kernels, const Addresses& addresses) {
    for (const graph::Step& step : plan_.steps) {
        RIFTJIT_TRY(shape, backend.launch_shape(step.spec));
        RIFTJIT_TRY(kernel, kernels.get(step.spec, backend.target()));
        if (machine_.find(kernel->object.name) == nullptr) RIFTJIT_TRY_VOID(machine_.load(kernel->object.elf));
        const Signature arguments = signature(step.spec);
        Launch launch{kernel->object.name, shape, std::vector<std::byte>(arguments.args_bytes)};
        for (size_t place = 0; const Argument& argument : arguments.arguments) {
            uint64_t address = step.rows == graph::StepRows::batch ? batch_.batch_address() : batch_.outputs_address();
            if (argument.role != Role::batch) address = number_of(resolve(step.places.at(place++), addresses));
            std::memcpy(launch.args.data() + argument.offset_bytes, &address, sizeof address);
        }
        launches_.push_back(std::move(launch));
    }
    return {};
}

// Rows, tiles or single rows: what the grid has workgroups for.
uint32_t RdnaPlan::rows_of(const graph::Step& step, const BatchState& batch) const {
    switch (step.rows) {
        case graph::StepRows::batch:
            break;
        case graph::StepRows::outputs:
            return batch.outputs;
        case graph::StepRows::one_output:
            return batch.outputs == 1 ? 1 : 0;
        case graph::StepRows::many_outputs:
            return batch.outputs == 1 ? 0 : batch.outputs;
    }
    if (std::holds_alternative<GatherRowsSpec>(step.spec)) return batch.outputs;
    if (const auto* attention = std::get_if<AttentionSpec>(&step.spec))
        return attention->form == MatmulForm::tile ? batch.tiles : batch.singles;
    return batch.rows;
}

void RdnaPlan::launch(const Launch& launch) {
    if (launch.rows == 0) return;
    const auto report =
        machine_.launch(launch.kernel, {launch.shape.grid(launch.rows)}, {launch.shape.lanes}, launch.args);
    check(report.has_value(), report ? "" : report.error().message);
    check(report->findings.empty(), report->findings.empty() ? "" : report->findings.front().text());
    check(report->completed, "every wave of a kernel ends");
}

void RdnaPlan::run(const BatchState& batch) {
    check(batch.rows >= 1 && batch.rows <= plan_.max_tokens, "a batch fits its plan");
    check(machine_.write(batch_.batch_address(), batch_.make(batch)).has_value(), "the batch has its memory");
    for (size_t i = 0; i < launches_.size(); ++i) {
        launches_[i].rows = rows_of(plan_.steps[i], batch);
        launch(launches_[i]);
    }
}

bool RdnaPlan::is_finite(const Argument& argument, uint64_t address, uint32_t rows) const {
    const auto bytes = machine_.read(address, uint64_t(rows) * argument.stride_bytes);
    check(bytes.has_value(), "what a plan writes can be read");
    for (uint32_t row = 0; row < rows; ++row) {
        std::vector<float> values(argument.width);
        std::memcpy(values.data(), bytes->data() + uint64_t(row) * argument.stride_bytes,
                    values.size() * sizeof(float));
        if (!std::ranges::all_of(values, [](float value) { return std::isfinite(value); })) return false;
    }
    return true;
}

const graph::Step* RdnaPlan::first_not_finite() {
    for (size_t i = 0; i < launches_.size(); ++i) {
        launch(launches_[i]);
        for (const Argument& argument : signature(plan_.steps[i].spec).arguments) {
            if (argument.role != Role::rows || !writes(argument.access) || argument.format != RowFormat::f32) continue;
            Address rows;
            std::memcpy(&rows, launches_[i].args.data() + argument.offset_bytes, sizeof rows);
            if (!is_finite(argument, number_of(rows), launches_[i].rows)) return &plan_.steps[i];
        }
    }
    return nullptr;
}

}  // namespace

RdnaDevice::RdnaDevice(rdna::Target chip, KernelCache& kernels)
    : backend_(chip), kernels_(kernels), machine_(std::make_unique<Machine>(chip, rdna::emulator::MachineOptions{})) {}
RdnaDevice::~RdnaDevice() = default;

Result<Address> RdnaDevice::allocate(uint64_t bytes, MemoryUse, std::string_view what) {
    const uint64_t address = machine_->allocate(std::string(what), std::vector<std::byte>(bytes));
    return reinterpret_cast<Address>(uintptr_t(address));
}

void RdnaDevice::write(Address to, std::span<const std::byte> bytes) {
    check(machine_->write(number_of(to), bytes).has_value(), "writes stay within what was allocated");
}

void RdnaDevice::read(std::span<std::byte> to, Address from) const {
    const auto bytes = machine_->read(number_of(from), to.size());
    check(bytes.has_value(), "reads stay within what was allocated");
    std::ranges::copy(*bytes, to.begin());
}

void RdnaDevice::copy(Address to, Address from, uint64_t bytes) {
    std::vector<std::byte> between(bytes);
    read(between, from);
    write(to, between);
}

void RdnaDevice::pack(const FileTensor& tensor, Address to, const Release& release) {
    std::vector<std::byte> packed(backend_.packed_bytes(tensor.type, tensor.rows, tensor.width));
    const uint32_t panels = uint32_t(round_up(tensor.rows, rdna::kernels::kPanelRows) / rdna::kernels::kPanelRows);
    rdna::kernels::pack_panels(tensor.type, tensor.rows, tensor.width, tensor.data, packed.data(), 0, panels);
    write(to, packed);
    if (release) release({tensor.data, tensor.rows * row_bytes(tensor.type, tensor.width)});
}

Result<std::unique_ptr<BoundPlan>> RdnaDevice::bind(const graph::Plan& plan, const Addresses& addresses) {
    auto bound = std::make_unique<RdnaPlan>(plan, *machine_, addresses.pages_per_sequence);
    RIFTJIT_TRY_VOID(bound->bind(backend_, kernels_, addresses));
    return std::unique_ptr<BoundPlan>(std::move(bound));
}

Result<double> RdnaDevice::read_rate(Address, uint64_t) const {
    return fail(ErrorKind::Unsupported, "{}: the software machine says nothing of speed", name(backend_.target()));
}

}  // namespace riftjit::runtime
