// Cures for what the hardware does not interlock: one function per hazard, each a search backwards over all paths that
// lead to an instruction (LLVM AMDGPU backend, GCNHazardRecognizer, has the same distances). gfx12's SGPR hazard is a
// dataflow of its own (sgpr_hazard.cpp).
#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "jit/rdna/passes/control_flow.h"
#include "jit/rdna/passes/effects.h"
#include "jit/rdna/passes/passes.h"
#include "jit/rdna/passes/sgpr_hazard.h"
#include "jit/rdna/passes/wait_alu.h"

namespace riftjit::rdna {
namespace {

enum class Search : uint8_t { go_on, path_is_safe, found };

bool is_valu(const Line& line) { return is_valu(info(line.instruction.opcode).format); }
bool is_memory_or_lds(const Line& line) { return info(line.instruction.opcode).format >= Format::DS; }
bool waits_for_alu(const Line& line, uint16_t what) {
    return line.instruction.opcode == Opcode::s_wait_alu && waits_for(line.instruction.simm16, what);
}
bool is_compare_to_exec(const Line& line) {
    const InstructionInfo& row = info(line.instruction.opcode);
    return row.format == Format::VOPC && row.destinations == 1 && row.operands[0].type == OperandType::exec;
}
bool is_permlane(Opcode opcode) { return info(opcode).name.starts_with("v_permlane"); }

Instruction wait_alu(uint16_t immediate) {
    Instruction instruction;
    instruction.opcode = Opcode::s_wait_alu;
    instruction.simm16 = immediate;
    return instruction;
}

// What a search remembers of its path.
struct TranscendentalPath {
    uint8_t valu = 0, transcendental = 0;
    bool operator<(const TranscendentalPath& other) const {
        return std::tie(valu, transcendental) < std::tie(other.valu, other.transcendental);
    }
};
struct ForwardingPath {
    int valu = 0;
    std::optional<int> exec;  // VALU between the write of exec and the reader
    // VALU between the last write to a source, whichever of its registers it was, and the reader. By first register and
    // count: a register and a pair that begins with it are two sources.
    std::map<std::pair<uint16_t, uint16_t>, int> written;
    bool operator<(const ForwardingPath& other) const {
        return std::tie(valu, exec, written) < std::tie(other.valu, other.exec, other.written);
    }
};

class HazardPass {
public:
    explicit HazardPass(Program& program) : program_(program) {}

    void run() {
        for (size_t i = 0; i < program_.lines.size(); ++i) i += cure(i);
    }

private:
    // Lines inserted at or before `i`'s instruction.
    size_t cure(size_t i) {
        const Generation generation = rdna::generation(program_.target);
        size_t inserted = 0;
        const auto insert = [&](const Instruction& instruction) {
            insert_before(program_, i + inserted, instruction, Origin::hazards);
            ++inserted;
        };
        if (generation == Generation::gfx10) {
            if (denorm_mode_after_float_atomic(i)) insert(nop(Opcode::s_nop, 2));
            return inserted;
        }
        if (permlane_after_compare(i)) insert(move_of_source(i));
        if (wmma_after_wmma(i + inserted)) insert(nop(Opcode::v_nop, 0));
        if (generation != Generation::gfx11) return inserted;
        const bool is_wave64 = program_.wave_size == WaveSize::wave64;
        if (info(program_.target).trans_use_hazard && use_of_transcendental(i + inserted))
            insert(wait_alu(kWaitVectorResults));
        if (is_wave64 && partial_forwarding(i + inserted)) insert(wait_alu(kWaitVectorResults));
        // After the write: the instruction that follows must not issue before the write is done.
        if (is_wave64)
            if (const std::optional<uint16_t> wait = mask_write(i + inserted))
                insert_before(program_, i + inserted + 1, wait_alu(*wait), Origin::hazards);
        return inserted;
    }

    static Instruction nop(Opcode opcode, uint16_t count) {
        Instruction instruction;
        instruction.opcode = opcode;
        instruction.simm16 = count;
        return instruction;
    }

    // Visits the lines before `start` on every path; `visit` changes the state of its path.
    template <class State>
    bool search_back(size_t start, State state, const std::function<Search(const Line&, State&)>& visit) const {
        const std::vector<Block> blocks = control_flow(program_);
        const auto home =
            std::ranges::find_if(blocks, [&](const Block& b) { return start >= b.begin && start < b.end; });
        std::set<std::pair<size_t, State>> seen;
        const std::function<bool(size_t, size_t, State)> walk = [&](size_t block, size_t end, State path) {
            for (size_t i = end; i-- > blocks[block].begin;) {
                const Search result = visit(program_.lines[i], path);
                if (result == Search::found) return true;
                if (result == Search::path_is_safe) return false;
            }
            for (const size_t before : blocks[block].predecessors)
                if (seen.emplace(before, path).second && walk(before, blocks[before].end, path)) return true;
            return false;
        };
        return walk(static_cast<size_t>(home - blocks.begin()), start, std::move(state));
    }

