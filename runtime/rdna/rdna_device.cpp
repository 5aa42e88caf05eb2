#include "runtime/rdna/rdna_device.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "jit/cache/kernel_batch.h"
#include "jit/rdna/kernels/packed.h"
#include "runtime/rdna/batch_image.h"
#include "runtime/rdna/emulated_accelerator.h"

namespace riftjit::runtime {
namespace {

// Single rows that one launch of attention takes, if there is room for their parts.
constexpr uint32_t kMostRowsTogether = 16;
constexpr uint64_t kMostPartBytes = uint64_t{64} << 20;

// Of weights, so many bytes are packed before they are written: enough for a copy to take longer than its start.
constexpr uint64_t kPackedTogether = uint64_t{8} << 20;

uint64_t number_of(Address address) { return reinterpret_cast<uintptr_t>(address); }

// The launches of a plan in its order: every one ends before the next begins.
class RdnaPlan final : public BoundPlan {
public:
    RdnaPlan(const graph::Plan& plan, Accelerator& accelerator) : plan_(plan), accelerator_(accelerator) {}

    Result<void> bind(const RdnaBackend& backend, KernelCache& kernels, const Addresses& addresses);
    Result<void> run(const BatchState& batch) override;
    const graph::Step* first_not_finite() override;
    void set_timed(bool is_timed) override;
    std::vector<StepTimes> times() const override;

private:
    struct Launch {
        Accelerator::Kernel kernel = {};
        rdna::kernels::LaunchShape shape;
        std::vector<std::byte> args = {};  // the op's Args struct
        uint32_t rows = 0;                 // of the last run
    };

    Result<void> reserve_parts(uint32_t pages_per_sequence);
    Result<void> check_grids() const;
    Result<void> launch(Launch& launch);
    Result<void> note_times();
    Result<bool> is_finite(const Argument& argument, uint64_t address, uint32_t rows) const;

