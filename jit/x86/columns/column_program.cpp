// Straight-line programs over columns: one vector of elements after the other goes through all steps.
#include <array>
#include <map>
#include <optional>

#include "jit/x86/backend.h"
#include "jit/x86/columns/column_compiler.h"
#include "jit/x86/columns/column_fired.h"
#include "jit/x86/columns/column_functions.h"
#include "jit/x86/columns/column_plan.h"
#include "jit/x86/columns/column_random.h"
#include "jit/x86/columns/column_transfer.h"

namespace riftjit::x86 {

namespace {

using Vec = ColumnCompiler::Vec;
using Gp = ColumnCompiler::Gp;
using Mem = ColumnCompiler::Mem;
using Mask = ColumnCompiler::Mask;
using Source = ColumnCompiler::Source;
using Lanes = ColumnCompiler::Lanes;

class ProgramGenerator {
public:
    ProgramGenerator(const ColumnProgramSpec& spec, Isa isa)
        : spec_(spec), plan_(plan_columns(spec)), cc_(isa), random_(cc_), fired_(cc_), values_(spec.steps.size()) {}

    MachineCode generate() {
        begin_function();
        const asmjit::Label next = cc_.newLabel(), done = cc_.newLabel();
        cc_.cmp(element_, end_);
        cc_.jae(done);
        cc_.bind(next);
        emit_program();
        cc_.add(element_, lanes());
        cc_.cmp(element_, end_);
        cc_.jb(next);
        cc_.bind(done);
        fired_.finish(args_);
        return cc_.finish_kernel();
    }

private:
    struct Value {
        std::optional<Vec> number;  // constants, scalars and loads: once they are in a register
        std::optional<Mask> truth;
    };

    bool is_f64() const { return spec_.precision == Precision::f64; }
    int lanes() const { return is_f64() ? cc_.doubles() : 2 * cc_.doubles(); }

    void begin_function() {
        using Signature = asmjit::FuncSignatureT<void, const void*, uint32_t, uint32_t>;
        asmjit::FuncNode* function = cc_.addFunc(Signature(asmjit::CallConvId::kX64SystemV));
        function->frame().setAvxEnabled();
        function->frame().setAvxCleanup();  // vzeroupper
        if (cc_.is_avx512()) function->frame().setAvx512Enabled();
        args_ = cc_.newUIntPtr();
        element_ = cc_.newUInt64();
        end_ = cc_.newUInt64();
        function->setArg(0, args_);
        function->setArg(1, element_.r32());
        function->setArg(2, end_.r32());
        cc_.mov(element_.r32(), element_.r32());  // the upper halves of 32-bit arguments are undefined
        cc_.mov(end_.r32(), end_.r32());
        load_pointers();
        if (draws()) random_.prepare(args_);
        prepare_fixed_means();
        fired_.begin(args_);
    }
    void load_pointers() {
        const auto field = [&](size_t offset) { return asmjit::x86::qword_ptr(args_, int(offset)); };
        scalars_ = cc_.newUIntPtr();
        if (plan_.has(ColumnOp::scalar)) cc_.mov(scalars_, field(offsetof(ColumnProgramArgs, scalars)));
        const Gp pointers = cc_.newUIntPtr();
        cc_.mov(pointers, field(offsetof(ColumnProgramArgs, columns)));
        columns_.resize(spec_.columns.size());
        for (size_t index = 0; index < plan_.steps.size(); ++index) {
            const ColumnStep& step = plan_.steps[index];
            const bool is_transfer = step.op == ColumnOp::load || step.op == ColumnOp::store;
            if (!plan_.is_live[index] || !is_transfer || columns_[step.index].isValid()) continue;
            columns_[step.index] = cc_.newUIntPtr();
            cc_.mov(columns_[step.index], asmjit::x86::qword_ptr(pointers, int(step.index * sizeof(void*))));
        }
    }
    // Poisson means that all elements share.
    void prepare_fixed_means() {
        for (size_t index = 0; index < plan_.steps.size(); ++index) {
            const ColumnStep& step = plan_.steps[index];
            if (!plan_.is_live[index] || step.op != ColumnOp::poisson || fixed_means_.contains(step.a)) continue;
            const ColumnOp mean = plan_.steps[step.a].op;
            if (mean != ColumnOp::scalar && mean != ColumnOp::constant) continue;
            fixed_means_[step.a] =
                random_.keep_mean(random_.poisson_mean(is_f64() ? vector(step.a) : cc_.widen(vector(step.a), 0)));
            cc_.release_scratch();
        }
    }
    bool draws() const {
        return plan_.has(ColumnOp::uniform) || plan_.has(ColumnOp::normal) || plan_.has(ColumnOp::poisson);
    }

