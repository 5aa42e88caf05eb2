// LLVM's constant folding as an oracle: opt-19 computes AMDGPU intrinsics and generic operations of random constants.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "jit/rdna/emulator/valu/valu_lane.h"
#include "tests/host/oracle.h"
#include "tests/host/scratch.h"

namespace riftjit::rdna::emulator {
namespace valu_oracle_test {

struct Oracle {
    Opcode opcode;
    const char* result;      // LLVM's type
    const char* expression;  // {0}, {1}, {2}: the operands with their types, in the instruction's order
    std::vector<const char*> operands;
    bool clamp = false;
    uint64_t ulps = 0;
};
const std::vector<Oracle> kOracles = {
    {Opcode::v_fract_f32, "float", "call float @llvm.amdgcn.fract.f32({0})", {"float"}},
    {Opcode::v_rcp_f32, "float", "call float @llvm.amdgcn.rcp.f32({0})", {"float"}, false, 1},
    {Opcode::v_sin_f32, "float", "call float @llvm.amdgcn.sin.f32({0})", {"float"}, false, 1},
    {Opcode::v_cos_f32, "float", "call float @llvm.amdgcn.cos.f32({0})", {"float"}, false, 1},
    {Opcode::v_bfe_u32, "i32", "call i32 @llvm.amdgcn.ubfe.i32({0}, {1}, {2})", {"i32", "i5", "i5"}},
    {Opcode::v_bfe_i32, "i32", "call i32 @llvm.amdgcn.sbfe.i32({0}, {1}, {2})", {"i32", "i5", "i5"}},
    {Opcode::v_perm_b32, "i32", "call i32 @llvm.amdgcn.perm({0}, {1}, {2})", {"i32", "i32", "select"}},
    {Opcode::v_cvt_pk_rtz_f16_f32,
     "<2 x half>",
     "call <2 x half> @llvm.amdgcn.cvt.pkrtz({0}, {1})",
     {"float", "float"}},
    {Opcode::v_med3_num_f32, "float", "call float @llvm.amdgcn.fmed3.f32({0}, {1}, {2})", {"float", "float", "float"}},
    {Opcode::v_cubeid_f32, "float", "call float @llvm.amdgcn.cubeid({0}, {1}, {2})", {"float", "float", "float"}},
    {Opcode::v_cubesc_f32, "float", "call float @llvm.amdgcn.cubesc({0}, {1}, {2})", {"float", "float", "float"}},
    {Opcode::v_cubetc_f32, "float", "call float @llvm.amdgcn.cubetc({0}, {1}, {2})", {"float", "float", "float"}},
    {Opcode::v_cubema_f32, "float", "call float @llvm.amdgcn.cubema({0}, {1}, {2})", {"float", "float", "float"}},
    {Opcode::v_mul_dx9_zero_f32, "float", "call float @llvm.amdgcn.fmul.legacy({0}, {1})", {"float", "float"}},
    {Opcode::v_fma_dx9_zero_f32,
     "float",
     "call float @llvm.amdgcn.fma.legacy({0}, {1}, {2})",
     {"float", "float", "float"}},
    {Opcode::v_frexp_mant_f32, "float", "call float @llvm.amdgcn.frexp.mant.f32({0})", {"float"}},
    {Opcode::v_frexp_exp_i32_f32, "i32", "call i32 @llvm.amdgcn.frexp.exp.i32.f32({0})", {"float"}},
    {Opcode::v_ldexp_f32, "float", "call float @llvm.ldexp.f32.i32({0}, {1})", {"float", "small"}},
    {Opcode::v_fma_f32, "float", "call float @llvm.fma.f32({0}, {1}, {2})", {"float", "float", "float"}},
    {Opcode::v_fma_f16, "half", "call half @llvm.fma.f16({0}, {1}, {2})", {"half", "half", "half"}},
    {Opcode::v_fma_f64, "double", "call double @llvm.fma.f64({0}, {1}, {2})", {"double", "double", "double"}},
    {Opcode::v_add_f16, "half", "call half @llvm.fma.f16({0}, half 0xH3C00, {1})", {"half", "half"}},
    {Opcode::v_add_f32, "float", "call float @llvm.fma.f32({0}, float 1.0, {1})", {"float", "float"}},
    {Opcode::v_add_f64, "double", "call double @llvm.fma.f64({0}, double 1.0, {1})", {"double", "double"}},
    {Opcode::v_rndne_f16, "half", "call half @llvm.roundeven.f16({0})", {"half"}},
    {Opcode::v_rndne_f32, "float", "call float @llvm.roundeven.f32({0})", {"float"}},
    {Opcode::v_rndne_f64, "double", "call double @llvm.roundeven.f64({0})", {"double"}},
    {Opcode::v_trunc_f32, "float", "call float @llvm.trunc.f32({0})", {"float"}},
    {Opcode::v_ceil_f64, "double", "call double @llvm.ceil.f64({0})", {"double"}},
    {Opcode::v_floor_f16, "half", "call half @llvm.floor.f16({0})", {"half"}},
    {Opcode::v_min_num_f32, "float", "call float @llvm.minnum.f32({0}, {1})", {"float", "float"}},
    {Opcode::v_max_num_f16, "half", "call half @llvm.maxnum.f16({0}, {1})", {"half", "half"}},
    {Opcode::v_minimum_f32, "float", "call float @llvm.minimum.f32({0}, {1})", {"float", "float"}},
    {Opcode::v_maximum_f64, "double", "call double @llvm.maximum.f64({0}, {1})", {"double", "double"}},
    {Opcode::v_cvt_i32_f32, "i32", "call i32 @llvm.fptosi.sat.i32.f32({0})", {"float"}},
    {Opcode::v_cvt_u32_f64, "i32", "call i32 @llvm.fptoui.sat.i32.f64({0})", {"double"}},
    {Opcode::v_cvt_f16_f32, "half", "fptrunc {0} to half", {"float"}},
    {Opcode::v_cvt_f32_f64, "float", "fptrunc {0} to float", {"double"}},
    {Opcode::v_cvt_f64_f32, "double", "fpext {0} to double", {"float"}},
    {Opcode::v_cvt_f32_i32, "float", "sitofp {0} to float", {"i32"}},
    {Opcode::v_cvt_f32_u32, "float", "uitofp {0} to float", {"i32"}},
    {Opcode::v_alignbit_b32, "i32", "call i32 @llvm.fshr.i32({0}, {1}, {2})", {"i32", "i32", "i32"}},
    {Opcode::v_clz_i32_u32, "i32", "call i32 @llvm.ctlz.i32({0}, i1 true)", {"i32"}},
    {Opcode::v_ctz_i32_b32, "i32", "call i32 @llvm.cttz.i32({0}, i1 true)", {"i32"}},
    {Opcode::v_bfrev_b32, "i32", "call i32 @llvm.bitreverse.i32({0})", {"i32"}},
    {Opcode::v_add_nc_u32, "i32", "call i32 @llvm.uadd.sat.i32({0}, {1})", {"i32", "i32"}, true},
    {Opcode::v_sub_nc_i32, "i32", "call i32 @llvm.ssub.sat.i32({0}, {1})", {"i32", "i32"}, true},
    {Opcode::v_add_nc_i16, "i16", "call i16 @llvm.sadd.sat.i16({0}, {1})", {"i16", "i16"}, true},
    {Opcode::v_sub_nc_u16, "i16", "call i16 @llvm.usub.sat.i16({0}, {1})", {"i16", "i16"}, true},
};

constexpr unsigned kCases = 60;

struct Constant {
    std::string text;  // with its type
    uint64_t bits;
};
Constant constant(std::string_view type, std::mt19937_64& random) {
    const uint64_t word = random();
    const auto integer = [](unsigned width, uint64_t value) {
        return Constant{fmt::format("i{} {}", width, value), value};
    };
    const auto floating = [&](const FloatFormat& format, std::string_view name) {
        uint64_t bits = word & (format.sign() | format.mantissa_mask());
        bits |= (static_cast<uint64_t>(format.bias()) - 7 + (word >> 53) % 15) << format.mantissa_bits;
        if (word >> 60 == 0) bits &= format.sign();  // sometimes a zero
        return Constant{fmt::format("{} bitcast (i{} {} to {})", name, format.width(), bits, name), bits};
    };
    if (type == "i32") return integer(32, (word & 0xFFFFFFFF) >> (word >> 59));
    if (type == "i16") return integer(16, word & 0xFFFF);
    if (type == "i5") return integer(32, word % 32);
    if (type == "small") return integer(32, word % 40);
    if (type == "select") return integer(32, (word & 0x0F0F0F0F));
    if (type == "half") return floating(kF16, "half");
    if (type == "float") return floating(kF32, "float");
    return floating(kF64, "double");
}

unsigned width_of(std::string_view type) {
    if (type == "half" || type == "i16") return 16;
    return type == "double" ? 64 : 32;
}

struct Question {
    const Oracle* oracle;
    std::vector<Constant> operands;
};

// A function for each question, its result as an integer.
std::string module_of(const std::vector<Question>& questions) {
    std::string text;
    std::map<std::string, std::string> declarations;
    for (size_t i = 0; i < questions.size(); ++i) {
        const Oracle& oracle = *questions[i].oracle;
        std::string expression = oracle.expression;
        std::string types = expression;
        for (size_t k = 0; k < questions[i].operands.size(); ++k) {
            const std::string place = fmt::format("{{{}}}", k);
            const std::string& operand = questions[i].operands[k].text;
            expression.replace(expression.find(place), place.size(), operand);
            types.replace(types.find(place), place.size(), operand.substr(0, operand.find(' ')));
        }
        if (expression.starts_with("call ")) {  // "float @llvm.fma.f32(float, float, float)"
            for (const std::string_view literal : {" 0xH3C00", " 1.0", " true"})
                if (const size_t at = types.find(literal); at != std::string::npos) types.erase(at, literal.size());
            declarations[types.substr(5)] = "declare " + types.substr(5) + "\n";
        }
        const unsigned width = width_of(oracle.result);
        text += fmt::format("define i{} @q{}() {{\n %r = {}\n %b = bitcast {} %r to i{}\n ret i{} %b\n}}\n", width, i,
                            expression, oracle.result, width, width);
    }
    for (const auto& [signature, declaration] : declarations) text += declaration;
    return text;
}

// The constants that functions return, by number; unfolded ones are missing.
std::map<size_t, uint64_t> folded(const std::string& module) {
    const Scratch scratch;
    const std::string input = scratch.path("q.ll"), output = scratch.path("a.ll");
    std::ofstream(input) << module;
    const std::string command =
        fmt::format("opt-19 -S -mtriple=amdgcn -passes=instcombine,instsimplify {} -o {}", input, output);
    EXPECT_EQ(std::system(command.c_str()), 0);
    std::map<size_t, uint64_t> answers;
    std::ifstream file(output);
    size_t number = 0;
    for (std::string line; std::getline(file, line);) {
        if (const size_t at = line.find("@q"); line.starts_with("define") && at != std::string::npos)
            number = std::stoul(line.substr(at + 2));
        const size_t at = line.find("ret i");
        if (at == std::string::npos || line.find('%') != std::string::npos) continue;
        const std::string value = line.substr(line.find(' ', at + 5) + 1);
        if (value.find_first_not_of("-0123456789") == std::string::npos)
            answers[number] = static_cast<uint64_t>(std::stoll(value));
    }
    return answers;
}

uint64_t computed(const Question& question) {
    LaneContext context;
    context.generation = Generation::gfx12;
    context.clamp = question.oracle->clamp;
    LaneData lane;
    for (size_t i = 0; i < question.operands.size(); ++i) lane.source[i] = question.operands[i].bits;
    lane_semantics(question.oracle->opcode)->function(context, lane);
    const unsigned width = width_of(question.oracle->result);
    return width == 64 ? lane.result : lane.result & ((1ull << width) - 1);
}

TEST(ValuOracle, AgreesWithConstantFolding) {
    if (std::system("command -v opt-19 >/dev/null 2>&1") != 0) return lack_oracle("opt-19");
    std::mt19937_64 random(2719);
    std::vector<Question> questions;
    for (const Oracle& oracle : kOracles)
        for (unsigned i = 0; i < kCases; ++i) {
            Question question{&oracle, {}};
            for (const char* type : oracle.operands) question.operands.push_back(constant(type, random));
            questions.push_back(std::move(question));
        }
    std::map<Opcode, unsigned> answered;
    for (const auto& [number, answer] : folded(module_of(questions))) {
        const Question& question = questions[number];
        const unsigned width = width_of(question.oracle->result);
        const uint64_t want = width == 64 ? answer : answer & ((1ull << width) - 1), got = computed(question);
        ++answered[question.oracle->opcode];
        EXPECT_LE(std::max(got, want) - std::min(got, want), question.oracle->ulps)
            << info(question.oracle->opcode).name << " of " << question.operands[0].text << ": got " << got
            << ", folded to " << want;
    }
    for (const Oracle& oracle : kOracles) EXPECT_GT(answered[oracle.opcode], kCases / 2) << info(oracle.opcode).name;
}

}  // namespace valu_oracle_test
}  // namespace riftjit::rdna::emulator
