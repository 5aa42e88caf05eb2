// Cures for what the hardware does not interlock: one function per hazard, each a search backwards over all paths that
// lead to an instruction, and ended by a few vector instructions (LLVM AMDGPU backend, GCNHazardRecognizer, has the
// same distances). Hazards that nothing near ends are dataflows of their own (sgpr_hazard.cpp, mask_hazard.cpp).
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "jit/rdna/passes/mask_hazard.h"
#include "jit/rdna/passes/passes.h"
#include "jit/rdna/passes/sgpr_hazard.h"
#include "jit/rdna/passes/wait_alu.h"

namespace riftjit::rdna {
namespace {

enum class Search : uint8_t { go_on, path_is_safe, found };

bool is_memory_or_lds(const LineFacts& facts) { return facts.row->format >= Format::DS; }
bool waits_for_vector_results(const Instruction& instruction) {
    return instruction.opcode == Opcode::s_wait_alu && waits_for(instruction.simm16, kWaitVectorResults);
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
    explicit HazardPass(PassContext& context) : context_(context) {}

    void run() {
        for (LineId i = context_.first(); i != kNoLine; i = context_.next(i)) cure(i);
    }

private:
    void cure(LineId i) {
        const auto insert = [&](const Instruction& instruction) {
            context_.insert_before(i, instruction, Origin::hazards);
        };
        if (context_.generation() == Generation::gfx10) {
            if (denorm_mode_after_float_atomic(i)) insert(nop(Opcode::s_nop, 2));
            return;
        }
        if (!context_.facts(i).is_valu) return;
        if (permlane_after_compare(i)) insert(move_of_source(i));
        if (wmma_after_wmma(i)) insert(nop(Opcode::v_nop, 0));
        if (context_.generation() != Generation::gfx11) return;
        if (info(context_.target()).trans_use_hazard && use_of_transcendental(i)) insert(wait_alu(kWaitVectorResults));
        if (context_.wave_size() == WaveSize::wave64 && partial_forwarding(i)) insert(wait_alu(kWaitVectorResults));
    }

    static Instruction nop(Opcode opcode, uint16_t count) {
        Instruction instruction;
        instruction.opcode = opcode;
        instruction.simm16 = count;
        return instruction;
    }

    // Visits the lines before `start` on every path; `visit` changes the state of its path.
    template <class State, class Visit>
    bool search_back(LineId start, State state, const Visit& visit) const {
        std::set<std::pair<size_t, State>> seen;
        std::vector<std::pair<size_t, State>> open;
        size_t block = context_.block_of(start);
        LineId line = context_.previous_in_block(start);
        for (;;) {
            Search result = Search::go_on;
            for (; line != kNoLine && result == Search::go_on; line = context_.previous_in_block(line))
                result = visit(line, state);
            if (result == Search::found) return true;
            if (result == Search::go_on)
                for (const size_t before : context_.blocks()[block].predecessors)
                    if (seen.emplace(before, state).second) open.emplace_back(before, state);
            if (open.empty()) return false;
            std::tie(block, state) = std::move(open.back());
            open.pop_back();
            line = context_.blocks()[block].last;
        }
    }

    static RegisterRanges vector_reads(const LineFacts& facts) {
        RegisterRanges reads;
        for (const RegisterRange read : facts.effects.reads)
            if (read.is_vgpr()) reads.push_back(read);
        return reads;
    }

    static bool writes_any(const LineFacts& facts, const RegisterRanges& ranges) {
        return std::ranges::any_of(ranges, [&](RegisterRange range) { return facts.effects.writes_any(range); });
    }

    // VALUTransUse: at most five VALU and one transcendental between writer and reader.
    bool use_of_transcendental(LineId at) const {
        const RegisterRanges sources = vector_reads(context_.facts(at));
        if (sources.empty()) return false;
        return search_back(at, TranscendentalPath{}, [&](LineId id, TranscendentalPath& distance) {
            const LineFacts& facts = context_.facts(id);
            if (distance.valu > 5 || distance.transcendental > 1) return Search::path_is_safe;
            if (is_memory_or_lds(facts) || waits_for_vector_results(context_.line(id).instruction))
                return Search::path_is_safe;
            if (facts.row->transcendental && writes_any(facts, sources)) return Search::found;
            distance.valu += facts.is_valu;
            distance.transcendental += facts.row->transcendental;
            return Search::go_on;
        });
    }

    bool permlane_after_compare(LineId at) const {
        if (!context_.facts(at).row->permlane) return false;
        return search_back(at, 0, [&](LineId id, int&) {
            const LineFacts& facts = context_.facts(id);
            if (is_compare_to_exec(*facts.row)) return Search::found;
            const bool is_other_valu = facts.is_valu && facts.row->opcode != Opcode::v_nop;
            return is_other_valu ? Search::path_is_safe : Search::go_on;
        });
    }

    Instruction move_of_source(LineId at) const {
        Instruction move;
        move.opcode = Opcode::v_mov_b32;
        move.operands[0] = move.operands[1] = context_.line(at).instruction.source(0);
        return move;
    }

    // D of one WMMA over A or B (or the index) of the next.
    bool wmma_after_wmma(LineId at) const {
        const InstructionInfo& row = *context_.facts(at).row;
        if (!is_wmma(row.opcode)) return false;
        RegisterRanges sources;
        for (unsigned i = 0; i < row.sources; ++i) {
            const Operand operand = context_.line(at).instruction.source(i);
            if (i == 2 || !operand.is_vgpr()) continue;
            const unsigned dwords = row.operands[row.destinations + i].size(context_.wave_size());
            sources.push_back({operand.code, static_cast<uint16_t>(dwords)});
        }
        return search_back(at, 0, [&](LineId id, int&) {
            const LineFacts& facts = context_.facts(id);
            if (!facts.is_valu) return Search::go_on;
            const bool overlaps = is_wmma(facts.row->opcode) && writes_any(facts, sources);
            return overlaps ? Search::found : Search::path_is_safe;
        });
    }

    // VALUPartialForwarding: sources written on both sides of a scalar write of exec.
    bool partial_forwarding(LineId at) const {
        constexpr int kAroundExec = 2, kAfterLast = 4, kAll = kAroundExec + kAfterLast + 2;
        const RegisterRanges sources = vector_reads(context_.facts(at));
        if (sources.size() < 2) return false;
        return search_back(at, ForwardingPath{}, [&](LineId id, ForwardingPath& path) {
            const LineFacts& facts = context_.facts(id);
            if (path.valu > kAll || is_memory_or_lds(facts) || waits_for_vector_results(context_.line(id).instruction))
                return Search::path_is_safe;
            if (facts.is_valu) {
                for (const RegisterRange source : sources)
                    if (facts.effects.writes_any(source))
                        path.written.emplace(std::pair(source.first, source.count), path.valu);
            } else if (facts.is_salu && !path.exec && !path.written.empty() &&
                       facts.effects.writes_any({Operand::kExec, 2})) {
                path.exec = path.valu;
            }
            const Search result = judge_forwarding(path.exec, path.written, kAroundExec, kAfterLast);
            if (result != Search::go_on) return result;
            if (path.valu > kAfterLast && path.written.empty()) return Search::path_is_safe;
            path.valu += facts.is_valu;
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

    // Fewer than three instructions, none of them VALU or a wait.
    bool denorm_mode_after_float_atomic(LineId at) const {
        if (context_.facts(at).row->opcode != Opcode::s_denorm_mode) return false;
        return search_back(at, 0, [&](LineId id, int& distance) {
            const LineFacts& facts = context_.facts(id);
            const InstructionInfo& row = *facts.row;
            if (is_vector_memory(row.format) && row.float_atomic) return Search::found;
            if (facts.is_valu || row.wait || ++distance >= 3) return Search::path_is_safe;
            return Search::go_on;
        });
    }

    PassContext& context_;
};

}  // namespace

void insert_hazard_cures(PassContext& context) {
    HazardPass(context).run();
    if (context.generation() == Generation::gfx11 && context.wave_size() == WaveSize::wave64)
        insert_mask_write_waits(context);
    if (context.generation() == Generation::gfx12) insert_sgpr_read_waits(context);
}

}  // namespace riftjit::rdna