    void emit_program() {
        values_.assign(spec_.steps.size(), {});
        waiting_.assign(spec_.columns.size(), std::nullopt);
        if (draws() || plan_.has(ColumnOp::id)) {
            first_id_ = cc_.newUInt64();
            cc_.mov(first_id_, element_);
            cc_.add(first_id_, asmjit::x86::qword_ptr(args_, int(offsetof(ColumnProgramArgs, first_id))));
            random_.begin_elements(first_id_);
        }
        for (size_t index = 0; index < plan_.steps.size(); ++index) {
            if (!plan_.is_live[index]) continue;
            emit_step(index);
            release_after(index);
        }
    }
    // What no later step needs gives its registers back.
    void release_after(size_t index) {
        const Value& result = values_[index];
        if (result.number) cc_.hold(*result.number);
        if (result.truth) cc_.hold(*result.truth);
        cc_.release_scratch();
        const ColumnStep& step = plan_.steps[index];
        for (const uint16_t operand : {step.a, step.b, step.c}) {
            if (plan_.last_use[operand] != index) continue;
            Value& value = values_[operand];
            const bool is_result = value.number && result.number && value.number->id() == result.number->id();
            if (value.number && !is_result) cc_.release(*value.number);
            if (value.truth) cc_.release(*value.truth);
            value = {};
        }
    }

    void emit_step(size_t index) {
        const ColumnStep& step = plan_.steps[index];
        switch (traits(step.op).result) {
            case ColumnKind::none:
                return step.op == ColumnOp::store ? emit_store(index)
                                                  : fired_.append(args_, element_, lane_bits(step.a), lanes());
            case ColumnKind::truth:
                values_[index].truth = truth_of(step);
                return;
            case ColumnKind::number:
                break;
        }
        switch (step.op) {
            case ColumnOp::constant:
            case ColumnOp::scalar:
                return;  // where they are used
            case ColumnOp::load:
                waiting_[step.index] = index;
                return;
            default:
                values_[index].number = number_of(index);
        }
    }

    // ---- operands ----

