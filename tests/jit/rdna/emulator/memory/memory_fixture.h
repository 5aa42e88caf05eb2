// Waves and memory without a machine around them: a test gives instructions one by one, says when waits have proved
// them complete, and so decides the interleaving itself.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "jit/rdna/emulator/machine/group.h"
#include "jit/rdna/emulator/machine/program.h"
#include "jit/rdna/text/text.h"

namespace riftjit::rdna::emulator {

struct Setup {
    Target target = Target::gfx1100;
    WaveSize wave_size = WaveSize::wave32;
    Checks checks;
    uint64_t seed = 1;
    uint32_t groups = 1, waves_per_group = 1, lds_bytes = 1024, scratch_bytes = 64;
    CacheModel caches = CacheModel::stale;
    AlignmentMode alignment = AlignmentMode::any;
    WorkgroupMode workgroup_mode = WorkgroupMode::wgp;
    bool counts_lines = false;
};

// One wave, its registers zero and defined unless a test says otherwise.
class MemoryTestWave {
public:
    WaveState state{};
    std::vector<uint32_t> registers, undefined;
    std::deque<uint32_t> outstanding;  // tokens

    uint32_t& vgpr(unsigned index, unsigned lane) { return registers[index * state.lanes + lane]; }
    void fill(unsigned index, uint32_t value) {
        for (unsigned lane = 0; lane < state.lanes; ++lane) vgpr(index, lane) = value;
    }
    // value + lane * step
    void ramp(unsigned index, uint32_t value, uint32_t step) {
        for (unsigned lane = 0; lane < state.lanes; ++lane) vgpr(index, lane) = value + lane * step;
    }
    void set_pair(unsigned sgpr, uint64_t value) {
        state.scalars[sgpr] = static_cast<uint32_t>(value);
        state.scalars[sgpr + 1] = static_cast<uint32_t>(value >> 32);
    }
    void set_vgpr_pair(unsigned index, unsigned lane, uint64_t value) {
        vgpr(index, lane) = static_cast<uint32_t>(value);
        vgpr(index + 1, lane) = static_cast<uint32_t>(value >> 32);
    }
};

class Bench {
public:
    explicit Bench(const Setup& setup)
        : setup_(setup),
          object_{.target = setup.target},
          program_(object_, setup.wave_size),
          unit_(setup.target, setup.wave_size),
          memory({setup.target, setup.wave_size, setup.checks, setup.seed, 1, setup.caches, setup.alignment},
                 findings_) {
        launch();
    }
    ~Bench() {
        for (MemoryTestWave& wave : waves_)
            if (wave.state.memory != nullptr) memory.end_wave(wave.state);
        for (Group& group : groups_) memory.end_group(group);
    }

    MemoryTestWave& wave(uint32_t group = 0, uint32_t index = 0) {
        return waves_[group * setup_.waves_per_group + index];
    }
    uint64_t buffer(std::string name, uint64_t size, InitialBytes initial = InitialBytes::undefined,
                    MemoryAccess access = MemoryAccess::read_write) {
        return memory.allocate(std::move(name), size, access, initial);
    }
    template <class T>
    uint64_t buffer_of(std::string name, const std::vector<T>& values) {
        const uint64_t address = buffer(std::move(name), values.size() * sizeof(T));
        EXPECT_TRUE(memory.write(address, std::as_bytes(std::span(values))));
        return address;
    }
    template <class T>
    T peek(uint64_t address) {
        const auto bytes = memory.read(address, sizeof(T));
        T value{};
        if (!bytes)
            ADD_FAILURE() << bytes.error().message;
        else
            std::memcpy(&value, bytes->data(), sizeof value);
        return value;
    }

    // Executes an instruction; its result is in the registers at once, its token outstanding.
    MemoryEffect run(MemoryTestWave& wave, std::string_view text) {
        auto parsed = parse(setup_.target, setup_.wave_size, text);
        if (!parsed) {
            ADD_FAILURE() << parsed.error().message;
            return {};
        }
        return run(wave, parsed->instruction, std::string(text));
    }
    MemoryEffect run(MemoryTestWave& wave, const Instruction& instruction, const std::string& key) {
        Op& op = ops_[key];
        if (op.program == nullptr) {
            op.program = &program_;
            op.address = 8 * ops_.size();
            op.instruction = instruction;
            op.instruction.size = 8;
            auto call = unit_.prepare(instruction);
            if (!call) {
                ADD_FAILURE() << call.error().message;
                return {};
            }
            op.memory = *call;
        }
        wave.state.op = &op;
        const unsigned lanes = wave.state.lanes;
        std::vector<uint32_t> values(kMaxLoadedDwords * lanes), undefined(kMaxLoadedDwords * lanes);
        MemoryEffect effect{values.data(), setup_.checks.undefined ? undefined.data() : nullptr};
        memory.execute(wave.state, op.memory, effect);
        deliver(wave, instruction, effect);
        if (effect.token != 0) wave.outstanding.push_back(effect.token);
        return effect;
    }