    Effects effects_of(const Line& line) const {
        return effects(program_.target, program_.wave_size, line.instruction);
    }

    RegisterRanges vector_reads(const Line& line) const {
        RegisterRanges reads;
        for (const RegisterRange read : effects_of(line).reads)
            if (read.is_vgpr()) reads.push_back(read);
        return reads;
    }

    bool writes_any(const Line& line, const RegisterRanges& ranges) const {
        const Effects effects = effects_of(line);
        return std::ranges::any_of(ranges, [&](RegisterRange range) { return effects.writes_any(range); });
    }

    // VALUTransUse: at most five VALU and one transcendental between writer and reader.
    bool use_of_transcendental(size_t at) const {
        const Line& reader = program_.lines[at];
        if (!is_valu(reader)) return false;
        const RegisterRanges sources = vector_reads(reader);
        return search_back<TranscendentalPath>(at, {}, [&](const Line& line, TranscendentalPath& distance) {
            if (distance.valu > 5 || distance.transcendental > 1) return Search::path_is_safe;
            if (is_memory_or_lds(line) || waits_for_alu(line, kWaitVectorResults)) return Search::path_is_safe;
            const bool is_transcendental = info(line.instruction.opcode).transcendental;
            if (is_transcendental && writes_any(line, sources)) return Search::found;
            distance.valu += is_valu(line);
            distance.transcendental += is_transcendental;
            return Search::go_on;
        });
    }

    bool permlane_after_compare(size_t at) const {
        if (!is_permlane(program_.lines[at].instruction.opcode)) return false;
        return search_back<int>(at, 0, [&](const Line& line, int&) {
            if (is_compare_to_exec(line)) return Search::found;
            const bool is_other_valu = is_valu(line) && line.instruction.opcode != Opcode::v_nop;
            return is_other_valu ? Search::path_is_safe : Search::go_on;
        });
    }

    Instruction move_of_source(size_t at) const {
        Instruction move;
        move.opcode = Opcode::v_mov_b32;
        move.operands[0] = move.operands[1] = program_.lines[at].instruction.source(0);
        return move;
    }

    // D of one WMMA over A or B (or the index) of the next.
    bool wmma_after_wmma(size_t at) const {
        const Line& reader = program_.lines[at];
        if (!is_wmma(reader.instruction.opcode)) return false;
        const InstructionInfo& row = info(reader.instruction.opcode);
        RegisterRanges sources;
        for (unsigned i = 0; i < row.sources; ++i) {
            const Operand operand = reader.instruction.source(i);
            if (i == 2 || !operand.is_vgpr()) continue;
            const unsigned dwords = row.operands[row.destinations + i].size(program_.wave_size);
            sources.push_back({operand.code, static_cast<uint16_t>(dwords)});
        }
        return search_back<int>(at, 0, [&](const Line& line, int&) {
            if (!is_valu(line)) return Search::go_on;
            const bool overlaps = is_wmma(line.instruction.opcode) && writes_any(line, sources);
            return overlaps ? Search::found : Search::path_is_safe;
        });
    }

    // VALUPartialForwarding: sources written on both sides of a scalar write of exec.
    bool partial_forwarding(size_t at) const {
        constexpr int kAroundExec = 2, kAfterLast = 4, kAll = kAroundExec + kAfterLast + 2;
        const Line& reader = program_.lines[at];
        if (!is_valu(reader)) return false;
        const RegisterRanges sources = vector_reads(reader);
        if (sources.size() < 2) return false;
        return search_back<ForwardingPath>(at, {}, [&](const Line& line, ForwardingPath& path) {
            if (path.valu > kAll || is_memory_or_lds(line) || waits_for_alu(line, kWaitVectorResults))
                return Search::path_is_safe;
            if (is_valu(line)) {
                for (const RegisterRange source : sources)
                    if (effects_of(line).writes_any(source))
                        path.written.emplace(std::pair(source.first, source.count), path.valu);
            } else if (is_salu(info(line.instruction.opcode).format) && !path.exec && !path.written.empty() &&
                       effects_of(line).writes_any({Operand::kExec, 2})) {
                path.exec = path.valu;
            }
            const Search result = judge_forwarding(path.exec, path.written, kAroundExec, kAfterLast);
            if (result != Search::go_on) return result;
            if (path.valu > kAfterLast && path.written.empty()) return Search::path_is_safe;
            path.valu += is_valu(line);
            return Search::go_on;
        });
    }

