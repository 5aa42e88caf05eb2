#include "jit/rdna/emulator/valu/valu.h"

#include <deque>

#include "jit/rdna/emulator/lanes/lanes_x86.h"
#include "jit/rdna/emulator/valu/valu_cross_lane.h"
#include "jit/rdna/emulator/valu/valu_fast.h"
#include "jit/rdna/emulator/valu/valu_op.h"
#include "jit/rdna/emulator/valu/wmma.h"

namespace riftjit::rdna::emulator {
namespace {

bool has_no_effect(Opcode opcode) {
    return opcode == Opcode::v_nop || opcode == Opcode::v_pipeflush || opcode == Opcode::v_clrexcp;
}

bool is_vector_format(Format format) {
    return format == Format::VOP1 || format == Format::VOP2 || format == Format::VOPC || format == Format::VOP3 ||
           format == Format::VOP3P;
}

void run_nothing(WaveState&, const void*) {}

void run_lane_op(WaveState& wave, const void* data) {
    const auto& op = *static_cast<const LaneOp*>(data);
    LaneResults results;
    compute_lanes(wave, op, results);
    write_lanes(wave, op, results);
}

struct DualOp {
    LaneOp x, y;
};
void run_dual(WaveState& wave, const void* data) {
    const auto& dual = *static_cast<const DualOp*>(data);
    LaneResults x, y;
    compute_lanes(wave, dual.x, x);
    compute_lanes(wave, dual.y, y);
    write_lanes(wave, dual.x, x);
    write_lanes(wave, dual.y, y);
}

void run_cross_lane(WaveState& wave, const void* data) {
    const auto& op = *static_cast<const CrossLaneOp*>(data);
    op.run(wave, op);
}

void run_matrix(WaveState& wave, const void* data) {
    const auto& call = *static_cast<const MatrixCall*>(data);
    if (call.generation == Generation::gfx11 && wave.tracking != nullptr)
        if (const auto reg = unreplicated_register(wave, call))
            wave.findings->report(FindingKind::wmma_replication, wave, kNoLane,
                                  fmt::format("v{} differs between groups of 16 lanes", *reg));
    multiply_matrices(wave, call);
}

}  // namespace

ValuKind valu_kind(Opcode opcode) {
    if (!is_vector_format(info(opcode).format)) return ValuKind::not_a_valu;
    if (has_no_effect(opcode)) return ValuKind::no_effect;
    if (is_cross_lane(opcode)) return ValuKind::cross_lane;
    if (matrix_operation(opcode)) return ValuKind::matrix;
    return lane_semantics(opcode) != nullptr ? ValuKind::lane_wise : ValuKind::unsupported;
}

struct ValuUnit::Impl {
    Target target;
    WaveSize wave_size;
    std::deque<LaneOp> lane_ops;
    std::deque<FastOp> fast_ops;
    std::deque<DualOp> dual_ops;
    std::deque<FastDualOp> fast_dual_ops;
    std::deque<CrossLaneOp> cross_lane_ops;
    std::deque<MatrixCall> matrix_calls;

    Result<ValuCall> prepare_lane_wise(const Instruction& instruction) {
        RIFTJIT_TRY(op, prepare_lane_op(instruction, target, wave_size));
        lane_ops.push_back(op);
        if (const auto fast = prepare_fast(lane_ops.back(), run_lane_op)) {
            fast_ops.push_back(*fast);
            return ValuCall{fast->is_plain ? run_plain : run_fast, &fast_ops.back()};
        }
        return ValuCall{run_lane_op, &lane_ops.back()};
    }

    ValuCall prepare_dual(const Instruction& instruction) {
        dual_ops.push_back({prepare_dual_half(instruction.dual[0], instruction.literal, target),
                            prepare_dual_half(instruction.dual[1], instruction.literal, target)});
        const DualOp& dual = dual_ops.back();
        const auto x = prepare_fast(dual.x, run_lane_op), y = prepare_fast(dual.y, run_lane_op);
        if (!x || !y) return {run_dual, &dual};
        fast_dual_ops.push_back({*x, *y, run_dual, &dual});
        return {run_fast_dual, &fast_dual_ops.back()};
    }
};

ValuUnit::ValuUnit(Target target, WaveSize wave_size) : impl_(std::make_unique<Impl>()) {
    impl_->target = target;
    impl_->wave_size = wave_size;
}
ValuUnit::~ValuUnit() = default;

Result<ValuCall> ValuUnit::prepare(const Instruction& instruction) {
    if (instruction.encoding == Encoding::vopd) return impl_->prepare_dual(instruction);
    switch (valu_kind(instruction.opcode)) {
        case ValuKind::lane_wise:
            return impl_->prepare_lane_wise(instruction);
        case ValuKind::no_effect:
            return ValuCall{run_nothing, nullptr};
        case ValuKind::cross_lane: {
            RIFTJIT_TRY(op, prepare_cross_lane(instruction, generation(impl_->target)));
            impl_->cross_lane_ops.push_back(op);
            return ValuCall{run_cross_lane, &impl_->cross_lane_ops.back()};
        }
        case ValuKind::matrix: {
            RIFTJIT_TRY(call, prepare_matrix(instruction, generation(impl_->target), impl_->wave_size));
            impl_->matrix_calls.push_back(call);
            return ValuCall{run_matrix, &impl_->matrix_calls.back()};
        }
        case ValuKind::not_a_valu:
        case ValuKind::unsupported:
            break;
    }
    return fail(ErrorKind::Unsupported, "{}: the vector unit does not execute it", info(instruction.opcode).name);
}

}  // namespace riftjit::rdna::emulator