    Mem column(const ColumnStep& step) const {
        constexpr std::array<uint32_t, 9> kShift = {0, 0, 1, 0, 2, 0, 0, 0, 3};
        return asmjit::x86::ptr(columns_[step.index], element_, kShift[column_bytes(spec_.columns[step.index])]);
    }
    bool has_type_of_numbers(uint32_t column) const {
        return spec_.columns[column] == (is_f64() ? ColumnType::f64 : ColumnType::f32);
    }
    // Whether an instruction can take the value from memory as its last operand.
    bool is_memory(uint16_t value) const {
        const ColumnStep& step = plan_.steps[value];
        if (step.op == ColumnOp::constant) return true;
        if (step.op == ColumnOp::scalar) return is_f64() && cc_.is_avx512();
        return step.op == ColumnOp::load && !values_[value].number && plan_.uses[value] == 1 &&
               has_type_of_numbers(step.index);
    }
    Source source(uint16_t value) {
        if (!is_memory(value)) return vector(value);
        const ColumnStep& step = plan_.steps[value];
        if (step.op == ColumnOp::constant)
            return is_f64() ? cc_.splat_f64(step.number) : cc_.splat(static_cast<float>(step.number));
        return step.op == ColumnOp::scalar ? scalar(step)._1to8() : column(step);
    }
    Mem scalar(const ColumnStep& step) const { return asmjit::x86::ptr(scalars_, int(step.index * sizeof(double))); }
    // A constant or scalar comes into a new register each time: that is one load, and keeping it would be another.
    Vec vector(uint16_t value) {
        if (values_[value].number) return *values_[value].number;
        const ColumnStep& step = plan_.steps[value];
        if (step.op == ColumnOp::load) {
            values_[value].number = load_numbers(cc_, spec_.precision, spec_.columns[step.index], column(step));
            cc_.hold(*values_[value].number);
            return *values_[value].number;
        }
        if (step.op == ColumnOp::constant && is_f64()) return cc_.broadcast_f64(step.number);
        const Vec out = cc_.new_vector();
        if (step.op == ColumnOp::constant) {
            cc_.vbroadcastss(out, cc_.constant(static_cast<float>(step.number)));
        } else if (is_f64()) {
            cc_.vbroadcastsd(out, scalar(step));
        } else {
            const Vec low = cc_.new_xmm();
            cc_.vmovsd(low.xmm(), scalar(step));
            cc_.vcvtsd2ss(low.xmm(), low.xmm(), low.xmm());
            cc_.vbroadcastss(out, low.xmm());
        }
        return out;
    }
    // The value in a register that step `index` may overwrite.
    Vec take(uint16_t value, size_t index) {
        const ColumnOp op = plan_.steps[value].op;
        const bool is_new = op == ColumnOp::constant || op == ColumnOp::scalar;
        if (is_new || plan_.last_use[value] == index) return vector(value);
        const Vec out = cc_.new_vector();
        cc_.vmovapd(out, vector(value));
        return out;
    }
    asmjit::InstId pick(asmjit::InstId f64, asmjit::InstId f32) const { return is_f64() ? f64 : f32; }

    // ---- numbers ----