    static Search judge_forwarding(std::optional<int> exec, const std::map<std::pair<uint16_t, uint16_t>, int>& written,
                                   int max_around, int max_after) {
        if (!exec) return Search::go_on;
        std::optional<int> before, after;
        for (const auto& [source, distance] : written) {
            std::optional<int>& side = distance >= *exec ? before : after;
            side = side ? std::min(*side, distance) : distance;
        }
        if (!after) return Search::go_on;
        const int between_exec_and_after = *exec - *after - 1;
        if (*after > max_after || between_exec_and_after > max_around) return Search::path_is_safe;
        if (!before) return Search::go_on;
        return *before - *exec + between_exec_and_after > max_around ? Search::path_is_safe : Search::found;
    }

    // VALUMaskWrite: a lane mask that a VALU reads, overwritten by a scalar instruction or another VALU. What to wait
    // for.
    std::optional<uint16_t> mask_write(size_t at) const {
        const Line& writer = program_.lines[at];
        const bool is_scalar = is_salu(info(writer.instruction.opcode).format);
        if (!is_scalar && !is_valu(writer)) return std::nullopt;
        for (const RegisterRange range : effects_of(writer).writes) {
            if (range.first >= Operand::kVcc + 2 || !is_mask_before(at, range)) continue;
            return is_scalar ? kWaitScalarResults : wait_for_vector_write(range);
        }
        return std::nullopt;
    }

    static uint16_t wait_for_vector_write(RegisterRange range) {
        return range.overlaps({Operand::kVcc, 2}) ? kWaitVectorVcc : kWaitVectorScalars;
    }

    bool is_mask_before(size_t at, RegisterRange range) const {
        return search_back<bool>(at, false, [&](const Line& line, bool& was_waited) {
            if (waits_for_alu(line, kWaitScalarResults)) return Search::path_is_safe;
            was_waited |= waits_for_alu(line, wait_for_vector_write(range));
            if (!is_valu(line)) return Search::go_on;
            if (reads_mask(line, range)) return Search::found;
            // The hazard had its wait behind this write.
            if (was_waited && effects_of(line).writes_any(range)) return Search::path_is_safe;
            return reads_other_scalar(line, range) ? Search::path_is_safe : Search::go_on;
        });
    }

    bool reads_mask(const Line& line, RegisterRange range) const {
        const InstructionInfo& row = info(line.instruction.opcode);
        if (row.reads_vcc && range.overlaps({Operand::kVcc, 2}) && row.format == Format::VOP3) return true;
        for (unsigned i = 0; i < row.sources; ++i) {
            const Operand operand = line.instruction.source(i);
            if (row.operands[row.destinations + i].type == OperandType::mask && operand.is_scalar_register() &&
                range.overlaps({operand.code, 2}))
                return true;
        }
        return false;
    }

    bool reads_other_scalar(const Line& line, RegisterRange range) const {
        if (line.instruction.has_literal) return true;
        for (const RegisterRange read : effects_of(line).reads)
            if (!read.is_vgpr() && read.first < Operand::kExec && !read.overlaps(range)) return true;
        return false;
    }

    // Fewer than three instructions, none of them VALU or a wait.
    bool denorm_mode_after_float_atomic(size_t at) const {
        if (program_.lines[at].instruction.opcode != Opcode::s_denorm_mode) return false;
        return search_back<int>(at, 0, [&](const Line& line, int& distance) {
            const InstructionInfo& row = info(line.instruction.opcode);
            const bool is_float_atomic =
                is_vector_memory(row.format) && row.memory == MemoryKind::atomic &&
                (row.name.find("_f32") != std::string_view::npos || row.name.find("_fm") != std::string_view::npos ||
                 row.name.find("_fcmp") != std::string_view::npos || row.name.find("_num_") != std::string_view::npos);
            if (is_float_atomic) return Search::found;
            if (is_valu(line) || row.name.starts_with("s_wait") || ++distance >= 3) return Search::path_is_safe;
            return Search::go_on;
        });
    }

    Program& program_;
};

}  // namespace

void insert_hazard_cures(Program& program) {
    HazardPass(program).run();
    if (generation(program.target) == Generation::gfx12) insert_sgpr_read_waits(program);
}

}  // namespace riftjit::rdna
