#include "jit/rdna/emulator/lanes/lanes_x86.h"

#include <xbyak/xbyak_util.h>

#include <array>
#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "jit/code_memory.h"
#include "jit/rdna/emulator/lanes/lanes_operations.h"

namespace riftjit::rdna::emulator {
namespace {

// All functions of a level and stride, emitted together so that they share pages.
struct Shelf {
    CodeMemory memory;
    std::map<std::tuple<Opcode, uint8_t>, LaneKernelFunction> functions;
};

auto all_operations() {
    return std::array{integer_lane_operations(),       pair_lane_operations(),       dot_lane_operations(),
                      bit_lane_operations(),           compare_lane_operations(),    float_lane_operations(),
                      float_compare_lane_operations(), extreme_lane_operations(),    double_lane_operations(),
                      exponent_lane_operations(),      conversion_lane_operations(), transcendental_lane_operations(),
                      power_lane_operations(),         circular_lane_operations(),   half_lane_operations(),
                      float8_lane_operations(),        division_lane_operations(),   lighting_lane_operations()};
}

const LaneOperation* find_operation(Opcode opcode) {
    for (const auto operations : all_operations())
        for (const LaneOperation& operation : operations)
            if (operation.opcode == opcode) return &operation;
    return nullptr;
}

LaneIsa detect() {
    const Xbyak::util::Cpu cpu;
    using Xbyak::util::Cpu;
    const auto has = [&](Cpu::Type type) { return cpu.has(type); };
    if (has(Cpu::tAVX512F) && has(Cpu::tAVX512BW) && has(Cpu::tAVX512DQ) && has(Cpu::tAVX512VL)) return LaneIsa::avx512;
    return has(Cpu::tAVX2) && has(Cpu::tFMA) && has(Cpu::tF16C) ? LaneIsa::avx2 : LaneIsa::none;
}

std::vector<uint8_t> variants_of(const LaneOperation& operation) {
    switch (operation.opcode) {
        case Opcode::v_dot4_i32_iu8:
        case Opcode::v_dot8_i32_iu4:
            return {0, 1, 2, 3};
        case Opcode::v_fma_mix_f32:
        case Opcode::v_fma_mixlo_f16:
            return {0, 1, 2, 3, 4, 5, 6, 7};
        case Opcode::v_fma_mixhi_f16:
            return {8, 9, 10, 11, 12, 13, 14, 15};
        case Opcode::v_cvt_f32_fp8:
        case Opcode::v_cvt_f32_bf8:
        case Opcode::v_cvt_sr_fp8_f32:
        case Opcode::v_cvt_sr_bf8_f32:
            return {0, 1, 2, 3};
        case Opcode::v_cvt_pk_fp8_f32:
        case Opcode::v_cvt_pk_bf8_f32:
            return {0, 1};
        default:
            return operation.halves.is_merged() ? std::vector<uint8_t>{0, kHighHalfVariant} : std::vector<uint8_t>{0};
    }
}

void emit_all(LaneIsa isa, unsigned stride_words, Shelf& shelf) {
    std::vector<std::byte> buffer(LaneEmitter::kMaxCodeBytes);
    for (const auto operations : all_operations())
        for (const LaneOperation& operation : operations)
            for (const uint8_t variant : variants_of(operation)) {
                if (operation.least > isa) continue;
                const LaneEmitter emitter(buffer, isa, operation, variant, stride_words);
                const auto code = shelf.memory.add(std::as_bytes(std::span(emitter.getCode(), emitter.getSize())));
                if (!code) return;  // without memory for code the C++ functions serve
                shelf.functions[{operation.opcode, variant}] =
                    reinterpret_cast<LaneKernelFunction>(const_cast<std::byte*>(*code));
            }
    if (!shelf.memory.seal()) shelf.functions.clear();
}

const Shelf& shelf_of(LaneIsa isa, unsigned stride_words) {
    static std::mutex mutex;
    static std::map<std::tuple<LaneIsa, unsigned>, Shelf> shelves;
    const std::lock_guard lock(mutex);
    const auto [place, is_new] = shelves.try_emplace({isa, stride_words});
    if (is_new) emit_all(isa, stride_words, place->second);
    return place->second;
}

}  // namespace

LaneIsa host_lane_isa() {
    static const LaneIsa isa = detect();
    return isa;
}

std::optional<LaneKernel> lane_kernel(LaneIsa isa, Opcode opcode, uint8_t variant, unsigned stride_words) {
    const LaneOperation* operation = find_operation(opcode);
    if (isa == LaneIsa::none || operation == nullptr || operation->least > isa) return std::nullopt;
    const Shelf& shelf = shelf_of(isa, stride_words);
    const auto found = shelf.functions.find({opcode, variant});
    if (found == shelf.functions.end()) return std::nullopt;
    if (operation->prepare != nullptr) operation->prepare();
    return LaneKernel{found->second,     operation->result,    operation->sources,
                      operation->widths, operation->condition, operation->halves};
}

std::span<const Opcode> lane_kernel_opcodes() {
    static const std::vector<Opcode> opcodes = [] {
        std::vector<Opcode> all;
        for (const auto operations : all_operations())
            for (const LaneOperation& operation : operations) all.push_back(operation.opcode);
        return all;
    }();
    return opcodes;
}

unsigned variant_shift(Opcode opcode) {
    switch (opcode) {
        case Opcode::v_cvt_sr_fp8_f32:
        case Opcode::v_cvt_sr_bf8_f32:
            return 2;
        case Opcode::v_cvt_pk_fp8_f32:
        case Opcode::v_cvt_pk_bf8_f32:
            return 3;
        default:
            return 0;
    }
}

std::vector<uint8_t> lane_kernel_variants(Opcode opcode) {
    const LaneOperation* operation = find_operation(opcode);
    return operation != nullptr ? variants_of(*operation) : std::vector<uint8_t>{0};
}

}  // namespace riftjit::rdna::emulator
