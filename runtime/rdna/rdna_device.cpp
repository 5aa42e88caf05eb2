#include "runtime/rdna/rdna_device.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "jit/rdna/emulator/machine/machine.h"

namespace riftjit::runtime {
namespace {

using rdna::emulator::Machine;

uint64_t number_of(Address address) { return reinterpret_cast<uintptr_t>(address); }

// One workgroup after the other for each launch, in the order of the plan: every launch ends before the next begins.
class RdnaPlan final : public BoundPlan {
public:
    RdnaPlan(const graph::Plan& plan, Machine& machine) : plan_(plan), machine_(machine) {}

    Result<void> bind(const RdnaBackend& backend, KernelCache& kernels, const Addresses& addresses);
    void run(const BatchState& batch) override;
    const graph::Step* first_not_finite() override;

private:
    struct Launch {
        std::string kernel;
        rdna::kernels::LaunchShape shape;
        std::vector<std::byte> args;  // the op's Args struct, without a batch: the grid says a workgroup's row
    };

    void launch(const Launch& launch);
    bool is_finite(const Argument& rows, uint64_t address) const;

    const graph::Plan& plan_;
    Machine& machine_;
    std::vector<Launch> launches_;
    uint32_t tokens_ = 0;
};

Result<void> RdnaPlan::bind(const RdnaBackend& backend, KernelCache& kernels, const Addresses& addresses) {
    for (const graph::Step& step : plan_.steps) {
        RIFTJIT_TRY(shape, backend.launch_shape(step.spec));
        RIFTJIT_TRY(kernel, kernels.get(step.spec, backend.target()));
        if (machine_.find(kernel->object.name) == nullptr) RIFTJIT_TRY_VOID(machine_.load(kernel->object.elf));
        const Signature arguments = signature(step.spec);
        Launch launch{kernel->object.name, shape, std::vector<std::byte>(arguments.args_bytes)};
        for (size_t place = 0; const Argument& argument : arguments.arguments) {
            if (argument.role == Role::batch) continue;
            const Address address = resolve(step.places.at(place++), addresses);
            std::memcpy(launch.args.data() + argument.offset_bytes, &address, sizeof address);
        }
        launches_.push_back(std::move(launch));
    }
    return {};
}

void RdnaPlan::launch(const Launch& launch) {
    const auto report =
        machine_.launch(launch.kernel, {tokens_ * launch.shape.groups_per_row}, {launch.shape.lanes}, launch.args);
    check(report.has_value(), report ? "" : report.error().message);
    check(report->findings.empty(), report->findings.empty() ? "" : report->findings.front().text());
    check(report->completed, "every wave of a kernel ends");
}

void RdnaPlan::run(const BatchState& batch) {
    check(batch.rows >= 1 && batch.rows <= plan_.max_tokens, "a batch fits its plan");
    tokens_ = batch.rows;
    for (const Launch& step : launches_) launch(step);
}

bool RdnaPlan::is_finite(const Argument& rows, uint64_t address) const {
    const auto bytes = machine_.read(address, uint64_t(tokens_) * rows.stride_bytes);
    check(bytes.has_value(), "what a plan writes can be read");
    for (uint32_t row = 0; row < tokens_; ++row) {
        std::vector<float> values(rows.width);
        std::memcpy(values.data(), bytes->data() + uint64_t(row) * rows.stride_bytes, values.size() * sizeof(float));
        if (!std::ranges::all_of(values, [](float value) { return std::isfinite(value); })) return false;
    }
    return true;
}

const graph::Step* RdnaPlan::first_not_finite() {
    for (size_t i = 0; i < launches_.size(); ++i) {
        launch(launches_[i]);
        for (const Argument& argument : signature(plan_.steps[i].spec).arguments) {
            if (argument.role != Role::rows || !writes(argument.access)) continue;
            Address rows;
            std::memcpy(&rows, launches_[i].args.data() + argument.offset_bytes, sizeof rows);
            if (!is_finite(argument, number_of(rows))) return &plan_.steps[i];
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
    const std::span file(tensor.data, backend_.packed_bytes(tensor.type, tensor.rows, tensor.width));
    write(to, file);
    if (release) release(file);
}

Result<std::unique_ptr<BoundPlan>> RdnaDevice::bind(const graph::Plan& plan, const Addresses& addresses) {
    auto bound = std::make_unique<RdnaPlan>(plan, *machine_);
    RIFTJIT_TRY_VOID(bound->bind(backend_, kernels_, addresses));
    return std::unique_ptr<BoundPlan>(std::move(bound));
}

Result<double> RdnaDevice::read_rate(Address, uint64_t) const {
    return fail(ErrorKind::Unsupported, "{}: the software machine says nothing of speed", name(backend_.target()));
}

}  // namespace riftjit::runtime
