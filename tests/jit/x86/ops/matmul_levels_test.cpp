// Levels that this machine may lack: the instructions of each are looked at, and AVX-VNNI's one is emulated.
#include <Zydis/Zydis.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <ucontext.h>

#include <algorithm>
#include <set>
#include <string>

#include "tests/jit/x86/ops/weights_under_test.h"

namespace riftjit::x86 {
namespace matmul_levels_test {

// ---- which instructions a level's code has ----

std::vector<std::string> allowed_extensions(Isa isa) {
    std::vector<std::string> allowed;
    if (isa == Isa::avx_vnni) allowed = {"AVX_VNNI"};
    if (isa >= Isa::avx512) allowed = {"AVX512F_", "AVX512BW_", "AVX512DQ_"};
    if (isa >= Isa::avx512_vnni) allowed.push_back("AVX512_VNNI_");
    if (isa >= Isa::avx512_bf16) allowed.push_back("AVX512_BF16_");
    if (isa >= Isa::avx512_fp16) allowed.push_back("AVX512_FP16_");
    if (has_amx(isa)) allowed.insert(allowed.end(), {"AMX_TILE", "AMX_BF16"});
    if (isa >= Isa::amx_int8) allowed.push_back("AMX_INT8");
    return allowed;
}

// Zydis's names of the instruction sets beyond AVX2 that occur in the code.
std::set<std::string> extensions_beyond_avx2(const MachineCode& code) {
    const std::set<std::string> baseline = {"I86",        "I386", "I486REAL",     "I186",         "LONGMODE", "CMOV",
                                            "SSE",        "SSE2", "SSE_PREFETCH", "PREFETCH_NOP", "AVX",      "AVX2",
                                            "AVX2GATHER", "FMA",  "F16C",         "BMI2",         "BMI1"};
    std::set<std::string> found;
    ZydisDecoder decoder;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    for (size_t at = 0; at < code.instruction_bytes;) {
        ZydisDecodedInstruction instruction;
        const auto status = ZydisDecoderDecodeInstruction(&decoder, nullptr, code.bytes.data() + at,
                                                          code.instruction_bytes - at, &instruction);
        if (!ZYAN_SUCCESS(status)) throw std::runtime_error("code that Zydis cannot decode");
        const std::string set = ZydisISASetGetString(instruction.meta.isa_set);
        if (!baseline.contains(set)) found.insert(set);
        at += instruction.length;
    }
    return found;
}

void expect_only_allowed(const KernelSpec& spec, Isa isa) {
    const auto allowed = allowed_extensions(isa);
    for (const std::string& extension : extensions_beyond_avx2(RunnableKernel::machine_code(spec, isa))) {
        const bool is_allowed =
            std::ranges::any_of(allowed, [&](const auto& prefix) { return extension.starts_with(prefix); });
        EXPECT_TRUE(is_allowed) << kernel_name(spec) << " at " << name(isa) << " has " << extension;
    }
}

TEST(MatmulLevels, UseOnlyTheInstructionsOfTheirLevel) {
    for (const DTypeTraits& type : all_dtypes()) {
        if (!type.is_weight) continue;
        for (const Isa isa : all_isas()) {
            for (const MatmulForm form : {MatmulForm::vector, MatmulForm::tile})
                for (const Activations activations : {Activations::i13, Activations::i8})
                    if (activations == Activations::i13 || is_quantized(type.type))
                        expect_only_allowed(MatmulSpec{type.type, 40, 512, 48, form, Epilogue::accumulate,
                                                       Presence::present, KOrder::sequence, activations},
                                            isa);
            expect_only_allowed(EmbedSpec{type.type, 512}, isa);
        }
    }
}

TEST(MatmulLevels, UseTheDotProductThatTheLevelAdds) {
    const MatmulSpec spec{DType::Q8_0, 32, 256, 32, MatmulForm::tile, Epilogue::store, Presence::absent};
    const auto extensions = [&](Isa isa, DType type) {
        MatmulSpec typed = spec;
        typed.weight = type;
        return extensions_beyond_avx2(RunnableKernel::machine_code(typed, isa));
    };
    EXPECT_TRUE(extensions(Isa::avx2, DType::Q8_0).empty());
    EXPECT_TRUE(extensions(Isa::avx_vnni, DType::Q8_0).contains("AVX_VNNI"));
    EXPECT_TRUE(extensions(Isa::avx512_vnni, DType::Q8_0).contains("AVX512_VNNI_512"));
    EXPECT_TRUE(extensions(Isa::avx512_bf16, DType::BF16).contains("AVX512_BF16_512"));
    EXPECT_TRUE(extensions(Isa::avx512_fp16, DType::BF16).contains("AVX512_BF16_512"));
    EXPECT_TRUE(extensions(Isa::amx_int8, DType::Q4_K).contains("AMX_INT8"));
    EXPECT_TRUE(extensions(Isa::amx_int8, DType::Q8_0).contains("AMX_BF16"));
    EXPECT_TRUE(extensions(Isa::amx_bf16, DType::BF16).contains("AMX_BF16"));
}

// ---- VPDPWSSD and VPDPBUSD in their VEX form, emulated where the processor does not know them ----

struct Ymm {
    int32_t lanes[8];
};

// Registers as the kernel saved them for the handler: the low halves in the FXSAVE area, the high ones in the XSAVE
// component behind its 64-byte header (SDM volume 1, 13.4.1 and 13.4.2).
class SavedYmm {
public:
    explicit SavedYmm(ucontext_t* context) : area_(reinterpret_cast<std::byte*>(context->uc_mcontext.fpregs)) {}
    Ymm read(int index) const {
        Ymm value;
        std::memcpy(value.lanes, area_ + kLow + 16 * index, 16);
        std::memcpy(value.lanes + 4, area_ + kHigh + 16 * index, 16);
        return value;
    }
    void write(int index, const Ymm& value) {
        std::memcpy(area_ + kLow + 16 * index, value.lanes, 16);
        std::memcpy(area_ + kHigh + 16 * index, value.lanes + 4, 16);
    }

private:
    static constexpr int kLow = 160, kHigh = 576;
    std::byte* area_;
};

// SDM volume 2, VPDPWSSD: VEX.256.66.0F38.W0 52 /r, VPDPBUSD: 50 /r, three registers.
struct VexDotProduct {
    static constexpr int kBytes = 5;
    bool is_valid, takes_bytes;
    int sum, left, right;

