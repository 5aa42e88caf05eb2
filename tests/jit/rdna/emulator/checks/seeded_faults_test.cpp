// Programs with one fault each, and what must be reported of it: none may be missed, under any schedule. The text of a
// row holds fault and cure: <cure~fault>. So its cured twin differs in that edit alone, and must run without a finding.
#include <algorithm>
#include <set>

#include "tests/jit/rdna/emulator/machine/machine_fixture.h"

namespace riftjit::rdna::emulator {
namespace seeded_faults_test {

constexpr Schedule kSchedules[] = {Schedule::lock_step, Schedule::long_quanta, Schedule::random, Schedule::reversed};

enum class Waves : uint8_t { one, one_of_64_lanes, four_of_a_group, two_groups };
enum class Version : uint8_t { cured, faulty };
using enum Target;
using Kind = FindingKind;

struct SeededFault {
    std::string name;
    Target target;
    Kind expected;
    std::string program;  // "s_endpgm" follows if there is none
    Waves waves = Waves::one;
    std::vector<Kind> consequences = {};  // may be reported as well
    uint32_t vgprs_when_faulty = 64;
};
using Faults = std::vector<SeededFault>;

std::string version_of(std::string_view program, Version version) {
    std::string text;
    while (true) {
        const size_t open = program.find('<'), middle = program.find('~'), close = program.find('>');
        text += program.substr(0, open);
        if (open == std::string_view::npos) return text;
        text += version == Version::cured ? program.substr(open + 1, middle - open - 1)
                                          : program.substr(middle + 1, close - middle - 1);
        program.remove_prefix(close + 1);
    }
}

// s[2:3]: `out`, 16384 bytes; s[0:1]: 16 bytes of arguments, the second the address of `in`, 128 bytes; s8: the group;
// s9: the wave's first work-item; v0: four times the work-item.
std::string prologue(Target target) {
    const Generation generation = rdna::generation(target);
    const std::string group = generation == Generation::gfx12   ? "ttmp9"
                              : generation == Generation::gfx11 ? "s13"
                                                                : "s2";
    return "s_mov_b32 s8, " + group + "\n" + load_out_pointer(target) +
           "v_and_b32_e32 v0, 0x3ff, v0; v_readfirstlane_b32 s9, v0; v_lshlrev_b32_e32 v0, 2, v0\n";
}

ProgramResult run(const SeededFault& fault, Version version, Schedule schedule) {
    ProgramSetup setup{.target = fault.target, .vgprs = 64, .lds_bytes = 1024, .scratch_bytes = 16, .in_words = 32};
    if (version == Version::faulty) setup.vgprs = fault.vgprs_when_faulty;
    if (fault.waves == Waves::one_of_64_lanes) setup.wave_size = WaveSize::wave64;
    if (fault.waves == Waves::one_of_64_lanes) setup.group.x = 64;
    if (fault.waves == Waves::four_of_a_group) setup.group.x = 128;
    if (fault.waves == Waves::two_groups) setup.grid.x = 2;
    setup.launch.schedule = schedule;
    setup.launch.instruction_limit = 300'000;
    const bool ends_itself = fault.program.find("s_endpgm") != std::string::npos;
    return run_program(setup,
                       prologue(fault.target) + version_of(fault.program, version) + (ends_itself ? "" : "\ns_endpgm"));
}

std::string repeated(std::string_view line, unsigned times) {
    std::string text;
    for (unsigned i = 0; i < times; ++i) text += line;
    return text;
}
std::string set(unsigned first, unsigned count, std::string_view value) {
    std::string text;
    for (unsigned v = first; v < first + count; ++v) text += fmt::format("v_mov_b32_e32 v{}, {}\n", v, value);
    return text;
}

// ---- Waits

Faults waits() {
    const std::string load10 = "global_load_dword v1, v0, s[2:3]\n", load = "global_load_b32 v1, v0, s[2:3]\n";
    const std::string use = "\nv_add_nc_u32_e32 v2, 1, v1";
    const std::string lds = "ds_store_b32 v0, v0\nds_load_b32 v1, v0\n";
    const std::string two = load + "global_load_b32 v3, v0, s[2:3] offset:128\n";
    const Kind use_kind = Kind::use_before_wait, write_kind = Kind::overwrite_before_wait;
    const std::string flat =
        "v_mov_b32_e32 v4, s2; v_mov_b32_e32 v5, s3; flat_load_b32 v1, v[4:5]; s_waitcnt vmcnt(0)\n";
    const std::string loop = load + "s_mov_b32 s10, 3; s_waitcnt vmcnt(0)\n again:\n v_add_nc_u32_e32 v2, 1, v1\n" +
                             load +
                             "s_sub_u32 s10, s10, 1; <s_waitcnt vmcnt(0)~>; s_cmp_lg_u32 s10, 0\n"
                             "s_cbranch_scc1 again";
    return {
        {"vmcnt removed", gfx1030, use_kind, load10 + "<s_waitcnt vmcnt(0)~>" + use},
        {"vmcnt removed", gfx1100, use_kind, load + "<s_waitcnt vmcnt(0)~>" + use},
        {"loadcnt removed", gfx1201, use_kind, load + "<s_wait_loadcnt 0x0~>" + use},
        {"lgkmcnt of LDS removed", gfx1100, use_kind, lds + "<s_waitcnt lgkmcnt(0)~>" + use},
        {"dscnt removed", gfx1201, use_kind, lds + "<s_wait_dscnt 0x0~>" + use},
        {"lgkmcnt of SMEM removed", gfx1030, use_kind,
         "s_load_dword s10, s[2:3], 0x0; <s_waitcnt lgkmcnt(0)~>; s_mov_b32 s11, s10"},
        {"SMEM taken to come in order", gfx1100, use_kind,
         "s_load_b32 s10, s[2:3], 0x0; s_load_b32 s11, s[2:3], 0x4; s_waitcnt lgkmcnt(<0~1>); s_mov_b32 s12, s10"},
        {"kmcnt removed", gfx1201, use_kind, "s_load_b32 s10, s[2:3], 0x0; <s_wait_kmcnt 0x0~>; s_mov_b32 s11, s10"},
        {"LDS counted past an SMEM", gfx1100, use_kind,
         lds + "s_load_b32 s10, s[2:3], 0x0; s_waitcnt lgkmcnt(<0~1>)" + use},
        {"wait one too weak", gfx1100, use_kind, two + "s_waitcnt vmcnt(<1~2>)" + use},
        {"wait one too weak", gfx1201, use_kind, two + "s_wait_loadcnt <0x1~0x2>" + use},
        {"joint wait leaves one counter", gfx1201, use_kind, load + "s_wait_loadcnt_dscnt <0x0~0x100>" + use},
        {"wrong counter", gfx1201, use_kind, load + "<s_wait_loadcnt 0x0~s_wait_dscnt 0x0>" + use},
        {"wait missing on the back-edge", gfx1100, use_kind, loop},
        {"flat load waited for with one counter", gfx1100, use_kind, flat + "<s_waitcnt lgkmcnt(0)~>" + use},
        {"returning atomic waited for as a store", gfx1100, use_kind,
         "v_mov_b32_e32 v3, 1; global_atomic_add_u32 v1, v0, v3, s[2:3] glc\n"
         "<s_waitcnt vmcnt(0)~s_waitcnt_vscnt null, 0x0>" +
             use},
        {"clock read too early", gfx1030, use_kind, "s_memtime s[10:11]; <s_waitcnt lgkmcnt(0)~>; s_mov_b32 s12, s10"},
        {"VALU writes over a pending load", gfx1100, write_kind, load + "<s_waitcnt vmcnt(0)~>; v_mov_b32_e32 v1, 0"},
        {"SALU writes over a pending load", gfx1201, write_kind,
         "s_load_b32 s10, s[2:3], 0x0; <s_wait_kmcnt 0x0~>; s_mov_b32 s10, 0"},
        {"two pending loads of one register", gfx1201, write_kind, load + "<s_wait_loadcnt 0x0~>\n" + load},
        {"LDS load over a pending global load", gfx1100, write_kind,
         "ds_store_b32 v0, v0\n" + load + "<s_waitcnt vmcnt(0)~>\nds_load_b32 v1, v0"},
    };
}

// ---- Barriers and LDS

// Waves write LDS, then read what the next wave wrote.
std::string exchange(Target target, std::string_view wait, std::string_view barrier) {
    const bool old = generation(target) == Generation::gfx10;
    return fmt::format("{} v0, v0; {}; {}\n v_add_nc_u32_e32 v2, 0x80, v0; v_and_b32_e32 v2, 0x1fc, v2; {} v3, v2",
                       old ? "ds_write_b32" : "ds_store_b32", wait, barrier, old ? "ds_read_b32" : "ds_load_b32");
}

Faults lds() {
    const Waves four = Waves::four_of_a_group;
    const std::string lgkm = "s_waitcnt lgkmcnt(0)", ds = "s_wait_dscnt 0x0";
    const std::string split = "s_barrier_signal -1; s_barrier_wait -1";
    return {
        {"barrier removed",
         gfx1030,
         Kind::lds_race,
         exchange(gfx1030, lgkm, "<s_barrier~>"),
         four,
         {Kind::undefined_lds}},
        {"barrier removed",
         gfx1100,
         Kind::lds_race,
         exchange(gfx1100, lgkm, "<s_barrier~>"),
         four,
         {Kind::undefined_lds}},
        {"barrier removed",
         gfx1201,
         Kind::lds_race,
         exchange(gfx1201, ds, "<" + split + "~>"),
         four,
         {Kind::undefined_lds}},
        {"LDS stores not waited for before the barrier", gfx1100, Kind::lds_race,
         exchange(gfx1100, "<s_waitcnt lgkmcnt(0)~>", "s_barrier"), four},
        {"LDS stores not waited for before the barrier", gfx1201, Kind::lds_race,
         exchange(gfx1201, "<s_wait_dscnt 0x0~>", split), four},
        {"signal without wait",
         gfx1201,
         Kind::lds_race,
         exchange(gfx1201, ds, "s_barrier_signal -1; <s_barrier_wait -1~>"),
         four,
         {Kind::undefined_lds, Kind::barrier_not_reached}},
        {"wait without signal",
         gfx1201,
         Kind::barrier_misuse,
         "<s_barrier_signal -1~>; s_barrier_wait -1",
         four,
         {Kind::deadlock}},
        {"two signals for one wait",
         gfx1201,
         Kind::barrier_misuse,
         "s_barrier_signal -1; <s_barrier_wait -1~>; s_barrier_signal -1; s_barrier_wait -1",
         four,
         {Kind::barrier_not_reached}},
        {"second half of a double buffer is the first", gfx1100, Kind::lds_race,
         exchange(gfx1100, lgkm, "s_barrier") + "\n ds_store_b32 v0, v0 offset:<512~0>", four},
        {"waves write the same words", gfx1100, Kind::lds_race,
         "v_and_b32_e32 v1, <0x1fc~0x7c>, v0; ds_store_b32 v1, v0", four},
        {"beyond the group's LDS", gfx1100, Kind::lds_out_of_bounds, "ds_store_b32 v0, v0 offset:<896~900>"},
        {"beyond the group's LDS", gfx1201, Kind::lds_out_of_bounds, "ds_store_b64 v0, v[0:1] offset:<892~896>"},
        {"read before it is written", gfx1100, Kind::undefined_lds, "<ds_store_b32 v0, v0~>; ds_load_b32 v1, v0"},
        {"LDS atomic misaligned",
         gfx1100,
         Kind::misaligned,
         "ds_store_b32 v0, v0\nds_add_u32 v0, v0<~ offset:2>",
         Waves::one,
         {Kind::undefined_lds, Kind::lds_out_of_bounds}},
    };
}

// ---- Registers and values

Faults registers() {
    const std::string wmma = set(10, 48, "0");
    const std::string branch = "s_cbranch_scc1 leave\n s_nop 0\n leave:\n";
    return {
        {"one VGPR too few declared", gfx1030, Kind::vgpr_beyond_count, "v_mov_b32_e32 v63, 0", Waves::one, {}, 63},
        {"one VGPR too few declared",
         gfx1100,
         Kind::vgpr_beyond_count,
         "v_lshrrev_b64 v[62:63], 0, v[0:1]",
         Waves::one,
         {},
         63},
        {"an SGPR beyond those declared", gfx1100, Kind::sgpr_beyond_count, "s_mov_b32 s<99~103>, 0"},
        {"indexed register beyond the file", gfx1100, Kind::register_index,
         "s_mov_b32 m0, <4~300>; v_movrels_b32_e32 v1, v2"},
        {"mad_u64_u32 over its factor", gfx1100, Kind::register_overlap,
         set(1, 6, "0") + "v_mad_u64_u32 v[<6~2>:<7~3>], null, v2, v1, v[4:5]"},
        {"mad_u64_u32 over its addend", gfx1101, Kind::register_overlap,
         set(1, 6, "0") + "v_mad_u64_u32 v[<6~4>:<7~5>], null, v2, v1, v[4:5]"},
        {"WMMA over part of its accumulator", gfx1100, Kind::register_overlap,
         wmma + "v_wmma_f32_16x16x16_f16 v[10:17], v[18:25], v[26:33], v[<10~14>:<17~21>]", Waves::one},
        {"WMMA with half a wave", gfx1100, Kind::wmma_exec,
         wmma + "s_mov_b32 exec_lo, <-1~0xffff>; v_wmma_f32_16x16x16_f16 v[10:17], v[18:25], v[26:33], v[10:17]"},
        {"WMMA with one lane off", gfx1201, Kind::wmma_exec,
         wmma + "s_mov_b32 exec_lo, <-1~-2>; v_wmma_f32_16x16x16_f16 v[10:17], v[18:21], v[22:25], v[10:17]"},
        {"WMMA operand not repeated", gfx1100, Kind::wmma_replication,
         wmma + "s_mov_b32 exec_lo, <-1~0xffff>; v_mov_b32_e32 v18, 1.0; s_mov_b32 exec_lo, -1\n"
                "v_wmma_f32_16x16x16_f16 v[10:17], v[18:25], v[26:33], v[10:17]"},
        {"unwritten VGPR stored", gfx1100, Kind::undefined_store,
         "<v_mov_b32_e32 v9, 0~>; global_store_b32 v0, v9, s[2:3]"},
        {"unwritten VGPR stored", gfx1030, Kind::undefined_store,
         "<v_mov_b32_e32 v9, 0~>; global_store_dword v0, v9, s[2:3]"},
        {"unwritten VGPR as address", gfx1100, Kind::undefined_address,
         "<v_mov_b32_e32 v9, v0~>; v_and_b32_e32 v9, 0x7c, v9; global_load_b32 v1, v9, s[2:3]"},
        {"unwritten VGPR as LDS address", gfx1201, Kind::undefined_address,
         "<v_mov_b32_e32 v9, v0~>; v_and_b32_e32 v9, 0x7c, v9; ds_store_b32 v9, v0"},
        {"unwritten SGPR in a branch", gfx1030, Kind::undefined_branch,
         "<s_mov_b32 s40, 0~>; s_cmp_eq_u32 s40, 0; " + branch},
        {"unwritten SGPR in a branch", gfx1201, Kind::undefined_branch,
         "<s_mov_b32 s40, 0~>; s_cmp_eq_u32 s40, 0; " + branch},
        {"unwritten SGPR in exec", gfx1100, Kind::undefined_exec, "<s_mov_b32 s40, -1~>; s_mov_b32 exec_lo, s40"},
        {"unwritten lane number", gfx1100, Kind::undefined_lane_select,
         "<s_mov_b32 s40, 3~>; v_readlane_b32 s41, v0, s40"},
    };
}

// ---- Addresses

Faults addresses() {
    const std::string in = "s_load_b64 s[4:5], s[0:1], 0x8; s_waitcnt lgkmcnt(0)\n";
    const std::string lane0 = "s_mov_b32 exec_lo, 1; v_mov_b32_e32 v1, ";
    return {
        {"load one element too far", gfx1100, Kind::out_of_bounds,
         "v_add_nc_u32_e32 v1, <0x3f80~0x3f84>, v0; global_load_b32 v2, v1, s[2:3]"},
        {"load one element too far", gfx1030, Kind::out_of_bounds,
         "v_add_nc_u32_e32 v1, <0x3f80~0x3f84>, v0; global_load_dword v2, v1, s[2:3]"},
        {"store with a wrong stride", gfx1201, Kind::out_of_bounds,
         "v_lshlrev_b32_e32 v1, <2~10>, v0; global_store_b32 v1, v0, s[2:3]"},
        {"load before the buffer", gfx1100, Kind::out_of_bounds, "global_load_b32 v1, v0, s[2:3]<~ offset:-4>"},
        {"first byte past the end", gfx1100, Kind::out_of_bounds,
         lane0 + "<0x3fff~0x4000>; global_store_b8 v1, v0, s[2:3]"},
        {"last byte of a wide load past the end", gfx1201, Kind::out_of_bounds,
         lane0 + "<0x3ff0~0x3ff1>; global_load_b128 v[4:7], v1, s[2:3]"},
        {"store to the smaller buffer", gfx1100, Kind::out_of_bounds,
         in + "global_store_b32 v0, v0, s[<2:3~4:5>] offset:128"},
        {"load from the smaller buffer", gfx1100, Kind::out_of_bounds,
         in + "v_lshlrev_b32_e32 v1, 1, v0; global_load_b32 v2, v1, s[<2:3~4:5>]"},
        {"store to the code", gfx1100, Kind::read_only,
         "s_getpc_b64 s[10:11]; " + lane0 + "0; global_store_b32 v1, v0, s[<2:3~10:11>]"},
        {"arguments read past their size", gfx1100, Kind::out_of_bounds, "s_load_b32 s10, s[0:1], <0xc~0x10>"},
        {"arguments read past their size", gfx1201, Kind::out_of_bounds, "s_load_b64 s[10:11], s[0:1], <0x8~0xc>"},
        {"scratch beyond its size", gfx1100, Kind::scratch_out_of_bounds,
         "scratch_store_b32 off, v0, off offset:<12~16>"},
        {"global atomic misaligned", gfx1100, Kind::misaligned, lane0 + "<4~2>; global_atomic_add_u32 v1, v0, s[2:3]"},
        {"global atomic misaligned", gfx1030, Kind::misaligned, lane0 + "<4~2>; global_atomic_add v1, v0, s[2:3]"},
    };
}

// ---- Control

Faults control() {
    const Waves four = Waves::four_of_a_group;
    const std::string first_wave = "s_cmp_lt_u32 s9, 32; ", split = "s_barrier_signal -1; s_barrier_wait -1\n";
    // Waves 0 and 1 meet at barrier 1, or one of them waits there and the other at the workgroup's.
    const std::string crossed = "s_mov_b32 m0, 0x40000; s_barrier_init 1; s_barrier_signal -1; s_barrier_wait -1\n" +
                                first_wave +
                                "s_cbranch_scc1 other\n s_barrier_join 1; s_barrier_signal 1; "
                                "s_barrier_wait 1; s_branch leave\n other:\n "
                                "<s_barrier_join 1; s_barrier_signal 1; s_barrier_wait 1"
                                "~s_barrier_signal -1; s_barrier_wait -1>\n leave:\n";
    return {
        {"a wave ends before the barrier", gfx1100, Kind::barrier_not_reached,
         first_wave + "<s_nop 0~s_cbranch_scc1 leave>\n s_barrier\n leave:\n", four},
        {"a wave ends before the barrier", gfx1201, Kind::barrier_not_reached,
         first_wave + "<s_nop 0~s_cbranch_scc1 leave>\n" + split + " leave:\n", four},
        {"a wave skips one of two barriers", gfx1030, Kind::barrier_not_reached,
         first_wave + "<s_nop 0~s_cbranch_scc1 skip>\n s_barrier\n skip:\n s_barrier", four},
        {"waves wait at different barriers", gfx1201, Kind::deadlock, crossed, four},
        {"loop that never counts down", gfx1100, Kind::run_limit,
         "s_mov_b32 s10, 9\n again:\n s_sub_u32 s10, s10, <1~0>; s_cmp_lg_u32 s10, 0; s_cbranch_scc1 again"},
        {"loop with its condition turned round", gfx1201, Kind::run_limit,
         "s_mov_b32 s10, 9\n again:\n s_sub_co_u32 s10, s10, 1; s_cmp_lg_u32 s10, 9; s_cbranch_scc<0~1> again",
         Waves::one},
        {"code without an end", gfx1030, Kind::code_end, "v_mov_b32_e32 v1, 0; <s_endpgm~>"},
        {"code without an end", gfx1201, Kind::code_end, "v_mov_b32_e32 v1, 0; <s_endpgm~>"},
        {"word that is no instruction", gfx1100, Kind::illegal_instruction, ".long <0xbf800000~0xffffffff>"},
        {"wait of another generation", gfx1201, Kind::illegal_instruction, "<s_wait_idle~s_waitcnt 0>"},
        {"jump to an address that is no code", gfx1100, Kind::bad_jump,
         "s_mov_b64 s[10:11], 0; <s_nop 0~s_setpc_b64 s[10:11]>"},
        {"assertion that traps", gfx1100, Kind::trap,
         "s_cmp_eq_u32 s9, <32~0>; s_cbranch_scc0 leave\n s_trap 2\n leave:\n"},
    };
}

// ---- Hazards

Faults hazards() {
    const std::string ones = set(1, 6, "1.0"), matrices = set(10, 54, "0");
    const Waves wide = Waves::one_of_64_lanes;
    const std::string wmma11 = matrices + "v_wmma_f32_16x16x16_f16 v[10:17], v[18:25], v[26:33], v[10:17]\n";
    const std::string wmma12 = matrices + "v_wmma_f32_16x16x16_f16 v[10:17], v[18:21], v[22:25], v[10:17]\n";
    const std::string cmpx = ones + "s_mov_b32 s10, 0; v_cmpx_eq_f32_e32 v2, v2; ";
    const std::string tracked = ones + "s_mov_b32 s10, 0; s_mov_b32 s11, 0; v_mov_b32_e32 v6, s10\n";
    const std::string vcc = ones +
                            "v_cmp_eq_f32_e32 vcc_lo, v1, v2; s_wait_alu 0xfffd; v_cndmask_b32_e32 v6, v1, v2, vcc_lo\n"
                            "v_cmp_eq_f32_e32 vcc_lo, v1, v3\n";
    return {
        {"float atomic, then denorm_mode", gfx1030, Kind::float_atomic_denorm_mode,
         ones + "global_atomic_fmax v0, v1, s[2:3]; s_nop <2~1>; s_denorm_mode 15"},
        {"transcendental result used at once", gfx1100, Kind::valu_trans_use,
         ones + "v_exp_f32_e32 v1, v2; <s_waitcnt_depctr 0xfff~>; v_add_f32_e32 v3, v1, v1"},
        {"transcendental result used five later", gfx1103, Kind::valu_trans_use,
         ones + "v_exp_f32_e32 v1, v2\n" + repeated("v_mov_b32_e32 v6, v3\n", 5) +
             "<v_mov_b32_e32 v6, v3~>; v_add_f32_e32 v3, v1, v1"},
        {"v_cmpx, then permlane", gfx1100, Kind::vcmpx_permlane,
         cmpx + "<v_mov_b32_e32 v2, v2~>; v_permlane16_b32 v1, v2, s10, s10"},
        {"v_cmpx, then permlane after v_nop", gfx1201, Kind::vcmpx_permlane,
         cmpx + "<v_mov_b32_e32 v2, v2~v_nop>; v_permlane16_b32 v1, v2, s10, s10"},
        {"WMMA result as A", gfx1100, Kind::wmma_operand,
         wmma11 + "<v_nop~>; v_wmma_f32_16x16x16_f16 v[40:47], v[10:17], v[26:33], v[40:47]"},
        {"WMMA result as B", gfx1201, Kind::wmma_operand,
         wmma12 + "<v_nop~>; v_wmma_f32_16x16x16_f16 v[40:47], v[18:21], v[10:13], v[40:47]"},
        {"WMMA result as sparse index", gfx1201, Kind::wmma_operand,
         wmma12 + "<v_nop~>; v_swmmac_f32_16x16x32_f16 v[40:47], v[26:29], v[30:37], v10"},
        {"sources on both sides of an exec write", gfx1100, Kind::valu_partial_forwarding,
         ones + repeated("v_mov_b32_e32 v6, v5\n", 8) +
             "s_mov_b32 s10, -1; s_mov_b32 s11, -1; v_mov_b32_e32 v1, v4; s_mov_b64 exec, s[10:11]\n"
             "v_mov_b32_e32 v2, v4; <s_waitcnt_depctr 0xfff~>; v_add_f32_e32 v3, v1, v2",
         wide},
        {"lane mask overwritten", gfx1100, Kind::valu_mask_write,
         ones + "s_mov_b64 s[10:11], 0; v_cndmask_b32_e64 v1, v2, v3, s[10:11]; s_mov_b64 s[10:11], 0; "
                "<s_waitcnt_depctr 0xfffe~>; v_mov_b32_e32 v5, v2",
         wide},
        {"lane mask written anew", gfx1100, Kind::valu_mask_rewrite,
         ones + "s_mov_b64 s[10:11], 0; v_cndmask_b32_e64 v1, v2, v3, s[10:11]; v_cmp_eq_u32_e64 s[10:11], v1, v1; "
                "<s_waitcnt_depctr 0xf1ff~>; v_cndmask_b32_e64 v1, v2, v3, s[10:11]",
         wide},
        {"VOPD's sources of one parity", gfx1100, Kind::vopd_interlock,
         ones + "<s_waitcnt_depctr 0xfff~>; v_dual_mul_f32 v6, v1, v2 :: v_dual_add_f32 v7, v3, v4"},
        {"dealloc message without s_nop", gfx1100, Kind::dealloc_message,
         "<s_nop 0~>; s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)"},
        {"dealloc message without s_nop", gfx1201, Kind::dealloc_message,
         "<s_nop 0~>; s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)"},
        {"VGPR used after its release", gfx1100, Kind::vgpr_released,
         "s_nop 0; <s_nop 0~s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)>; v_mov_b32_e32 v1, 0"},
        {"SGPR of SALU read by VALU", gfx1201, Kind::sgpr_read,
         tracked + "s_mov_b32 s10, 1; <s_wait_alu 0xfffe~>; v_mov_b32_e32 v7, s10"},
        {"SGPR of SALU read by SALU", gfx1201, Kind::sgpr_read,
         tracked + "s_mov_b32 s11, 1; <s_wait_alu 0xfffe~>; s_add_co_u32 s12, s11, 1"},
        {"SGPR of VALU read by VALU", gfx1201, Kind::sgpr_read,
         tracked + "v_cmp_eq_f32_e64 s10, v1, v2; <s_wait_alu 0xf1ff~>; v_cndmask_b32_e64 v7, v1, v2, s10"},
        {"vcc waited for as an SGPR", gfx1201, Kind::sgpr_read,
         vcc + "s_wait_alu <0xfffd~0xf1ff>; v_cndmask_b32_e32 v7, v1, v2, vcc_lo"},
    };
}

// ---- Global memory between waves

// Group 0 stores a value and then a flag, group 1 waits for the flag and loads the value.
std::string message(Target target, std::string_view release, std::string_view acquire) {
    const Generation generation = rdna::generation(target);
    const bool old = generation == Generation::gfx10, gfx12 = generation == Generation::gfx12;
    return fmt::format(
        "s_mov_b32 exec_lo, 1; v_mov_b32_e32 v1, 0; v_mov_b32_e32 v2, 1; s_cmp_eq_u32 s8, 0; s_cbranch_scc0 consume\n"
        "{0} v1, v2, s[2:3]; {4}; {0} v1, v2, s[2:3] offset:1024{2}; s_endpgm\n consume:\n"
        "s_sleep 1; {1} v3, v1, s[2:3] offset:1024{3}; {6}; v_readfirstlane_b32 s11, v3; s_cmp_eq_u32 s11, 0\n"
        "s_cbranch_scc1 consume\n {5}; {1} v4, v1, s[2:3]; {6}; {0} v1, v4, s[2:3] offset:512; s_endpgm",
        old ? "global_store_dword" : "global_store_b32", old ? "global_load_dword" : "global_load_b32",
        gfx12 ? " scope:SCOPE_DEV" : "",
        gfx12 ? " scope:SCOPE_DEV"
        : old ? " glc dlc"
              : " glc",
        release, acquire, gfx12 ? "s_wait_loadcnt 0x0" : "s_waitcnt vmcnt(0)");
}

Faults ordering() {
    const Waves two = Waves::two_groups, four = Waves::four_of_a_group;
    const std::string vs = "s_waitcnt_vscnt null, 0x0", both = "buffer_gl1_inv; buffer_gl0_inv";
    const std::string wb = "global_wb scope:SCOPE_DEV; s_wait_storecnt 0x0", inv = "global_inv scope:SCOPE_DEV";
    const auto neighbour = [](std::string_view wait, std::string_view barrier) {
        return fmt::format(
            "global_store_b32 v0, v0, s[2:3]; {}; {}; buffer_gl0_inv\n v_add_nc_u32_e32 v2, 0x80, v0\n"
            "v_and_b32_e32 v2, 0x1fc, v2; global_load_b32 v3, v2, s[2:3]",
            wait, barrier);
    };
    return {
        {"flag published before its data", gfx1030, Kind::global_race, message(gfx1030, "<" + vs + "~>", both), two},
        {"flag published before its data", gfx1100, Kind::global_race, message(gfx1100, "<" + vs + "~>", both), two},
        {"storecnt removed before the flag", gfx1201, Kind::global_race,
         message(gfx1201, "global_wb scope:SCOPE_DEV; <s_wait_storecnt 0x0~>", inv), two},
        {"L0 not invalidated", gfx1030, Kind::stale_read, message(gfx1030, vs, "buffer_gl1_inv; <buffer_gl0_inv~>"),
         two},
        {"L0 not invalidated", gfx1100, Kind::stale_read, message(gfx1100, vs, "buffer_gl1_inv; <buffer_gl0_inv~>"),
         two},
        {"L1 not invalidated", gfx1100, Kind::stale_read, message(gfx1100, vs, "<buffer_gl1_inv~>; buffer_gl0_inv"),
         two},
        {"caches not invalidated", gfx1201, Kind::stale_read, message(gfx1201, wb, "<" + inv + "~>"), two},
        {"caches invalidated too narrowly", gfx1201, Kind::stale_read,
         message(gfx1201, wb, "global_inv scope:<SCOPE_DEV~SCOPE_SE>"), two},
        {"scalar cache not invalidated", gfx1100, Kind::stale_read,
         "s_mov_b32 exec_lo, 1; v_mov_b32_e32 v1, 0; global_store_b32 v1, v0, s[2:3]; s_waitcnt_vscnt null, 0x0\n"
         "<s_dcache_inv~>; s_load_b32 s10, s[2:3], 0x0"},
        {"groups write the same words", gfx1100, Kind::global_race,
         "s_lshl_b32 s10, s8, <7~0>; s_cmp_eq_u32 s8, 0; s_cselect_b32 s10, 0, s10\nv_add_nc_u32_e32 v1, s10, v0; "
         "v_and_b32_e32 v1, <0xfc~0x7c>, v1; global_store_b32 v1, v0, s[2:3]",
         two},
        {"counter raised with a plain store", gfx1100, Kind::global_race,
         "s_mov_b32 exec_lo, 1; v_mov_b32_e32 v1, 0; <global_atomic_add_u32~global_store_b32> v1, v0, s[2:3]", two},
        {"barrier between global accesses removed",
         gfx1100,
         Kind::global_race,
         neighbour(vs, "<s_barrier~>"),
         four,
         {Kind::stale_read}},
        {"store not waited for before the barrier",
         gfx1100,
         Kind::global_race,
         neighbour("<" + vs + "~>", "s_barrier"),
         four,
         {Kind::stale_read}},
    };
}

Faults all_faults() {
    Faults all;
    for (const Faults& part : {waits(), lds(), registers(), addresses(), control(), hazards(), ordering()})
        all.insert(all.end(), part.begin(), part.end());
    return all;
}

bool is_found(const SeededFault& fault, const ProgramResult& result) {
    return result.count(fault.expected) > 0 && std::ranges::all_of(result.report.findings, [&](const Finding& finding) {
               return finding.kind == fault.expected || std::ranges::count(fault.consequences, finding.kind) > 0;
           });
}

TEST(SeededFaults, AreAllReportedByNameAndTheirCuresAreNot) {
    const Faults faults = all_faults();
    std::set<Kind> kinds;
    size_t found = 0;
    for (const SeededFault& fault : faults) {
        bool every_schedule = true;
        for (const Schedule schedule : kSchedules) {
            const std::string where = fmt::format("{} {}, {}", name(fault.target), fault.name, name(schedule));
            const ProgramResult faulty = run(fault, Version::faulty, schedule);
            every_schedule &= is_found(fault, faulty);
            EXPECT_TRUE(is_found(fault, faulty)) << where << ": expected " << name(fault.expected) << ", got:\n"
                                                 << faulty.text();
            const ProgramResult cured = run(fault, Version::cured, schedule);
            EXPECT_TRUE(reports_nothing(cured)) << where << ", cured";
            EXPECT_TRUE(cured.report.completed) << where << ", cured";
        }
        found += every_schedule;
        kinds.insert(fault.expected);
    }
    fmt::print("{} of {} seeded faults of {} kinds are reported under each of {} schedules\n", found, faults.size(),
               kinds.size(), std::size(kSchedules));
    EXPECT_GE(faults.size(), 40u);
    EXPECT_EQ(found, faults.size());
}

// Denormals that are flushed are a choice, whatever it does to results.
TEST(SeededFaults, DoNotIncludeAnUnusualDenormalMode) {
    for (const Target target : {gfx1030, gfx1100, gfx1201})
        for (const Schedule schedule : kSchedules) {
            const SeededFault none{"", target, Kind::count,
                                   set(1, 2, "1.0") + "s_denorm_mode 0; v_mul_f32_e32 v3, v1, v2"};
            EXPECT_TRUE(reports_nothing(run(none, Version::faulty, schedule))) << name(target);
        }
}

}  // namespace seeded_faults_test
}  // namespace riftjit::rdna::emulator
