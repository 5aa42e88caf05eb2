// Every spec of the table at every level, also those that this machine lacks: compiled and decoded, not run.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/jit/x86/decoders/decoding.h"
#include "tests/jit/x86/ops/kernel_runner.h"
#include "tests/kernel_cases.h"

namespace riftjit::x86 {
namespace emission_test {

// What the tests ask of one instruction.
struct Instruction {
    ZydisMnemonic mnemonic;
    ZydisISASet isa_set;
    bool is_evex, has_avx512_register;

    explicit Instruction(const DecodedInstruction& decoded)
        : mnemonic(decoded.instruction.mnemonic),
          isa_set(decoded.instruction.meta.isa_set),
          is_evex(decoded.instruction.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX),
          has_avx512_register(false) {
        for (size_t i = 0; i < decoded.instruction.operand_count; ++i) {
            if (decoded.operands[i].type != ZYDIS_OPERAND_TYPE_REGISTER) continue;
            const ZydisRegisterClass kind = ZydisRegisterGetClass(decoded.operands[i].reg.value);
            has_avx512_register |= kind == ZYDIS_REGCLASS_ZMM || kind == ZYDIS_REGCLASS_MASK;
        }
    }
    std::string text() const {
        return std::string(ZydisMnemonicGetString(mnemonic)) + " of " + ZydisISASetGetString(isa_set);
    }
};

struct Kernel {
    std::string name;
    std::vector<Instruction> instructions;
};

// All kernels of a level, compiled and decoded once for all tests.
const std::vector<Kernel>& kernels(Isa isa) {
    static std::map<Isa, std::vector<Kernel>> by_level;
    std::vector<Kernel>& kernels = by_level[isa];
    if (!kernels.empty()) return kernels;
    for (const KernelSpec& spec : kernel_cases::all()) {
        Kernel kernel{kernel_name(spec) + " at " + std::string(name(isa)), {}};
        each_instruction(RunnableKernel::machine_code(spec, isa),
                         [&](const DecodedInstruction& decoded) { kernel.instructions.emplace_back(decoded); });
        kernels.push_back(std::move(kernel));
    }
    return kernels;
}

// The instruction sets that a level may use, as Zydis names them; "*" ends a prefix.
std::set<std::string> allowed_sets(Isa isa) {
    // General instructions that every x86-64 processor has, and prefetches.
    std::set<std::string> sets = {"I86",      "I186", "I386", "I486",    "I486REAL",
                                  "LONGMODE", "CMOV", "PPRO", "FAT_NOP", "SSE_PREFETCH"};
    sets.insert({"AVX", "AVX2", "AVX2GATHER", "FMA", "F16C", "BMI2", "POPCNT"});
    if (isa == Isa::avx_vnni) sets.insert("AVX_VNNI");
    if (has_avx512(isa)) sets.insert({"AVX512F_*", "AVX512BW_*", "AVX512DQ_*"});
    if (isa >= Isa::avx512_vnni) sets.insert("AVX512_VNNI_*");
    if (isa >= Isa::avx512_bf16) sets.insert("AVX512_BF16_*");
    if (isa >= Isa::avx512_fp16) sets.insert("AVX512_FP16_*");
    if (isa >= Isa::amx_bf16) sets.insert({"AMX_TILE", "AMX_BF16"});
    if (isa >= Isa::amx_int8) sets.insert("AMX_INT8");
    return sets;
}

bool is_allowed(const std::set<std::string>& allowed, const std::string& set) {
    if (allowed.contains(set)) return true;
    for (const std::string& pattern : allowed)
        if (pattern.ends_with("*") && set.starts_with(pattern.substr(0, pattern.size() - 1))) return true;
    return false;
}

TEST(Emission, EverySpecUsesOnlyTheInstructionsOfItsLevel) {
    for (Isa isa : all_isas()) {
        const auto allowed = allowed_sets(isa);
        std::set<ZydisISASet> known;  // instructions are many, sets few
        for (const Kernel& kernel : kernels(isa))
            for (const Instruction& instruction : kernel.instructions) {
                if (!known.insert(instruction.isa_set).second) continue;
                ASSERT_TRUE(is_allowed(allowed, ZydisISASetGetString(instruction.isa_set)))
                    << kernel.name << ": " << instruction.text();
            }
    }
}

TEST(Emission, LevelsWithoutAvx512UseNeitherEvexNorItsRegisters) {
    for (Isa isa : {Isa::avx2, Isa::avx_vnni})
        for (const Kernel& kernel : kernels(isa))
            for (const Instruction& instruction : kernel.instructions)
                ASSERT_FALSE(instruction.is_evex || instruction.has_avx512_register)
                    << kernel.name << ": " << instruction.text();
}

// Upper halves of vector registers that stay dirty slow down the SSE code of the caller.
TEST(Emission, EveryKernelCleansTheUpperHalvesBeforeItReturns) {
    constexpr std::array kEpilogue = {ZYDIS_MNEMONIC_POP, ZYDIS_MNEMONIC_MOV, ZYDIS_MNEMONIC_ADD, ZYDIS_MNEMONIC_LEA};
    for (Isa isa : all_isas())
        for (const Kernel& kernel : kernels(isa)) {
            auto returning = std::ranges::find(kernel.instructions, ZYDIS_MNEMONIC_RET, &Instruction::mnemonic);
            ASSERT_NE(returning, kernel.instructions.end()) << kernel.name;
            do --returning;
            while (std::ranges::find(kEpilogue, returning->mnemonic) != kEpilogue.end());
            EXPECT_EQ(returning->mnemonic, ZYDIS_MNEMONIC_VZEROUPPER) << kernel.name;
        }
}

// What the levels add are dot products: all other kernels that the machine's levels prove are right at the others too.
TEST(Emission, OnlyMatricesDifferBetweenLevelsOfOneVectorWidth) {
    for (const KernelSpec& spec : kernel_cases::all()) {
        if (std::holds_alternative<MatmulSpec>(spec) || std::holds_alternative<EmbedSpec>(spec) ||
            std::holds_alternative<ExpertMatmulSpec>(spec))
            continue;
        const std::vector<std::byte> narrow = RunnableKernel::machine_code(spec, Isa::avx2).bytes,
                                     wide = RunnableKernel::machine_code(spec, Isa::avx512).bytes;
        for (Isa isa : all_isas()) {
            if (isa == Isa::avx2 || isa == Isa::avx512) continue;
            EXPECT_EQ(RunnableKernel::machine_code(spec, isa).bytes, has_avx512(isa) ? wide : narrow)
                << kernel_name(spec) << " at " << name(isa);
        }
    }
}

TEST(Emission, TheSameSpecGivesTheSameBytes) {
    for (Isa isa : all_isas())
        for (const KernelSpec& spec : kernel_cases::all()) EXPECT_EQ(compile(spec, isa)->elf, compile(spec, isa)->elf);
}

}  // namespace emission_test
}  // namespace riftjit::x86
