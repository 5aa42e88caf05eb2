// Every memory row of the instruction table, on every generation that has it: what it loads, stores or leaves in
// memory, against expectations written down here by name. A row without one fails the test.
#include <fmt/format.h>

#include <bit>
#include <optional>
#include <set>

#include "tests/jit/rdna/emulator/memory/memory_fixture.h"
#include "tests/jit/rdna/emulator/valu/refused_rows.h"

namespace riftjit::rdna::emulator {
namespace memory_rows_test {

constexpr Target kTargets[] = {Target::gfx1030, Target::gfx1100, Target::gfx1201};

// Executed, with tests of their own in lds_test.cpp, smem_test.cpp and races_test.cpp.
const std::set<std::string_view> kTestedElsewhere = {
    "ds_nop",
    "ds_swizzle_b32",
    "ds_permute_b32",
    "ds_bpermute_b32",
    "ds_append",
    "ds_consume",
    "s_memtime",
    "s_memrealtime",
    "buffer_gl0_inv",
    "buffer_gl1_inv",
    "s_gl1_inv",
    "s_dcache_inv",
    "global_inv",
    "global_wb",
    "global_wbinv",
    "s_prefetch_inst",
    "s_prefetch_inst_pc_rel",
    "s_prefetch_data",
    "s_prefetch_data_pc_rel",
    "s_buffer_prefetch_data",
};

bool is_memory(const InstructionInfo& row) {
    switch (row.format) {
        case Format::SMEM:
        case Format::DS:
        case Format::FLAT:
        case Format::GLOBAL:
        case Format::SCRATCH:
        case Format::MUBUF:
            return true;
        default:
            return false;
    }
}

// Registers that every instruction of these tests uses.
constexpr unsigned kAddress = 2, kData = 8, kSecondData = 16, kResult = 24, kBase = 4, kScalarResult = 32;
constexpr uint64_t kStride = 64;  // bytes between the lanes' addresses
constexpr unsigned kOffset = 16;  // of the instruction, where there is one
constexpr unsigned kIdleLane = 3;

Instruction instruction_for(const InstructionInfo& row, Target target) {
    const Generation family = generation(target);
    Instruction instruction;
    instruction.opcode = row.opcode;
    unsigned data = kData;
    for (unsigned i = 0; i < row.destinations; ++i)
        instruction.operands[i] = row.format == Format::SMEM ? sgpr(kScalarResult) : vgpr(kResult);
    for (unsigned i = row.destinations; i < unsigned{row.destinations} + row.sources; ++i) {
        const OperandType type = row.operands[i].type;
        if (type == OperandType::addr || type == OperandType::base || type == OperandType::rsrc) continue;
        instruction.operands[i] = vgpr(data);
        data = kSecondData;
    }
    Address& address = instruction.address;
    address.vaddr = vgpr(kAddress);
    address.saddr = null_register(family);
    address.offset = kOffset;
    address.vaddr_enable = true;
    switch (row.format) {
        case Format::GLOBAL:
            address.saddr = sgpr(kBase);
            break;
        case Format::SMEM:
            address.saddr = sgpr(kBase);
            address.vaddr = {};
            address.soffset = null_register(family);
            break;
        case Format::MUBUF:
            address.resource = sgpr(kBase);
            address.soffset = family == Generation::gfx12 ? null_register(family) : Operand{128};
            address.offset_enable = true;
            break;
        default:
            break;
    }
    if (row.memory == MemoryKind::atomic && row.destinations != 0) {  // so that it returns
        address.cache.glc = family != Generation::gfx12;
        address.cache.temporal_hint = family == Generation::gfx12 ? 1 : 0;
    }
    return instruction;
}

// A memory that the instruction's address registers are set up for: lane l's bytes begin at l * kStride, and the
// instruction's own offset is extra.
class Memory {
public:
    Memory(Bench& bench, const InstructionInfo& row) : bench_(bench), row_(row) {
        MemoryTestWave& wave = bench.wave();
        constexpr uint64_t kSize = 64 * kStride + 2048;
        switch (row.format) {
            case Format::DS:
                wave.ramp(kAddress, 0, kStride);
                break;
            case Format::SCRATCH:
                wave.fill(kAddress, 0);
                break;
            case Format::FLAT:
                buffer_ = bench.buffer("memory", kSize);
                for (unsigned lane = 0; lane < wave.state.lanes; ++lane)
                    wave.set_vgpr_pair(kAddress, lane, buffer_ + lane * kStride);
                break;
            case Format::MUBUF:
                buffer_ = bench.buffer("memory", kSize);
                wave.ramp(kAddress, 0, kStride);
                wave.set_pair(kBase, buffer_);
                wave.state.scalars[kBase + 2] = kSize;
                wave.state.scalars[kBase + 3] = 3u << 28;  // bounds in bytes
                break;
            default:
                buffer_ = bench.buffer("memory", kSize);
                wave.ramp(kAddress, 0, kStride);
                wave.set_pair(kBase, buffer_);
        }
    }