    // All that the wave has outstanding is proved complete.
    void wait(MemoryTestWave& wave) {
        for (; !wave.outstanding.empty(); wave.outstanding.pop_front())
            memory.complete(wave.state, wave.outstanding.front());
    }
    // A barrier of one group, with everything waited for before it or not.
    void barrier(uint32_t group, bool waiting = true) {
        for (uint32_t w = 0; w < setup_.waves_per_group; ++w) {
            if (waiting) wait(wave(group, w));
            memory.barrier_signal(wave(group, w).state, 0);
        }
        for (uint32_t w = 0; w < setup_.waves_per_group; ++w) memory.barrier_wait_done(wave(group, w).state, 0);
    }
    void end(MemoryTestWave& wave) { memory.end_wave(wave.state); }
    Counts end_all() {
        for (MemoryTestWave& each : waves_) end(each);
        return memory.end_launch();
    }
    // A new launch of the same shape, after end_all().
    void restart() {
        for (Group& group : groups_) memory.end_group(group);
        waves_.clear();
        groups_.clear();
        launch();
    }

    std::vector<Finding> findings() { return findings_.take(); }
    // The names of what was found, in order, joined by spaces.
    std::string found() {
        std::string names;
        for (const Finding& finding : findings_.take()) {
            if (!names.empty()) names += ' ';
            names += name(finding.kind);
        }
        return names;
    }

private:
    void launch() {
        memory.begin_launch({setup_.lds_bytes, setup_.scratch_bytes, setup_.waves_per_group, setup_.groups,
                             setup_.workgroup_mode, setup_.counts_lines});
        for (uint32_t g = 0; g < setup_.groups; ++g) start_group(g);
    }
    void start_group(uint32_t number) {
        Group& group = groups_.emplace_back();
        group.number = number;
        memory.begin_group(group);
        for (uint32_t w = 0; w < setup_.waves_per_group; ++w) {
            MemoryTestWave& wave = waves_.emplace_back();
            const unsigned lanes = rdna::lanes(setup_.wave_size);
            wave.registers.assign(kVgprsNameable * lanes, 0);
            wave.undefined.assign(kVgprsNameable * lanes, 0);
            wave.state.vgprs = wave.registers.data();
            wave.state.vgpr_undefined = setup_.checks.undefined ? wave.undefined.data() : nullptr;
            wave.state.lanes = lanes;
            wave.state.vgpr_count = kVgprsNameable;
            wave.state.generation = generation(setup_.target);
            wave.state.target = setup_.target;
            wave.state.index = w;
            wave.state.group_number = number;
            wave.state.group = &group;
            wave.state.findings = &findings_;
            wave.state.mode = 0xF0;  // denormals kept
            wave.state.set_mask(Operand::kExec, wave.state.all_lanes());
            memory.begin_wave(wave.state);
            group.waves.push_back(&wave.state);
        }
    }

    void deliver(MemoryTestWave& wave, const Instruction& instruction, const MemoryEffect& effect) {
        const InstructionInfo& row = info(instruction.opcode);
        if (row.destinations == 0 || effect.lanes == 0) return;
        // A buffer atomic returns into the register of its data, which its text names once.
        const bool in_place = row.format == Format::MUBUF && !instruction.destination().exists();
        const Operand destination = in_place ? instruction.source(1) : instruction.destination();
        const unsigned dwords = row.destination_operands()[0].dwords, lanes = wave.state.lanes;
        for (unsigned d = 0; d < dwords; ++d) {
            if (!destination.is_vgpr()) {
                wave.state.scalars[destination.code + d] = effect.values[d];
                if (effect.undefined != nullptr)
                    wave.state.scalar_undefined[destination.code + d] = effect.undefined[d];
                continue;
            }
            for (unsigned lane = 0; lane < lanes; ++lane) {
                if ((effect.lanes >> lane & 1) == 0) continue;
                const unsigned at = (destination.vgpr() + d) * lanes + lane;
                const auto merge = [&](uint32_t& to, uint32_t from) {
                    to = (to & ~effect.bits) | (from & effect.bits);
                };
                merge(wave.registers[at], effect.values[d * lanes + lane]);
                if (effect.undefined != nullptr) merge(wave.undefined[at], effect.undefined[d * lanes + lane]);
            }
        }
    }

    Setup setup_;
    Findings findings_;
    LoadedObject object_;
    Program program_;
    MemoryUnit unit_;

public:
    MemorySystem memory;

private:
    std::map<std::string, Op, std::less<>> ops_;
    std::deque<Group> groups_;
    std::deque<MemoryTestWave> waves_;
};

}  // namespace riftjit::rdna::emulator