    Vec number_of(size_t index) {
        const ColumnStep& step = plan_.steps[index];
        switch (step.op) {
            case ColumnOp::add:
                return commutative(Inst::kIdVaddpd, Inst::kIdVaddps, step);
            case ColumnOp::multiply:
                return commutative(Inst::kIdVmulpd, Inst::kIdVmulps, step);
            case ColumnOp::subtract:
                return binary(Inst::kIdVsubpd, Inst::kIdVsubps, step.a, step.b);
            case ColumnOp::divide:
                return binary(Inst::kIdVdivpd, Inst::kIdVdivps, step.a, step.b);
            case ColumnOp::minimum:
                return binary(Inst::kIdVminpd, Inst::kIdVminps, step.a, step.b);
            case ColumnOp::maximum:
                return binary(Inst::kIdVmaxpd, Inst::kIdVmaxps, step.a, step.b);
            case ColumnOp::negate:
                return cc_.bit_xor(vector(step.a), sign_bits(Sign::only));
            case ColumnOp::absolute:
                return cc_.bit_and(vector(step.a), sign_bits(Sign::all_but));
            case ColumnOp::floor:
                return floor_of(step);
            case ColumnOp::square_root: {
                const Vec out = cc_.new_vector();
                cc_.emit(pick(Inst::kIdVsqrtpd, Inst::kIdVsqrtps), out, source(step.a));
                return out;
            }
            case ColumnOp::fused_multiply_add:
                return fused_multiply_add(index);
            case ColumnOp::select:
                return select_of(index);
            case ColumnOp::id:
                return ids();
            default:
                return in_f64(step);
        }
    }
    Vec binary(asmjit::InstId f64, asmjit::InstId f32, uint16_t left, uint16_t right) {
        const Vec left_vector = vector(left);
        return cc_.emit_new(pick(f64, f32), left_vector, source(right));
    }
    Vec commutative(asmjit::InstId f64, asmjit::InstId f32, const ColumnStep& step) {
        const bool swaps = is_memory(step.a) && !is_memory(step.b);
        return swaps ? binary(f64, f32, step.b, step.a) : binary(f64, f32, step.a, step.b);
    }
    enum class Sign { only, all_but };
    Mem sign_bits(Sign sign) {
        const uint64_t bit = is_f64() ? uint64_t(1) << 63 : 0x8000'0000'8000'0000;
        return cc_.splat_u64(sign == Sign::only ? bit : ~bit);
    }
    Vec floor_of(const ColumnStep& step) {
        constexpr int kDownwards = 0x09;  // without the inexact exception
        const Vec out = cc_.new_vector();
        const asmjit::InstId inst = cc_.is_avx512() ? pick(Inst::kIdVrndscalepd, Inst::kIdVrndscaleps)
                                                    : pick(Inst::kIdVroundpd, Inst::kIdVroundps);
        cc_.emit(inst, out, source(step.a), asmjit::Imm(kDownwards));
        return out;
    }
    Vec fused_multiply_add(size_t index) {
        uint16_t a = plan_.steps[index].a, b = plan_.steps[index].b;
        const uint16_t c = plan_.steps[index].c;
        if (is_memory(a)) std::swap(a, b);
        const bool adds_memory = is_memory(c) && !is_memory(b);
        const Vec left = vector(a);
        if (adds_memory) {
            const Vec right = vector(b), out = take(a, index);
            cc_.emit(pick(Inst::kIdVfmadd213pd, Inst::kIdVfmadd213ps), out, right, source(c));
            return out;
        }
        const Source right = source(b);
        const Vec out = take(c, index);
        cc_.emit(pick(Inst::kIdVfmadd231pd, Inst::kIdVfmadd231ps), out, left, right);
        return out;
    }
    Vec select_of(size_t index) {
        const ColumnStep& step = plan_.steps[index];
        const Source yes = source(step.b);
        if (step.b == step.c) return take(step.c, index);
        const Mask& mask = *values_[step.a].truth;
        if (cc_.is_avx512()) {
            const Vec out = take(step.c, index);
            cc_.assign_where(out, mask, yes, is_f64() ? Lanes::f64 : Lanes::f32);
            return out;
        }
        const Vec out = cc_.new_vector(), no = vector(step.c);
        cc_.emit(pick(Inst::kIdVblendvpd, Inst::kIdVblendvps), out, no, yes, mask.words);
        return out;
    }
    Vec ids() {
        std::array<double, 8> iota;
        for (size_t lane = 0; lane < iota.size(); ++lane) iota[lane] = double(lane);
        const Vec first = cc_.new_vector(), number = cc_.new_xmm();
        cc_.vxorps(number.xmm(), number.xmm(), number.xmm());
        cc_.vcvtsi2sd(number.xmm(), number.xmm(), first_id_);
        cc_.vbroadcastsd(first, number.xmm());
        const Vec low = cc_.add(first, cc_.table(iota.data(), size_t(cc_.vector_bytes())));
        return is_f64() ? low : cc_.join(low, cc_.add(low, cc_.splat_f64(cc_.doubles())));
    }

    // ---- functions and random numbers: always on f64 ----