    void put(unsigned lane, unsigned offset, std::span<const std::byte> bytes) {
        if (buffer_ != 0) {
            EXPECT_TRUE(bench_.memory.write(buffer_ + lane * kStride + offset, bytes));
            return;
        }
        for (size_t i = 0; i < bytes.size(); ++i) {  // LDS and scratch have no host access
            one_lane(lane, offset + static_cast<unsigned>(i), static_cast<uint32_t>(bytes[i]));
            bench_.run(bench_.wave(), byte_access(Direction::store), "put");
            bench_.wait(bench_.wave());
        }
        restore();
    }
    std::vector<std::byte> get(unsigned lane, unsigned offset, unsigned count) {
        bench_.wait(bench_.wave());
        if (buffer_ != 0) {
            const auto bytes = bench_.memory.read(buffer_ + lane * kStride + offset, count);
            return bytes ? *bytes : std::vector<std::byte>{};
        }
        std::vector<std::byte> bytes(count);
        for (unsigned i = 0; i < count; ++i) {
            one_lane(lane, offset + i, 0);
            bench_.run(bench_.wave(), byte_access(Direction::load), "get");
            bytes[i] = static_cast<std::byte>(bench_.wave().vgpr(kScratchResult, lane));
        }
        restore();
        return bytes;
    }

private:
    static constexpr unsigned kScratchAddress = 60, kScratchData = 61, kScratchResult = 62;
    enum class Direction { load, store };

    Instruction byte_access(Direction direction) const {
        const bool lds = row_.format == Format::DS, store = direction == Direction::store;
        const Opcode opcode = lds ? (store ? Opcode::ds_store_b8 : Opcode::ds_load_u8)
                                  : (store ? Opcode::scratch_store_b8 : Opcode::scratch_load_u8);
        Instruction instruction = instruction_for(info(opcode), bench_.wave().state.target);
        instruction.address.vaddr = vgpr(kScratchAddress);
        instruction.address.offset = 0;
        instruction.operands[store ? 1 : 0] = vgpr(store ? kScratchData : kScratchResult);
        return instruction;
    }
    void one_lane(unsigned lane, unsigned offset, uint32_t value) {
        MemoryTestWave& wave = bench_.wave();
        saved_exec_ = saved_exec_.value_or(wave.state.exec());
        wave.state.set_mask(Operand::kExec, uint64_t{1} << lane);
        wave.vgpr(kScratchAddress, lane) =
            static_cast<uint32_t>(row_.format == Format::DS ? lane * kStride + offset : offset);
        wave.vgpr(kScratchData, lane) = value;
    }
    void restore() {
        bench_.wave().state.set_mask(Operand::kExec, *saved_exec_);
        saved_exec_.reset();
    }

