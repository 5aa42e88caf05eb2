#include "runtime/cpu/level_trials.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <map>

#include "host/pages.h"
#include "jit/x86/backend.h"
#include "jit/x86/decoders/packed.h"

namespace riftjit::runtime {
namespace {

// Of a round of one step, by one thread: about a millisecond.
constexpr uint64_t kRoundFlops = 300'000'000;

// Bytes of this are harmless numbers in every type: 0.065 as f16, 2e-12 as f32. No kernel's speed depends on values.
constexpr int kFilling = 0x2c;

bool can_be_tried(const Signature& signature) {
    return !signature.arguments.empty() && std::ranges::all_of(signature.arguments, [](const Argument& argument) {
        return argument.role == Role::packed || argument.role == Role::vector || argument.role == Role::rows ||
               argument.role == Role::batch || argument.presence == Presence::absent;
    });
}

// One step at one level. What its arguments point to is the arena's beginning, which it shares with all others.
class Trial {
public:
    Trial(const graph::Step& step, const Backend& backend, uint32_t rows, uint32_t threads)
        : step_(step), backend_(backend), rows_(rows * step.rows_each), threads_(threads) {
        const uint32_t all = unit_count(step.spec, rows_), grain = unit_grain(step.spec);
        const uint64_t flops = std::max<uint64_t>(cost(step.spec).flops * rows_, 1);
        const uint64_t wanted = uint64_t(double(all) * double(kRoundFlops) * threads / double(flops));
        // Each thread has as many.
        const uint64_t team = uint64_t(grain) * threads;
        units_ = uint32_t(std::min<uint64_t>(std::max<uint64_t>(wanted / team * team, team), all));
        share_of_all_ = double(all) / units_;
    }

    uint64_t lay_out() {
        uint64_t offset = 0;
        const Signature signature = riftjit::signature(step_.spec);
        offsets_.clear();
        for (const Argument& argument : signature.arguments) {
            offsets_.push_back(
                {argument.offset_bytes, offset, argument.role == Role::batch, argument.presence == Presence::absent});
            offset += round_up(bytes_of(argument), 64) + kGap;
        }
        args_.assign(signature.args_bytes / sizeof(void*), nullptr);
        return offset;
    }
    Result<void> find(x86::HostKernels& kernels) {
        RIFTJIT_TRY(function, kernels.get(step_.spec, isa_of(backend_.target())));
        function_ = function;
        return {};
    }
    // Seconds of a launch.
    double run(std::byte* arena, ThreadPool& pool) {
        batch_ = {.rows = rows_};
        for (const Place& place : offsets_) {
            const void* const value = place.is_absent  ? nullptr
                                      : place.is_batch ? static_cast<const void*>(&batch_)
                                                       : arena + place.offset;
            std::memcpy(reinterpret_cast<std::byte*>(args_.data()) + place.in_args, &value, sizeof value);
        }
        const auto start = std::chrono::steady_clock::now();
        pool.run([](void* trial, uint32_t thread) { static_cast<Trial*>(trial)->run_share(thread); }, this);
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() * share_of_all_;
    }
    std::string kernel() const { return kernel_name(step_.spec); }

private:
    static constexpr uint64_t kGap = 4096;  // prefetches may look behind what there is
    struct Place {
        uint32_t in_args;
        uint64_t offset;
        bool is_batch, is_absent;
    };

