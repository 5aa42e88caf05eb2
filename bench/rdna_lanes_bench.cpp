// Nanoseconds per vector instruction of the software RDNA machine, one wave32 on one thread, as its interpreter calls
// them: the prepared instruction's function and data. The same instructions one lane after the other, without emitted
// code, show what the lanes bring.
//
//   rdna_lanes_bench --benchmark_filter=v_fma_f32
#include <benchmark/benchmark.h>

#include <algorithm>
#include <vector>

#include "jit/rdna/emulator/valu/valu.h"
#include "jit/rdna/emulator/valu/valu_op.h"

namespace riftjit::rdna::emulator {
namespace {

constexpr Target kTarget = Target::gfx1100;
constexpr uint32_t kDefaultMode = 0x3F0;
constexpr uint32_t kOne = 0x3F800000;

struct Wave {
    Wave() : registers(kVgprsNameable * 32 + 16, kOne) {
        state.vgprs = registers.data() + (16 - (reinterpret_cast<uintptr_t>(registers.data()) / 4) % 16) % 16;
        state.generation = generation(kTarget);
        state.target = kTarget;
        state.lanes = 32;
        state.vgpr_count = kVgprsNameable;
        state.mode = kDefaultMode;
        state.set_mask(Operand::kExec, state.all_lanes());
        std::fill_n(state.scalars, 100, kOne);
    }
    std::vector<uint32_t> registers;
    WaveState state{};
};

// Destination v0; sources v4, v8, v12, the first one a scalar where asked.
enum class FirstSource : uint8_t { vector, scalar };
Instruction instruction(Opcode opcode, FirstSource first) {
    Instruction made;
    made.opcode = opcode;
    const InstructionInfo& row = info(opcode);
    for (unsigned i = 0; i < row.destinations; ++i)
        made.operands[i] = row.operands[i].type == OperandType::mask ? sgpr(Operand::kVcc) : vgpr(0);
    for (unsigned i = 0; i < row.sources; ++i) {
        const OperandType type = row.source_operands()[i].type;
        if (type != OperandType::mask && type != OperandType::k32)
            made.operands[row.destinations + i] = vgpr(4 + 4 * i);
    }
    if (first == FirstSource::scalar) made.operands[row.destinations] = sgpr(2);
    if (row.format == Format::VOP3P) made.op_sel_hi = 7;
    made.literal = kOne;
    return made;
}

void run(benchmark::State& bench, Opcode opcode, FirstSource first) {
    Wave wave;
    ValuUnit unit(kTarget, WaveSize::wave32);
    const auto call = unit.prepare(instruction(opcode, first));
    for (auto _ : bench) {
        call->run(wave.state, call->data);
        benchmark::ClobberMemory();
    }
    bench.counters["Minstr/s"] =
        benchmark::Counter(1e-6 * static_cast<double>(bench.iterations()), benchmark::Counter::kIsRate);
}

void run_lane_by_lane(benchmark::State& bench, Opcode opcode) {
    Wave wave;
    const auto op = prepare_lane_op(instruction(opcode, FirstSource::vector), kTarget, WaveSize::wave32);
    LaneResults results;
    for (auto _ : bench) {
        compute_lanes(wave.state, *op, results);
        write_lanes(wave.state, *op, results);
        benchmark::ClobberMemory();
    }
}

constexpr Opcode kMeasured[] = {
    Opcode::v_mov_b32,        Opcode::v_add_f32,
    Opcode::v_fma_f32,        Opcode::v_fmac_f32,
    Opcode::v_max_num_f32,    Opcode::v_cmp_lt_f32,
    Opcode::v_cndmask_b32,    Opcode::v_add_nc_u32,
    Opcode::v_mul_lo_u32,     Opcode::v_lshlrev_b32,
    Opcode::v_and_or_b32,     Opcode::v_bfe_u32,
    Opcode::v_add_co_ci_u32,  Opcode::v_cvt_f32_i32,
    Opcode::v_dot4_i32_iu8,   Opcode::v_dot8_i32_iu4,
    Opcode::v_med3_i32,       Opcode::v_perm_b32,
    Opcode::v_clz_i32_u32,    Opcode::v_mbcnt_lo_u32_b32,
    Opcode::v_mul_hi_i32,     Opcode::v_sad_u8,
    Opcode::v_cmp_lt_i64,     Opcode::v_lshlrev_b64,
    Opcode::v_mad_co_u64_u32, Opcode::v_fma_f64,
    Opcode::v_cmp_lt_f64,     Opcode::v_max_num_f64,
    Opcode::v_floor_f64,      Opcode::v_cvt_f64_f32,
    Opcode::v_cvt_i32_f64,    Opcode::v_med3_num_f32,
    Opcode::v_cmp_class_f32,  Opcode::v_ldexp_f32,
    Opcode::v_rcp_f32,        Opcode::v_add_f16,
    Opcode::v_fma_f16,        Opcode::v_max_num_f16,
    Opcode::v_mad_u16,        Opcode::v_cvt_f16_f32,
    Opcode::v_cmp_lt_f16,     Opcode::v_pk_add_f16,
    Opcode::v_pk_fma_f16,     Opcode::v_pk_max_num_f16,
    Opcode::v_pk_mad_i16,     Opcode::v_pk_lshlrev_b16,
    Opcode::v_fma_mix_f32,    Opcode::v_fma_mixlo_f16,
    Opcode::v_dot2_f32_f16,   Opcode::v_wmma_f32_16x16x16_f16_gfx11,
};

void register_all() {
    for (const Opcode opcode : kMeasured) {
        const std::string name(info(opcode).name);
        benchmark::RegisterBenchmark((name + "/vgprs").c_str(), run, opcode, FirstSource::vector);
        if (lane_semantics(opcode) == nullptr) continue;
        benchmark::RegisterBenchmark((name + "/sgpr").c_str(), run, opcode, FirstSource::scalar);
        benchmark::RegisterBenchmark((name + "/lane_by_lane").c_str(), run_lane_by_lane, opcode);
    }
}

}  // namespace
}  // namespace riftjit::rdna::emulator

int main(int argc, char** argv) {
    riftjit::rdna::emulator::register_all();
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
}