    Bench& bench_;
    const InstructionInfo& row_;
    uint64_t buffer_ = 0;
    std::optional<uint64_t> saved_exec_;
};

Setup setup_for(Target target, WaveSize wave_size = WaveSize::wave32, const Checks& checks = {}) {
    return {.target = target, .wave_size = wave_size, .checks = checks, .lds_bytes = 65536, .scratch_bytes = 4096};
}

const Checks kCheckSets[] = {Checks{}, Checks::none()};  // without checks, other functions run

template <class Test>
void for_each_row(const Test& test) {
    for (const Target target : kTargets)
        for (const InstructionInfo& row : all_instructions())
            if (is_memory(row) && has(target, row.opcode)) {
                SCOPED_TRACE(fmt::format("{} on {}", row.name, name(target)));
                test(row, target);
            }
}

// ---- Loads and stores

enum class Half { none, low, high };
struct Expected {
    unsigned bytes;
    bool is_signed = false;
    Half half = Half::none;
    unsigned elements = 1, unit = 0;  // of DS offsets, bytes
};

// By the words of the name, so independent of how the machine groups them.
std::optional<Expected> expected_of(std::string_view name) {
    Expected expected{};
    const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
    if (has("_u8") || has("_b8"))
        expected = {1};
    else if (has("_i8"))
        expected = {1, true};
    else if (has("_u16") || has("_b16"))
        expected = {2};
    else if (has("_i16"))
        expected = {2, true};
    else if (has("_b32"))
        expected = {4};
    else if (has("_b64"))
        expected = {8};
    else if (has("_b96"))
        expected = {12};
    else if (has("_b128"))
        expected = {16};
    else if (has("_b256"))
        expected = {32};
    else if (has("_b512"))
        expected = {64};
    else
        return std::nullopt;
    if (has("d16")) expected.half = has("_hi") ? Half::high : Half::low;
    if (has("2addr")) expected.elements = 2, expected.unit = expected.bytes * (has("stride64") ? 64 : 1);
    return expected;
}

std::byte pattern(unsigned lane, unsigned at) { return static_cast<std::byte>(0x83 + 37 * lane + 11 * at); }

std::vector<std::byte> pattern_bytes(unsigned lane, unsigned offset, unsigned count) {
    std::vector<std::byte> bytes;
    for (unsigned i = 0; i < count; ++i) bytes.push_back(pattern(lane, offset + i));
    return bytes;
}

uint32_t dword_of(std::span<const std::byte> bytes, unsigned at, unsigned count) {
    uint32_t value = 0;
    for (unsigned i = 0; i < count; ++i) value |= static_cast<uint32_t>(bytes[at + i]) << 8 * i;
    return value;
}

void expect_loaded(const MemoryTestWave& wave, unsigned lane, unsigned first, const Expected& expected,
                   std::span<const std::byte> bytes) {
    const auto reg = [&](unsigned d) { return wave.registers[(kResult + first + d) * wave.state.lanes + lane]; };
    if (expected.bytes >= 4) {
        for (unsigned d = 0; d < expected.bytes / 4; ++d) EXPECT_EQ(reg(d), dword_of(bytes, 4 * d, 4));
        return;
    }
    uint32_t value = dword_of(bytes, 0, expected.bytes);
    if (expected.is_signed && (value >> (8 * expected.bytes - 1) & 1)) value |= ~0u << 8 * expected.bytes;
    constexpr uint32_t kOld = 0x5A5AA5A5;
    if (expected.half == Half::low) value = (value & 0xFFFF) | (kOld & 0xFFFF0000);
    if (expected.half == Half::high) value = value << 16 | (kOld & 0xFFFF);
    EXPECT_EQ(reg(0), value);
}

bool is_vector_load(const InstructionInfo& row) {
    return row.format != Format::SMEM && row.name.find("_load_") != std::string_view::npos &&
           row.name.find("addtid") == std::string_view::npos && !kRefusedMemoryRows.contains(row.name);
}
bool is_vector_store(const InstructionInfo& row) {
    return row.format != Format::SMEM && row.name.find("_store_") != std::string_view::npos &&
           row.name.find("addtid") == std::string_view::npos && !kRefusedMemoryRows.contains(row.name);
}

void test_load(const InstructionInfo& row, Target target, WaveSize wave_size, const Checks& checks) {
    const auto expected = expected_of(row.name);
    ASSERT_TRUE(expected);
    Bench bench(setup_for(target, wave_size, checks));
    MemoryTestWave& wave = bench.wave();
    Memory memory(bench, row);
    Instruction instruction = instruction_for(row, target);
    unsigned offsets[2] = {kOffset, 0};
    if (expected->elements == 2) {
        instruction.address.offset = 1;
        instruction.address.offset1 = 3;
        offsets[0] = expected->unit, offsets[1] = 3 * expected->unit;
    }
    const bool far = expected->unit > 16;  // then neighbouring lanes' elements would overlap: one lane is enough
    const unsigned lanes = far ? 1 : wave.state.lanes;
    for (unsigned lane = 0; lane < lanes; ++lane)
        for (unsigned e = 0; e < expected->elements; ++e)
            memory.put(lane, offsets[e], pattern_bytes(lane, offsets[e], expected->bytes));
    for (unsigned d = 0; d < 8; ++d) wave.fill(kResult + d, 0x5A5AA5A5);
    uint64_t exec = wave.state.all_lanes() & ~(uint64_t{1} << kIdleLane);
    if (far) exec = 1;
    wave.state.set_mask(Operand::kExec, exec);
    bench.run(wave, instruction, "tested");
    for (unsigned lane = 0; lane < lanes; ++lane) {
        if (lane == kIdleLane) {
            EXPECT_EQ(wave.vgpr(kResult, lane), 0x5A5AA5A5u);
            continue;
        }
        for (unsigned e = 0; e < expected->elements; ++e)
            expect_loaded(wave, lane, e * expected->bytes / 4, *expected,
                          pattern_bytes(lane, offsets[e], expected->bytes));
    }
    EXPECT_EQ(bench.found(), "");
}

TEST(MemoryRows, VectorLoadsGiveWhatMemoryHolds) {
    for_each_row([](const InstructionInfo& row, Target target) {
        if (!is_vector_load(row)) return;
        for (const Checks& checks : kCheckSets) test_load(row, target, WaveSize::wave32, checks);
    });
}

TEST(MemoryRows, Wave64LoadsReachTheUpperLanes) {
    for (const Opcode opcode : {Opcode::ds_load_b32, Opcode::flat_load_i8, Opcode::global_load_b128,
                                Opcode::scratch_load_d16_hi_b16, Opcode::buffer_load_b64})
        for (const Target target : kTargets) {
            SCOPED_TRACE(fmt::format("{} on {}", info(opcode).name, name(target)));
            for (const Checks& checks : kCheckSets) test_load(info(opcode), target, WaveSize::wave64, checks);
        }
}

void test_store(const InstructionInfo& row, Target target, const Checks& checks) {
    const auto expected = expected_of(row.name);
    ASSERT_TRUE(expected);
    Bench bench(setup_for(target, WaveSize::wave32, checks));
    MemoryTestWave& wave = bench.wave();
    Memory memory(bench, row);
    Instruction instruction = instruction_for(row, target);
    unsigned offsets[2] = {kOffset, 0};
    if (expected->elements == 2) {
        instruction.address.offset = 1;
        instruction.address.offset1 = 3;
        offsets[0] = expected->unit, offsets[1] = 3 * expected->unit;
    }
    const bool far = expected->unit > 16;
    const unsigned lanes = far ? 1 : 5;  // enough to see that each goes its own way
    const std::vector<std::byte> before(expected->bytes + 2, std::byte{0xEE});
    for (unsigned lane = 0; lane < lanes; ++lane)
        for (unsigned e = 0; e < expected->elements; ++e) memory.put(lane, offsets[e] - 1, before);
    for (unsigned lane = 0; lane < 32; ++lane)
        for (unsigned d = 0; d < 4; ++d) {
            wave.vgpr(kData + d, lane) = dword_of(pattern_bytes(lane, 4 * d, 4), 0, 4);
            wave.vgpr(kSecondData + d, lane) = dword_of(pattern_bytes(lane, 100 + 4 * d, 4), 0, 4);
        }
    wave.state.set_mask(Operand::kExec, ((1u << lanes) - 1) & ~(1u << kIdleLane));
    bench.run(wave, instruction, "tested");
    for (unsigned lane = 0; lane < lanes; ++lane)
        for (unsigned e = 0; e < expected->elements; ++e) {
            std::vector<std::byte> want = before;
            const unsigned from = (e == 0 ? 0 : 100) + (expected->half == Half::high ? 2 : 0);
            for (unsigned i = 0; lane != kIdleLane && i < expected->bytes; ++i) want[i + 1] = pattern(lane, from + i);
            EXPECT_EQ(memory.get(lane, offsets[e] - 1, expected->bytes + 2), want) << "lane " << lane;
        }
    EXPECT_EQ(bench.found(), "");
}

TEST(MemoryRows, VectorStoresChangeTheirBytesOnly) {
    for_each_row([](const InstructionInfo& row, Target target) {
        if (!is_vector_store(row)) return;
        for (const Checks& checks : kCheckSets) test_store(row, target, checks);
    });
}

// ---- Atomics

struct AtomicCase {
    std::string_view name;  // without prefix and _rtn
    unsigned bytes;
    uint64_t memory, first, second, after;
};

constexpr uint64_t kMinusTwo = ~uint64_t{1};
uint64_t bits(float value) { return std::bit_cast<uint32_t>(value); }
uint64_t bits(double value) { return std::bit_cast<uint64_t>(value); }

const AtomicCase kAtomics[] = {
    {"add_u32", 4, 0xFFFFFFFF, 3, 0, 2},
    {"sub_u32", 4, 3, 5, 0, 0xFFFFFFFE},
    {"rsub_u32", 4, 3, 5, 0, 2},
    {"sub_clamp_u32", 4, 3, 5, 0, 0},
    {"cond_sub_u32", 4, 3, 5, 0, 3},
    {"inc_u32", 4, 5, 5, 0, 0},
    {"dec_u32", 4, 0, 7, 0, 7},
    {"min_i32", 4, 5, 0xFFFFFFFE, 0, 0xFFFFFFFE},
    {"max_i32", 4, 5, 0xFFFFFFFE, 0, 5},
    {"min_u32", 4, 5, 0xFFFFFFFE, 0, 5},
    {"max_u32", 4, 5, 0xFFFFFFFE, 0, 0xFFFFFFFE},
    {"and_b32", 4, 0xF0F0, 0xFF00, 0, 0xF000},
    {"or_b32", 4, 0xF0F0, 0xFF00, 0, 0xFFF0},
    {"xor_b32", 4, 0xF0F0, 0xFF00, 0, 0x0FF0},
    {"mskor_b32", 4, 0xABCD, 0x00FF, 0x0034, 0xAB34},
    {"swap_b32", 4, 1, 2, 0, 2},
    {"storexchg_b32", 4, 1, 2, 0, 2},
    {"cmpswap_b32", 4, 7, 9, 7, 9},   // new value first
    {"cmpstore_b32", 4, 7, 9, 7, 9},  // the same
    {"cmpst_b32", 4, 7, 7, 9, 9},     // compare value first
    {"wrap_b32", 4, 4, 5, 100, 104},
    {"add_f32", 4, bits(1.5f), bits(2.25f), 0, bits(3.75f)},
    {"min_num_f32", 4, bits(1.5f), bits(-2.0f), 0, bits(-2.0f)},
    {"max_num_f32", 4, bits(1.5f), bits(-2.0f), 0, bits(1.5f)},
    {"cmpswap_f32", 4, bits(0.0f), bits(9.0f), bits(-0.0f), bits(9.0f)},
    {"cmpstore_f32", 4, bits(0.0f), bits(9.0f), bits(-0.0f), bits(9.0f)},
    {"cmpst_f32", 4, bits(0.0f), bits(-0.0f), bits(9.0f), bits(9.0f)},
    {"pk_add_f16", 4, 0x3C003C00, 0x40003C00, 0, 0x42004000},
    {"pk_add_bf16", 4, 0x3F803F80, 0x40003F80, 0, 0x40404000},
    {"add_u64", 8, 0xFFFFFFFF, 3, 0, 0x100000002},
    {"sub_u64", 8, 3, 5, 0, kMinusTwo},
    {"rsub_u64", 8, 3, 5, 0, 2},
    {"inc_u64", 8, 0xFFFFFFFF, 0x100000000, 0, 0x100000000},
    {"dec_u64", 8, 0x100000000, 0x100000005, 0, 0xFFFFFFFF},
    {"min_i64", 8, 5, kMinusTwo, 0, kMinusTwo},
    {"max_i64", 8, 5, kMinusTwo, 0, 5},
    {"min_u64", 8, 5, kMinusTwo, 0, 5},
    {"max_u64", 8, 5, kMinusTwo, 0, kMinusTwo},
    {"and_b64", 8, 0xF0F0000000000F0F, 0xFF000000000000FF, 0, 0xF00000000000000F},
    {"or_b64", 8, 0xF000000000000000, 1, 0, 0xF000000000000001},
    {"xor_b64", 8, 0xF000000000000001, 1, 0, 0xF000000000000000},
    {"mskor_b64", 8, 0xAB00000000000000, 0xFF00000000000000, 0x1200000000000001, 0x1200000000000001},
    {"swap_b64", 8, 1, 0x200000003, 0, 0x200000003},
    {"storexchg_b64", 8, 1, 0x200000003, 0, 0x200000003},
    {"cmpswap_b64", 8, 0x700000000, 9, 0x700000000, 9},
    {"cmpstore_b64", 8, 0x700000000, 9, 0x700000000, 9},
    {"cmpst_b64", 8, 0x700000000, 0x700000000, 9, 9},
    {"cmpstore_f64", 8, bits(0.0), bits(9.0), bits(-0.0), bits(9.0)},
    {"cmpst_f64", 8, bits(0.0), bits(-0.0), bits(9.0), bits(9.0)},
    {"fcmpswap_x2", 8, bits(0.0), bits(9.0), bits(-0.0), bits(9.0)},
    {"min_num_f64", 8, bits(1.5), bits(-2.0), 0, bits(-2.0)},
    {"max_num_f64", 8, bits(1.5), bits(-2.0), 0, bits(1.5)},
    {"fmin_x2", 8, bits(1.5), bits(-2.0), 0, bits(-2.0)},
    {"fmax_x2", 8, bits(1.5), bits(-2.0), 0, bits(1.5)},
    {"condxchg32_b64", 8, 0x1111111122222222, 0x8000000300000004, 0, 0x0000000322222222},
};

bool is_atomic_row(const InstructionInfo& row) {
    if (row.memory != MemoryKind::atomic || kRefusedMemoryRows.contains(row.name) ||
        kTestedElsewhere.contains(row.name))
        return false;
    return row.name.find("2addr") == std::string_view::npos;
}

const AtomicCase* atomic_case(std::string_view name) {
    std::string plain(name.substr(name.find('_') + 1));
    if (plain.starts_with("atomic_")) plain.erase(0, 7);
    if (const size_t at = plain.find("_rtn"); at != std::string::npos) plain.erase(at, 4);
    for (const AtomicCase& each : kAtomics)
        if (each.name == plain) return &each;
    return nullptr;
}

std::vector<std::byte> value_bytes(uint64_t value, unsigned bytes) {
    std::vector<std::byte> result(bytes);
    std::memcpy(result.data(), &value, bytes);
    return result;
}

void set_value(MemoryTestWave& wave, unsigned vgpr, uint64_t value, unsigned bytes) {
    wave.fill(vgpr, static_cast<uint32_t>(value));
    if (bytes == 8) wave.fill(vgpr + 1, static_cast<uint32_t>(value >> 32));
}

enum class Returning { no, yes };

void test_atomic(const InstructionInfo& row, Target target, Returning returning, const Checks& checks) {
    const AtomicCase* expected = atomic_case(row.name);
    ASSERT_NE(expected, nullptr);
    Bench bench(setup_for(target, WaveSize::wave32, checks));
    MemoryTestWave& wave = bench.wave();
    Memory memory(bench, row);
    Instruction instruction = instruction_for(row, target);
    if (returning == Returning::no && row.format != Format::DS) instruction.address.cache = {};
    const unsigned bytes = expected->bytes;
    const bool adjacent = row.format != Format::DS;
    set_value(wave, kData, expected->first, bytes);
    set_value(wave, adjacent ? kData + bytes / 4 : kSecondData, expected->second, bytes);
    wave.fill(kResult, 0x5A5AA5A5);
    for (const unsigned lane : {0u, 1u, 2u, kIdleLane}) memory.put(lane, kOffset, value_bytes(expected->memory, bytes));
    wave.state.set_mask(Operand::kExec, 7);
    bench.run(wave, instruction, "tested");
    const uint64_t result = wave.vgpr(kResult, 1) | (bytes == 8 ? uint64_t{wave.vgpr(kResult + 1, 1)} << 32 : 0);
    const bool returns = row.destinations != 0 && (returning == Returning::yes || row.format == Format::DS);
    if (returns)
        EXPECT_EQ(result, expected->memory);
    else
        EXPECT_EQ(wave.vgpr(kResult, 1), 0x5A5AA5A5u);
    EXPECT_EQ(wave.vgpr(kResult, kIdleLane), 0x5A5AA5A5u);
    for (const unsigned lane : {0u, 1u, 2u})
        EXPECT_EQ(memory.get(lane, kOffset, bytes), value_bytes(expected->after, bytes));
    EXPECT_EQ(memory.get(kIdleLane, kOffset, bytes), value_bytes(expected->memory, bytes));
    EXPECT_EQ(bench.found(), "");
}

TEST(MemoryRows, AtomicsUpdateMemoryAndReturnWhatWasThere) {
    for_each_row([](const InstructionInfo& row, Target target) {
        if (row.format == Format::SCRATCH || !is_atomic_row(row)) return;
        for (const Checks& checks : kCheckSets) {
            test_atomic(row, target, Returning::yes, checks);
            if (row.format != Format::DS) test_atomic(row, target, Returning::no, checks);
        }
    });
}

TEST(MemoryRows, ExchangesWithTwoAddressesSwapBoth) {
    for_each_row([](const InstructionInfo& row, Target target) {
        if (row.memory != MemoryKind::atomic || row.name.find("2addr") == std::string_view::npos) return;
        const unsigned bytes = row.name.find("b64") != std::string_view::npos ? 8 : 4;
        const unsigned unit = bytes * (row.name.find("stride64") != std::string_view::npos ? 64 : 1);
        Bench bench(setup_for(target));
        MemoryTestWave& wave = bench.wave();
        Memory memory(bench, row);
        Instruction instruction = instruction_for(row, target);
        instruction.address.offset = 2;
        instruction.address.offset1 = 1;
        memory.put(0, 2 * unit, value_bytes(0x1111111122222222, bytes));
        memory.put(0, unit, value_bytes(0x3333333344444444, bytes));
        set_value(wave, kData, 0x5555555566666666, bytes);
        set_value(wave, kSecondData, 0x7777777788888888, bytes);
        wave.state.set_mask(Operand::kExec, 1);
        bench.run(wave, instruction, "tested");
        EXPECT_EQ(memory.get(0, 2 * unit, bytes), value_bytes(0x5555555566666666, bytes));
        EXPECT_EQ(memory.get(0, unit, bytes), value_bytes(0x7777777788888888, bytes));
        EXPECT_EQ(wave.vgpr(kResult, 0), 0x22222222u);
        EXPECT_EQ(wave.vgpr(kResult + bytes / 4, 0), 0x44444444u);
        EXPECT_EQ(bench.found(), "");
    });
}

// ---- By lane number instead of an address register

TEST(MemoryRows, AddtidAddressesByLaneNumber) {
    for_each_row([](const InstructionInfo& row, Target target) {
        if (row.name.find("addtid") == std::string_view::npos) return;
        const bool store = row.name.find("store") != std::string_view::npos, lds = row.format == Format::DS;
        Bench bench(setup_for(target));
        MemoryTestWave& wave = bench.wave();
        Instruction instruction = instruction_for(row, target);
        instruction.address.vaddr = {};
        const uint64_t buffer = bench.buffer("memory", 256);
        wave.set_pair(kBase, buffer);
        wave.state.scalars[m0_register(wave.state.generation).code] = 32;
        const uint32_t start = lds ? 32 + kOffset : kOffset;
        wave.ramp(kData, 1000, 7);
        wave.ramp(50, 0, 4);
        if (lds && !store) {
            Instruction fill = instruction_for(info(Opcode::ds_store_b32), target);
            fill.address.vaddr = vgpr(50);
            fill.address.offset = static_cast<int32_t>(start);
            bench.run(wave, fill, "fill");
        }
        if (!lds && !store)
            for (uint32_t lane = 0; lane < 32; ++lane) {
                const uint32_t value = 1000 + 7 * lane;
                EXPECT_TRUE(bench.memory.write(buffer + start + 4 * lane, std::as_bytes(std::span(&value, 1))));
            }
        bench.run(wave, instruction, "tested");
        bench.wait(wave);
        if (lds && store) {
            Instruction read = instruction_for(info(Opcode::ds_load_b32), target);
            read.address.vaddr = vgpr(50);
            read.address.offset = static_cast<int32_t>(start);
            bench.run(wave, read, "read");
        }
        for (uint32_t lane = 0; lane < 32; ++lane)
            EXPECT_EQ(!lds && store ? bench.peek<uint32_t>(buffer + start + 4 * lane) : wave.vgpr(kResult, lane),
                      1000 + 7 * lane);
        EXPECT_EQ(bench.found(), "");
    });
}

// ---- Scalar loads

TEST(MemoryRows, ScalarLoadsGiveWhatMemoryHolds) {
    for_each_row([](const InstructionInfo& row, Target target) {
        if (row.format != Format::SMEM || row.name.find("load") == std::string_view::npos) return;
        const auto expected = expected_of(row.name);
        ASSERT_TRUE(expected);
        Bench bench(setup_for(target));
        MemoryTestWave& wave = bench.wave();
        const std::vector<std::byte> bytes = pattern_bytes(1, 0, 256);
        const uint64_t buffer = bench.buffer_of("memory", bytes);
        wave.set_pair(kBase, buffer);
        wave.state.scalars[kBase + 2] = 256;  // records, where it is a buffer
        wave.state.scalars[20] = 32;
        Instruction instruction = instruction_for(row, target);
        instruction.address.soffset = sgpr(20);
        bench.run(wave, instruction, "tested");
        uint32_t first = dword_of(bytes, 32 + kOffset, std::min(4u, expected->bytes));
        if (expected->is_signed && (first >> (8 * expected->bytes - 1) & 1)) first |= ~0u << 8 * expected->bytes;
        EXPECT_EQ(wave.state.scalars[kScalarResult], first);
        for (unsigned d = 1; d < expected->bytes / 4; ++d)
            EXPECT_EQ(wave.state.scalars[kScalarResult + d], dword_of(bytes, 32 + kOffset + 4 * d, 4));
        EXPECT_EQ(bench.found(), "");
    });
}

// ---- The table as a whole

TEST(MemoryRows, AreAllExecutedOrRefusedByName) {
    std::set<std::string_view> refused;
    for_each_row([&](const InstructionInfo& row, Target target) {
        MemoryUnit unit(target, WaveSize::wave32);
        const auto call = unit.prepare(instruction_for(row, target));
        if (kRefusedMemoryRows.contains(row.name)) {
            refused.insert(row.name);
            ASSERT_FALSE(call);
            EXPECT_EQ(call.error().kind, ErrorKind::Unsupported);
            EXPECT_NE(call.error().message.find(mnemonic(row.opcode, generation(target))), std::string::npos)
                << call.error().message;
            return;
        }
        EXPECT_TRUE(call) << call.error().message;
        const bool tested = kTestedElsewhere.contains(row.name) || is_vector_load(row) || is_vector_store(row) ||
                            is_atomic_row(row) || row.name.find("2addr") != std::string_view::npos ||
                            row.name.find("addtid") != std::string_view::npos ||
                            (row.format == Format::SMEM && row.name.find("load") != std::string_view::npos);
        EXPECT_TRUE(tested) << "no test covers it";
    });
    EXPECT_EQ(refused, kRefusedMemoryRows);
}

TEST(MemoryRows, RefuseGlobalDataShare) {
    MemoryUnit unit(Target::gfx1100, WaveSize::wave32);
    Instruction instruction = instruction_for(info(Opcode::ds_load_b32), Target::gfx1100);
    instruction.address.gds = true;
    const auto call = unit.prepare(instruction);
    ASSERT_FALSE(call);
    EXPECT_EQ(call.error().message, "ds_load_b32 gds: there is no global data share");
}

}  // namespace memory_rows_test
}  // namespace riftjit::rdna::emulator