    const graph::Plan& plan_;
    Accelerator& accelerator_;
    std::vector<Launch> launches_;
    std::optional<BatchImage> batch_;  // once it is bound
    // Attention to single rows by segments (BatchState::parts), of so many rows in a launch and so many segments each.
    uint64_t parts_ = 0, finished_ = 0;
    uint32_t rows_together_ = 1, segments_ = 0;
    bool is_timed_ = false;
    std::vector<double> seconds_;  // by step; empty until a timed run
};

Result<void> RdnaPlan::bind(const RdnaBackend& backend, KernelCache& kernels, const Addresses& addresses) {
    std::vector<KernelRequest> requests;  // each once
    for (const graph::Step& step : plan_.steps) {
        RIFTJIT_TRY(shape, backend.launch_shape(step.spec));
        launches_.push_back({.shape = shape});
        if (std::ranges::find(requests, step.spec, &KernelRequest::spec) == requests.end())
            requests.push_back({step.spec, backend.target()});
    }
    RIFTJIT_TRY_VOID(make_kernels(kernels, requests));
    RIFTJIT_TRY_VOID(reserve_parts(addresses.pages_per_sequence));
    RIFTJIT_TRY_VOID(check_grids());
    batch_.emplace(plan_.max_tokens, addresses.pages_per_sequence, 0, rows_together_);
    RIFTJIT_TRY(batch, accelerator_.allocate(batch_->bytes(), "the batch"));
    batch_->move_to(batch);
    for (size_t i = 0; i < launches_.size(); ++i) {
        const graph::Step& step = plan_.steps[i];
        Launch& launch = launches_[i];
        RIFTJIT_TRY(found, kernels.get(step.spec, backend.target()));
        RIFTJIT_TRY(kernel, accelerator_.load(found->object));
        const Signature arguments = signature(step.spec);
        launch.kernel = kernel;
        launch.args.resize(arguments.args_bytes);
        for (size_t place = 0; const Argument& argument : arguments.arguments) {
            uint64_t address =
                step.rows == graph::StepRows::batch ? batch_->batch_address() : batch_->outputs_address();
            if (argument.role != Role::batch)
                address = place < step.places.size() ? number_of(resolve(step.places[place++], addresses)) : 0;
            std::memcpy(launch.args.data() + argument.offset_bytes, &address, sizeof address);
        }
    }
    return {};
}

// One launch after the other has the same room.
Result<void> RdnaPlan::reserve_parts(uint32_t pages_per_sequence) {
    uint64_t segment_bytes = 0;
    uint32_t groups = 0;
    for (const Launch& launch : launches_) {
        const rdna::kernels::LaunchShape& shape = launch.shape;
        if (shape.part_bytes == 0) continue;
        segment_bytes = std::max(segment_bytes, shape.part_bytes * shape.groups);
        groups = std::max(groups, shape.groups);
    }
    if (groups == 0) return {};
    segments_ = rdna::kernels::LaunchShape::segments_for(pages_per_sequence);
    const uint64_t row_bytes = segments_ * segment_bytes, rows = kMostPartBytes / row_bytes;
    rows_together_ = uint32_t(std::clamp<uint64_t>(rows, 1, std::min(plan_.max_tokens, kMostRowsTogether)));
    RIFTJIT_TRY(parts, accelerator_.allocate(rows_together_ * row_bytes, "the parts of attention"));
    RIFTJIT_TRY(finished,
                accelerator_.allocate(rows_together_ * groups * sizeof(uint32_t), "the counters of attention"));
    parts_ = parts;
    finished_ = finished;
    return {};
}

// Packets count the lanes of a grid in 32 bits, and kernels divide numbers of workgroups by counting on it.
Result<void> RdnaPlan::check_grids() const {
    for (size_t i = 0; i < launches_.size(); ++i) {
        const rdna::kernels::LaunchShape& shape = launches_[i].shape;
        const uint64_t rows = shape.part_bytes == 0 ? plan_.max_tokens : uint64_t(rows_together_) * segments_;
        const uint64_t lanes = (rows + shape.rows_per_group - 1) / shape.rows_per_group * shape.groups * shape.lanes;
        if (lanes >> 32 != 0)
            return fail(ErrorKind::Unsupported, "{}: {}: {} rows at once are a grid of {} lanes, not below 2^32",
                        accelerator_.name(), describe(plan_.steps[i].spec), rows, lanes);
    }
    return {};
}

Result<void> RdnaPlan::launch(Launch& launch) {
    if (launch.rows == 0) return {};
    if (launch.shape.part_bytes == 0)
        return accelerator_.launch(launch.kernel, launch.shape.grid(launch.rows), launch.shape.lanes, launch.args);
    for (uint32_t first = 0; first < launch.rows; first += rows_together_) {
        const uint64_t batch = batch_->singles_address(first);
        std::memcpy(launch.args.data() + offsetof(AttentionArgs, batch), &batch, sizeof batch);
        const uint32_t rows = std::min(rows_together_, launch.rows - first);
        RIFTJIT_TRY_VOID(
            accelerator_.launch(launch.kernel, launch.shape.grid(rows * segments_), launch.shape.lanes, launch.args));
    }
    return {};
}

Result<void> RdnaPlan::run(const BatchState& host) {
    check(host.rows >= 1 && host.rows <= plan_.max_tokens, "a batch fits its plan");
    BatchState batch = host;
    batch.parts = reinterpret_cast<std::byte*>(uintptr_t(parts_));
    batch.finished = reinterpret_cast<uint32_t*>(uintptr_t(finished_));
    RIFTJIT_TRY_VOID(accelerator_.write(batch_->batch_address(), batch_->make(batch)));
    for (size_t i = 0; i < launches_.size(); ++i) {
        launches_[i].rows = rows_of(plan_.steps[i], batch);
        if (is_timed_) RIFTJIT_TRY_VOID(accelerator_.mark());
        RIFTJIT_TRY_VOID(launch(launches_[i]));
    }
    if (is_timed_) RIFTJIT_TRY_VOID(accelerator_.mark());
    RIFTJIT_TRY_VOID(accelerator_.wait());
    return is_timed_ ? note_times() : Result<void>{};
}

Result<void> RdnaPlan::note_times() {
    RIFTJIT_TRY(seconds, accelerator_.seconds_between_marks());
    if (seconds.size() != launches_.size()) return {};  // no clock, or marks that a run which failed left
    seconds_.resize(launches_.size());
    std::ranges::transform(seconds, seconds_, seconds_.begin(), std::plus());
    return {};
}

void RdnaPlan::set_timed(bool is_timed) {
    is_timed_ = is_timed;
    seconds_.clear();
}

std::vector<StepTimes> RdnaPlan::times() const {
    if (seconds_.empty()) return {};
    return {{seconds_, std::vector<double>(seconds_.size())}};
}

Result<bool> RdnaPlan::is_finite(const Argument& argument, uint64_t address, uint32_t rows) const {
    std::vector<std::byte> bytes(uint64_t(rows) * argument.stride_bytes);
    RIFTJIT_TRY_VOID(accelerator_.read(bytes, address));
    std::vector<float> values(argument.width);
    for (uint32_t row = 0; row < rows; ++row) {
        std::memcpy(values.data(), bytes.data() + uint64_t(row) * argument.stride_bytes, values.size() * sizeof(float));
        if (!std::ranges::all_of(values, [](float value) { return std::isfinite(value); })) return false;
    }
    return true;
}

const graph::Step* RdnaPlan::first_not_finite() {
    for (size_t i = 0; i < launches_.size(); ++i) {
        if (!launch(launches_[i])) return nullptr;
        for (const Argument& argument : signature(plan_.steps[i].spec).arguments) {
            if (argument.role != Role::rows || !writes(argument.access) || argument.format != RowFormat::f32) continue;
            Address rows;
            std::memcpy(&rows, launches_[i].args.data() + argument.offset_bytes, sizeof rows);
            const auto finite = is_finite(argument, number_of(rows), launches_[i].rows);
            if (!finite) return nullptr;
            if (!*finite) return &plan_.steps[i];
        }
    }
    return nullptr;
}

}  // namespace

RdnaDevice::RdnaDevice(std::unique_ptr<Accelerator> accelerator, KernelCache& kernels)
    : backend_(accelerator->chip()), kernels_(kernels), accelerator_(std::move(accelerator)) {}

RdnaDevice::RdnaDevice(rdna::Target chip, KernelCache& kernels)
    : RdnaDevice(std::make_unique<EmulatedAccelerator>(chip, MachineChecks::all), kernels) {}

Result<Address> RdnaDevice::allocate(uint64_t bytes, MemoryUse, std::string_view what) {
    RIFTJIT_TRY(address, accelerator_->allocate(bytes, what));
    return reinterpret_cast<Address>(uintptr_t(address));
}

Result<void> RdnaDevice::write(Address to, std::span<const std::byte> bytes) {
    return accelerator_->write(number_of(to), bytes);
}

Result<void> RdnaDevice::read(std::span<std::byte> to, Address from) const {
    return accelerator_->read(to, number_of(from));
}

Result<void> RdnaDevice::copy(Address to, Address from, uint64_t bytes) {
    return accelerator_->copy(number_of(to), number_of(from), bytes);
}

// Some panels at a time: the tensor is in memory twice nowhere.
Result<void> RdnaDevice::pack(const FileTensor& tensor, Address to, const Release& release) {
    using rdna::kernels::kPanelRows;
    const auto [type, rows, width, data, is_temporary] = tensor;
    const uint64_t grid_bytes = rdna::kernels::panels_offset_bytes(type), file_row_bytes = row_bytes(type, width);
    const uint64_t panel_bytes = rdna::kernels::panel_bytes(type, width);
    const auto panels = uint32_t(round_up(rows, kPanelRows) / kPanelRows);
    const auto together = uint32_t(std::clamp<uint64_t>(kPackedTogether / panel_bytes, 1, panels));
    std::vector<std::byte> packed(grid_bytes + together * panel_bytes);
    rdna::kernels::pack_grid(type, packed.data());
    for (uint32_t panel = 0; panel < panels; panel += together) {
        const uint32_t first_row = panel * kPanelRows, count = std::min(together, panels - panel);
        const uint32_t packed_rows = std::min(rows - first_row, count * kPanelRows);
        const std::byte* file = data + first_row * file_row_bytes;
        const uint64_t begin = panel == 0 ? 0 : grid_bytes, end = grid_bytes + count * panel_bytes;
        if (packed_rows % kPanelRows != 0)  // what the last panel lacks is zeros
            std::fill_n(packed.begin() + ptrdiff_t(grid_bytes), count * panel_bytes, std::byte{});
        rdna::kernels::pack_panels(type, packed_rows, width, file, packed.data(), 0, count);
        RIFTJIT_TRY_VOID(write(to + begin + panel * panel_bytes, std::span(packed).subspan(begin, end - begin)));
        if (release) release({file, packed_rows * file_row_bytes});
    }
    // And once more all of it: a page that two pieces share is released with neither.
    if (release) release({data, rows * file_row_bytes});
    return {};
}

Result<std::unique_ptr<BoundPlan>> RdnaDevice::bind(const graph::Plan& plan, const Addresses& addresses) {
    auto bound = std::make_unique<RdnaPlan>(plan, *accelerator_);
    RIFTJIT_TRY_VOID(bound->bind(backend_, kernels_, addresses));
    return std::unique_ptr<BoundPlan>(std::move(bound));
}

// What was compiled is kept from now on, as the processor's device does when its code is ready.
Result<void> RdnaDevice::make_ready() {
    kernels_.publish();
    return {};
}

Result<double> RdnaDevice::read_rate(Address, uint64_t) const {
    return fail(ErrorKind::Unsupported, "{}: nothing measures how fast it reads", accelerator_->name());
}

}  // namespace riftjit::runtime