    explicit VexDotProduct(const uint8_t* code)
        : is_valid(code[0] == 0xc4 && (code[1] & 0x1f) == 2 && (code[2] & 0x87) == 5 &&
                   (code[3] == 0x52 || code[3] == 0x50) && code[4] >= 0xc0),
          takes_bytes(code[3] == 0x50),
          sum((code[4] >> 3 & 7) | (~code[1] >> 7 & 1) << 3),
          left(~code[2] >> 3 & 15),
          right((code[4] & 7) | (~code[1] >> 5 & 1) << 3) {}
};

int32_t pair_product(int32_t left, int32_t right) {
    return int32_t(int16_t(left)) * int16_t(right) + int32_t(int16_t(left >> 16)) * int16_t(right >> 16);
}

int32_t quad_product(int32_t left, int32_t right) {
    int32_t sum = 0;
    for (int bit = 0; bit < 32; bit += 8) sum += int32_t(uint8_t(left >> bit)) * int8_t(right >> bit);
    return sum;
}

int emulated_instructions = 0;

void emulate_dot_product(int, siginfo_t*, void* raw_context) {
    auto* context = static_cast<ucontext_t*>(raw_context);
    auto& instruction_pointer = context->uc_mcontext.gregs[REG_RIP];
    const VexDotProduct instruction(reinterpret_cast<const uint8_t*>(instruction_pointer));
    if (!instruction.is_valid) {  // not ours: let it kill the program
        signal(SIGILL, SIG_DFL);
        return;
    }
    SavedYmm registers(context);
    Ymm sum = registers.read(instruction.sum);
    const Ymm left = registers.read(instruction.left), right = registers.read(instruction.right);
    for (int i = 0; i < 8; ++i)
        sum.lanes[i] += (instruction.takes_bytes ? quad_product : pair_product)(left.lanes[i], right.lanes[i]);
    registers.write(instruction.sum, sum);
    instruction_pointer += VexDotProduct::kBytes;
    ++emulated_instructions;
}

class EmulateAvxVnni {
public:
    EmulateAvxVnni() {
        struct sigaction action{};
        action.sa_sigaction = emulate_dot_product;
        action.sa_flags = SA_SIGINFO;
        sigaction(SIGILL, &action, &previous_);
    }
    ~EmulateAvxVnni() { sigaction(SIGILL, &previous_, nullptr); }

private:
    struct sigaction previous_{};
};

std::vector<float> multiply(const MatmulSpec& spec, Isa isa, const WeightsUnderTest& weights, const RowsUnderTest& x) {
    const BatchState batch{.rows = x.count};
    std::vector<float> out(size_t(spec.out_stride) * x.count);
    const MatmulArgs args{weights.packed.data(), nullptr, x.bytes.data(), out.data(), &batch};
    RunnableKernel(spec, isa)(&args, 0, unit_count(spec, x.count));
    return out;
}

TEST(MatmulLevels, GiveTheSameBitsWithAvxVnniAsWithAvx2) {
    const EmulateAvxVnni emulation;
    const bool has_avx_vnni = std::ranges::count(machine_isas(), Isa::avx_vnni) > 0;
    for (const DTypeTraits& type : all_dtypes()) {
        if (!type.is_weight || !is_quantized(type.type)) continue;
        constexpr uint32_t kRows = 16, kTokens = 4, kWidth = 256;
        const WeightsUnderTest weights(type.type, kRows, kWidth);
        for (const Activations activations : {Activations::i13, Activations::i8}) {
            const RowFormat format = activation_format(type.type, activations, Isa::avx2);
            const RowsUnderTest x(format, kTokens, kWidth, random_values(kTokens * kWidth, 9));
            const uint32_t elements = activations == Activations::i8 ? 4 : 2;  // an instruction, for eight rows
            for (const MatmulForm form : {MatmulForm::vector, MatmulForm::tile}) {
                const MatmulSpec spec{type.type,  kRows,           kWidth,           kRows,
                                      form,       Epilogue::store, Presence::absent, KOrder::sequence,
                                      activations};
                emulated_instructions = 0;
                EXPECT_EQ(multiply(spec, Isa::avx_vnni, weights, x), multiply(spec, Isa::avx2, weights, x))
                    << kernel_name(spec);
                EXPECT_EQ(emulated_instructions, has_avx_vnni ? 0 : kRows / 8 * kTokens * kWidth / elements)
                    << kernel_name(spec);
            }
        }
    }
}

}  // namespace matmul_levels_test
}  // namespace riftjit::x86