    Vec in_f64(const ColumnStep& step) {
        const auto operand = [&](ColumnKind kind, uint16_t value, int part) {
            if (kind == ColumnKind::none) return Vec();
            return is_f64() ? vector(value) : cc_.widen(vector(value), part);
        };
        const auto& kinds = traits(step.op).operands;
        const auto of_part = [&](int part) {
            return function_of(step, operand(kinds[0], step.a, part), operand(kinds[1], step.b, part), part);
        };
        const Vec low = of_part(0);
        return is_f64() ? low : cc_.join(low, of_part(1));
    }
    Vec function_of(const ColumnStep& step, const Vec& a, const Vec& b, int part) {
        switch (step.op) {
            case ColumnOp::exp:
                return emit_exp(cc_, a);
            case ColumnOp::expm1:
                return emit_expm1(cc_, a);
            case ColumnOp::log:
                return emit_log(cc_, a);
            case ColumnOp::sin:
                return emit_sin(cc_, a);
            case ColumnOp::cos:
                return emit_cos(cc_, a);
            case ColumnOp::tanh:
                return emit_tanh(cc_, a);
            case ColumnOp::power:
                return emit_power(cc_, a, b);
            case ColumnOp::uniform:
                return is_f64() ? random_.uniform(step.index, part) : random_.uniform_of_24_bits(step.index, part);
            case ColumnOp::normal:
                return random_.normal(step.index, part);
            default:
                check(step.op == ColumnOp::poisson, "the op is one of f64");
                return random_.poisson(step.index, part,
                                       fixed_means_.contains(step.a) ? random_.kept_mean(fixed_means_.at(step.a))
                                                                     : random_.poisson_mean(a));
        }
    }

    // ---- truths ----

    Mask truth_of(const ColumnStep& step) {
        switch (step.op) {
            case ColumnOp::less:
                return compare(step, Compare::less, Compare::greater);
            case ColumnOp::less_equal:
                return compare(step, Compare::less_equal, Compare::greater_equal);
            case ColumnOp::equal:
                return compare(step, Compare::equal, Compare::equal);
            case ColumnOp::both:
                return cc_.mask_and(*values_[step.a].truth, *values_[step.b].truth);
            case ColumnOp::either:
                return cc_.mask_or(*values_[step.a].truth, *values_[step.b].truth);
            default:
                check(step.op == ColumnOp::negation, "the op gives a truth");
                return cc_.mask_not(*values_[step.a].truth);
        }
    }
    Mask compare(const ColumnStep& step, Compare predicate, Compare swapped) {
        const bool swaps = is_memory(step.a) && !is_memory(step.b);
        const Vec left = vector(swaps ? step.b : step.a);
        const Source right = source(swaps ? step.a : step.b);
        const asmjit::Imm immediate(static_cast<uint8_t>(swaps ? swapped : predicate));
        const Mask mask = cc_.new_mask();
        const asmjit::InstId inst = pick(Inst::kIdVcmppd, Inst::kIdVcmpps);
        cc_.is_avx512() ? cc_.emit(inst, mask.bits, left, right, immediate)
                        : cc_.emit(inst, mask.words, left, right, immediate);
        return mask;
    }

    // ---- effects ----

    void emit_store(size_t index) {
        const ColumnStep& step = plan_.steps[index];
        if (const auto load = waiting_[step.index]; load && plan_.last_use[*load] > index)
            vector(uint16_t(*load));  // what the column held before is needed later
        waiting_[step.index].reset();
        store_numbers(cc_, spec_.precision, spec_.columns[step.index], column(step), vector(step.a));
    }
    // One bit per lane.
    Gp lane_bits(uint16_t truth) {
        const Mask& mask = *values_[truth].truth;
        if (is_f64()) return cc_.bits_of(mask);
        const Gp bits = cc_.new_pointer().r32();
        cc_.is_avx512() ? cc_.kmovw(bits, mask.bits) : cc_.vmovmskps(bits, mask.words);
        return bits;
    }

    const ColumnProgramSpec& spec_;
    const ColumnPlan plan_;
    ColumnCompiler cc_;
    ColumnRandom random_;
    ColumnFired fired_;
    Gp args_, element_, end_, scalars_, first_id_;
    std::vector<Gp> columns_;
    std::vector<Value> values_;
    std::map<uint16_t, Mem> fixed_means_;         // by the value that is the mean
    std::vector<std::optional<size_t>> waiting_;  // per column: the load that no step has needed yet
};

}  // namespace

MachineCode generate(OpOf<ColumnProgramSpec>, const ColumnProgramSpec& spec, Isa isa) {
    return ProgramGenerator(spec, isa).generate();
}

}  // namespace riftjit::x86