    uint64_t bytes_of(const Argument& argument) const {
        if (argument.role == Role::batch || argument.presence == Presence::absent) return 0;
        if (argument.role == Role::vector) return f32_row_bytes(argument.width);
        const auto* matmul = std::get_if<MatmulSpec>(&step_.spec);
        if (argument.role == Role::packed) {
            if (matmul != nullptr) return uint64_t(units_) * x86::packed_panel_bytes(matmul->weight, matmul->width);
            return 0;  // can_be_tried() and try_levels() let no other through
        }
        const RowFormat format =
            argument.format ? *argument.format : backend_.activation_format(matmul->weight, matmul->activations);
        const uint64_t stride =
            argument.stride_bytes != 0 ? argument.stride_bytes : backend_.row_bytes(format, argument.width);
        return stride * argument.rows_each * rows_;
    }
    void run_share(uint32_t thread) {
        const uint32_t grain = unit_grain(step_.spec), grains = (units_ + grain - 1) / grain;
        const Share share = share_of(grains, thread, threads_);
        if (share.begin == share.end) return;
        function_(args_.data(), share.begin * grain, std::min(share.end * grain, units_));
    }

    const graph::Step& step_;
    const Backend& backend_;
    uint32_t rows_, threads_, units_ = 0;
    double share_of_all_ = 1;
    std::vector<Place> offsets_;
    std::vector<const void*> args_;
    BatchState batch_;
    KernelFunction function_ = nullptr;
};

struct Tried {
    Trial trial;
    uint32_t launches;
    double seconds = std::numeric_limits<double>::infinity();
};

// Each kernel of the plan once.
std::vector<Tried> trials_of(const graph::Plan& plan, uint32_t rows, uint32_t threads) {
    const Backend& backend = x86::backend(isa_of(plan.target.value()));
    std::vector<Tried> tried;
    std::map<std::string, size_t> index_of_name;
    for (const graph::Step& step : plan.steps) {
        const bool is_of_all_rows = step.rows == graph::StepRows::batch;
        const Signature signature = riftjit::signature(step.spec);
        const bool has_matrix = std::ranges::any_of(
            signature.arguments, [](const Argument& argument) { return argument.role == Role::packed; });
        if (!is_of_all_rows || !can_be_tried(signature)) continue;
        if (has_matrix && !std::holds_alternative<MatmulSpec>(step.spec)) continue;
        const auto [found, is_new] = index_of_name.try_emplace(kernel_name(step.spec), tried.size());
        if (is_new) tried.push_back({Trial(step, backend, rows, threads), 0});
        ++tried[found->second].launches;
    }
    return tried;
}

}  // namespace

Result<std::vector<LevelTrial>> try_levels(std::span<const graph::Plan* const> plans, uint32_t rows, ThreadPool& pool,
                                           x86::HostKernels& kernels) {
    std::vector<std::vector<Tried>> levels;
    uint64_t bytes = 0;
    size_t most_steps = 0;
    for (const graph::Plan* plan : plans) {
        levels.push_back(trials_of(*plan, rows, pool.size()));
        most_steps = std::max(most_steps, levels.back().size());
        for (Tried& tried : levels.back()) {
            bytes = std::max(bytes, tried.trial.lay_out());
            RIFTJIT_TRY_VOID(tried.trial.find(kernels));
        }
    }
    RIFTJIT_TRY_VOID(kernels.seal());
    RIFTJIT_TRY(arena, Pages::allocate(std::max<uint64_t>(bytes, 64), Pages::Size::huge, "the trial of levels",
                                       Pages::Backing::whole));
    for (size_t step = 0; step < most_steps; ++step) {
        std::memset(arena.data(), kFilling, bytes);
        for (int round = 0; round < kTrialRounds; ++round)
            for (std::vector<Tried>& level : levels)
                if (step < level.size())
                    level[step].seconds = std::min(level[step].seconds, level[step].trial.run(arena.data(), pool));
    }
    std::vector<LevelTrial> trials;
    for (size_t i = 0; i < levels.size(); ++i) {
        LevelTrial& trial = trials.emplace_back(isa_of(plans[i]->target.value()), 0.0);
        for (const Tried& tried : levels[i]) {
            trial.steps.push_back({tried.trial.kernel(), tried.launches, tried.seconds * 1e3});
            trial.ms += tried.launches * tried.seconds * 1e3;
        }
    }
    return trials;
}

}  // namespace riftjit::runtime
