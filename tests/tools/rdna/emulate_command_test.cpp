// riftjit emulate, as a user runs it: values, findings, exit codes.
#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "tests/tools/program.h"

namespace riftjit::tools {
namespace emulate_command_test {

// y[i] = x[i] * factor, a workgroup of 32.
constexpr std::string_view kScale = R"(
    .kernarg_size 20
    .globl scale
scale:
    s_load_b128 s[4:7], s[0:1], null
    s_load_b32 s8, s[0:1], 0x10
    s_lshl_b32 s9, s15, 5
    v_add_nc_u32 v0, s9, v0
    v_lshlrev_b32 v1, 2, v0
    s_waitcnt lgkmcnt(0)
    global_load_b32 v2, v1, s[4:5]
    s_waitcnt vmcnt(0)
    v_mul_f32 v2, s8, v2
    global_store_b32 v1, v2, s[6:7]
    s_endpgm
)";

class EmulateCommand : public testing::Test {
protected:
    std::string path(const std::string& name) const { return program.folder() / name; }

    void assemble(std::string_view source) {
        std::ofstream(path("k.s")) << source;
        const Outcome outcome = program.run({"asm", path("k.s"), "--target", "gfx1100", "-o", path("k.co")});
        ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    }
    Outcome emulate(std::vector<std::string> more) {
        std::vector<std::string> arguments = {"emulate", path("k.co"), "scale", "--group", "32"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return program.run(arguments);
    }
    // 64 numbers 0, 1, 2, ... scaled by a half into `y.bin`.
    Outcome scale(const std::vector<std::string>& more) {
        std::vector<float> x(64);
        for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
        std::ofstream(path("x.bin"), std::ios::binary).write(reinterpret_cast<const char*>(x.data()), 256);
        std::vector<std::string> arguments = {
            "--grid",        "2",        "--buffer", path("x.bin"), "--buffer",
            "undefined:256", "--scalar", "f32:0.5",  "--out",       "1:" + path("y.bin")};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return emulate(arguments);
    }
    std::vector<float> saved() const {
        const std::string bytes = read_whole(path("y.bin"));
        std::vector<float> values(bytes.size() / 4);
        std::memcpy(values.data(), bytes.data(), values.size() * 4);
        return values;
    }

    Program program;
};

std::string without(std::string_view line) {
    std::string source(kScale);
    const size_t at = source.find(line);
    return source.erase(at, source.find('\n', at) - at);
}

TEST_F(EmulateCommand, RefusesAWorkgroupThatTheKernelDoesNotAllow) {
    assemble(R"(
    .globl q
q:  s_endpgm
.Lend:
    .size q, .Lend-q
    .amdhsa_kernel q
    .amdhsa_next_free_vgpr 8
    .amdhsa_next_free_sgpr 8
    .amdhsa_user_sgpr_count 15
    .end_amdhsa_kernel
    .amdgpu_metadata
amdhsa.version: [1, 2]
amdhsa.kernels:
  - {.name: q, .symbol: q.kd, .kernarg_segment_size: 0, .kernarg_segment_align: 8, .group_segment_fixed_size: 0,
     .private_segment_fixed_size: 0, .wavefront_size: 32, .sgpr_count: 8, .vgpr_count: 8,
     .max_flat_workgroup_size: 128, .reqd_workgroup_size: [64, 2, 1]}
    .end_amdgpu_metadata
)");
    const auto launch = [&](const char* group) {
        return program.run({"emulate", path("k.co"), "--grid", "1", "--group", group});
    };
    EXPECT_EQ(launch("32").err, "error: kernel q: a workgroup of 32,1,1 work-items, the kernel requires 64,2,1\n");
    EXPECT_EQ(launch("128").err, "error: kernel q: a workgroup of 128,1,1 work-items, the kernel requires 64,2,1\n");
    EXPECT_EQ(launch("64,2").exit_code, 0);
    EXPECT_EQ(program.run({"disasm", path("k.co"), "--kernels"}).out,
              "q  wave32, 8 VGPRs, 0 bytes of LDS, --group 64,2,1; no arguments\n");
}

TEST_F(EmulateCommand, RefusesMoreScratchThanAllWavesCanHave) {
    assemble(R"(
    .globl q
q:  s_endpgm
    .amdhsa_kernel q
    .amdhsa_next_free_vgpr 8
    .amdhsa_next_free_sgpr 8
    .amdhsa_user_sgpr_count 15
    .amdhsa_private_segment_fixed_size 262136
    .amdhsa_enable_private_segment 1
    .end_amdhsa_kernel
)");
    const auto launch = [&](const char* grid) {
        return program.run({"emulate", path("k.co"), "--grid", grid, "--group", "32", "--resident", "all"});
    };
    EXPECT_EQ(launch("1000").err,
              "error: kernel q: 1000 waves with 8388352 bytes of scratch each, 1073741824 are possible together\n");
    EXPECT_EQ(launch("2").exit_code, 0);
}

TEST_F(EmulateCommand, RunsAKernelUnderEverySchedule) {
    assemble(kScale);
    for (const std::string schedule : {"lock-step", "long-quanta", "random", "reversed"}) {
        const Outcome outcome = scale({"--schedule", schedule, "--json"});
        ASSERT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
        ASSERT_EQ(saved().size(), 64u);
        for (size_t i = 0; i < 64; ++i) EXPECT_EQ(saved()[i], static_cast<float>(i) / 2);
        const auto json = nlohmann::json::parse(outcome.out);
        EXPECT_EQ(json["completed"], true);
        EXPECT_EQ(json["findings"], nlohmann::json::array());
        // Of two waves: three vector operations, a load and a store of 32 words in one line of 128 bytes each.
        EXPECT_EQ(json["instructions"]["valu"], 6);
        EXPECT_EQ(json["instructions"]["vector-load"], 2);
        EXPECT_EQ(json["memory"]["global_bytes_loaded"], 256);
        EXPECT_EQ(json["memory"]["global_bytes_stored"], 256);
        EXPECT_EQ(json["memory"]["cache_lines"], 4);
    }
}

TEST_F(EmulateCommand, TakesTheOnlyKernelOfAFile) {
    assemble(".globl scale\nscale:\n    s_endpgm\n");
    const Outcome outcome = program.run({"emulate", path("k.co"), "--grid", "1", "--group", "32"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_TRUE(outcome.out.starts_with("scale on gfx1100: grid 1, group 32,")) << outcome.out;
    assemble(".globl scale\nscale:\n    s_endpgm\n.p2align 8\n.globl shift\nshift:\n    s_endpgm\n");
    EXPECT_EQ(program.run({"emulate", path("k.co"), "--grid", "1", "--group", "32"}).err,
              "error: " + path("k.co") + ": name a KERNEL; there are scale, shift\n");
}

TEST_F(EmulateCommand, NamesAMissingWaitAndExitsWith3) {
    assemble(without("s_waitcnt vmcnt(0)"));
    const Outcome outcome = scale({"--json"});
    EXPECT_EQ(outcome.exit_code, 3);
    const auto finding = nlohmann::json::parse(outcome.out)["findings"][0];
    EXPECT_EQ(finding["kind"], "use-before-wait");
    EXPECT_EQ(finding["kernel"], "scale");
    EXPECT_EQ(finding["instruction"], "v_mul_f32_e32 v2, s8, v2");
    EXPECT_EQ(finding["times"], 2);
    const Outcome text = scale({});
    EXPECT_EQ(text.exit_code, 3);
    EXPECT_NE(text.out.find("  scale+0x28: v_mul_f32_e32 v2, s8, v2: use-before-wait: group 0"), std::string::npos)
        << text.out;
}

TEST_F(EmulateCommand, LooksOnlyForWhatItIsAskedTo) {
    assemble(without("s_waitcnt vmcnt(0)"));
    EXPECT_EQ(scale({"--check", "none"}).exit_code, 0);
    EXPECT_EQ(scale({"--check", "races,registers"}).exit_code, 0);
    EXPECT_EQ(scale({"--check", "waits"}).exit_code, 3);
    EXPECT_EQ(scale({"--check", "-waits"}).exit_code, 0);
    EXPECT_EQ(scale({"--check", "all,-waits"}).exit_code, 0);
    EXPECT_EQ(scale({"--check", "all,-races"}).exit_code, 3);
    EXPECT_EQ(scale({"--check", "hazard-sgpr-read,hazard-valu-partial-forwarding"}).exit_code, 0);
    const Outcome unknown = scale({"--check", "waits,speed"});
    EXPECT_EQ(unknown.exit_code, 1);
    EXPECT_EQ(scale({"--check", "all,-use-before-wait"}).err,
              "error: --check all,-use-before-wait: \"use-before-wait\" is what check waits reports; name that\n");
    EXPECT_TRUE(scale({"--check", "undefined-store"}).err.find("is what check undefined reports") != std::string::npos);
    EXPECT_TRUE(unknown.err.starts_with("error: --check waits,speed: \"speed\" is not known, expected all, none or"))
        << unknown.err;
}

TEST_F(EmulateCommand, ReportsAccessOutOfBounds) {
    assemble(kScale);
    const Outcome outcome =
        emulate({"--grid", "2", "--buffer", "zero:252", "--buffer", "zero:256", "--scalar", "f32:1"});
    EXPECT_EQ(outcome.exit_code, 3);
    EXPECT_NE(outcome.out.find("out-of-bounds: group 1, wave 0, lane 31"), std::string::npos) << outcome.out;
}

TEST_F(EmulateCommand, EndsARunThatDoesNotEnd) {
    assemble(".globl scale\nscale:\nagain:\n    s_branch again\n    s_endpgm\n");
    const Outcome outcome = emulate({"--grid", "1", "--limit", "10k"});
    EXPECT_EQ(outcome.exit_code, 3);
    EXPECT_NE(outcome.out.find("  scale+0x0: s_branch 65535: run-does-not-end: group 0, wave 0"), std::string::npos)
        << outcome.out;
    EXPECT_NE(outcome.out.find("not every wave reached its end"), std::string::npos) << outcome.out;
}

TEST_F(EmulateCommand, HoldsOnlyTheGroupsThatADeviceHolds) {
    // A wave takes some 30 KB, so 4000 of them at once would pass the limit on memory.
    assemble(".globl scale\nscale:\n    s_endpgm\n");
    const std::string command = "ulimit -v 4000000; exec '" RIFTJIT_BINARY "' emulate '" + path("k.co") +
                                "' scale --group 256 --grid 20000 > /dev/null";
    EXPECT_EQ(std::system(command.c_str()), 0);
}

TEST_F(EmulateCommand, TracesEveryInstruction) {
    assemble(kScale);
    const Outcome outcome = scale({"--trace"});
    size_t lines = 0;
    for (size_t at = outcome.out.find(" scale+0x"); at != std::string::npos; at = outcome.out.find(" scale+0x", at + 1))
        ++lines;
    EXPECT_EQ(lines, 2u * 11) << outcome.out;
}

TEST_F(EmulateCommand, SharesWorkgroupsAmongThreadsWithoutChecks) {
    assemble(kScale);
    ASSERT_EQ(scale({"--check", "none", "-t", "2"}).exit_code, 0);
    for (size_t i = 0; i < 64; ++i) EXPECT_EQ(saved()[i], static_cast<float>(i) / 2);
    const Outcome refused = scale({"-t", "2"});
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_EQ(refused.err, "error: --threads 2: checks and traces need one thread; --check none lifts that\n");
}

TEST_F(EmulateCommand, WritesABufferToStandardOutputAndReportsOnStderrThen) {
    assemble(kScale);
    ASSERT_EQ(scale({}).exit_code, 0);
    const std::string bytes = read_whole(path("y.bin")), report = scale({}).out;
    const auto to_stdout = [&](const std::vector<std::string>& more) {
        std::vector<std::string> arguments = {"--grid",        "2",        "--buffer", path("x.bin"), "--buffer",
                                              "undefined:256", "--scalar", "f32:0.5",  "--out",       "1:-"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return emulate(arguments);
    };
    const Outcome outcome = to_stdout({});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(outcome.out, bytes);
    EXPECT_EQ(outcome.err, report);
    EXPECT_FALSE(std::filesystem::exists("-"));
    EXPECT_EQ(to_stdout({"--trace"}).out, bytes);
    EXPECT_EQ(nlohmann::json::parse(to_stdout({"--json"}).err)["completed"], true);
    EXPECT_EQ(to_stdout({"--out", "0:-"}).err, "error: --out: 2 buffers go to standard output, one can\n");
}

TEST_F(EmulateCommand, KnowsStandardOutputByItsOtherName) {
    assemble(kScale);
    ASSERT_EQ(scale({}).exit_code, 0);
    const std::string bytes = read_whole(path("y.bin")), report = scale({}).out;
    std::filesystem::create_symlink("/proc/self/fd/1", path("stdout"));  // as /dev/stdout is
    const Outcome outcome = scale({"--out", "1:" + path("stdout")});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(outcome.out, bytes);
    EXPECT_EQ(outcome.err, report);
    EXPECT_TRUE(std::filesystem::is_symlink(path("stdout")));
}

TEST_F(EmulateCommand, RefusesAFileForTwoBuffersOrInPlaceOfTheCode) {
    assemble(kScale);
    const std::string object = read_whole(path("k.co"));
    const std::string same = path(".") + "/y.bin";  // which does not exist yet
    Outcome outcome = scale({"--out", "0:" + same});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_EQ(outcome.err, "error: --out 0:" + same + ": another buffer goes to this file\n");
    EXPECT_FALSE(std::filesystem::exists(path("y.bin")));
    outcome = scale({"--out", "0:" + path("k.co")});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_EQ(outcome.err, "error: --out 0:" + path("k.co") + ": the buffer would replace the code object\n");
    EXPECT_EQ(read_whole(path("k.co")), object);
    EXPECT_EQ(scale({"--out", "0:/dev/null", "--out", "1:/dev/null"}).exit_code, 0);
    // A buffer may go back to where it came from.
    EXPECT_EQ(scale({"--out", "0:" + path("x.bin")}).exit_code, 0);
}

TEST_F(EmulateCommand, ReadsStandardInputOnce) {
    assemble(kScale);
    ASSERT_EQ(scale({}).exit_code, 0);
    const std::string expected = read_whole(path("y.bin"));
    const std::vector<std::string> rest = {"scale",    "--group",  "32",      "--grid",  "2",   "--buffer",
                                           "zero:256", "--scalar", "f32:0.5", "--check", "none"};
    std::vector<std::string> arguments = {"emulate", path("k.co"), "--buffer", "-", "--out", "1:-"};
    arguments.insert(arguments.end(), rest.begin(), rest.end());
    EXPECT_EQ(program.run(arguments, read_whole(path("x.bin"))).out, expected);
    arguments[1] = "-";
    EXPECT_EQ(program.run(arguments, read_whole(path("x.bin"))).err,
              "error: standard input (-) is asked for 2 times, it can be read once\n");
}

TEST_F(EmulateCommand, StopsAtTheSameLimitOnAnyNumberOfThreads) {
    // A wave of 3 + 3 * 100 instructions; the seventh passes 2000.
    assemble(
        ".globl scale\nscale:\n    s_nop 0\n    s_mov_b32 s4, 100\nagain:\n    s_sub_u32 s4, s4, 1\n"
        "    s_cmp_lg_u32 s4, 0\n    s_cbranch_scc1 again\n    s_endpgm\n");
    for (const std::vector<std::string>& how :
         {std::vector<std::string>{"--resident", "one"}, {"-t", "2"}, {"-t", "5", "--resident", "one"}}) {
        std::vector<std::string> arguments = {"--grid", "30", "--limit", "2000", "--check", "none", "--json"};
        arguments.insert(arguments.end(), how.begin(), how.end());
        const Outcome outcome = emulate(arguments);
        EXPECT_EQ(outcome.exit_code, 3);
        const auto json = nlohmann::json::parse(outcome.out);
        EXPECT_EQ(json["completed"], false);
        EXPECT_EQ(json["findings"][0]["detail"], "the limit of 2000 instructions is reached after 7 of 30 workgroups");
        EXPECT_EQ(json["findings"].size(), 1u);
    }
    EXPECT_EQ(emulate({"--grid", "30", "--check", "none", "-t", "2", "--resident", "all"}).err,
              "error: --threads 2: workgroups run apart from each other, --resident all needs one thread\n");
}

TEST_F(EmulateCommand, EndsWithAReportOnCtrlC) {
    assemble(".globl scale\nscale:\nagain:\n    s_branch again\n    s_endpgm\n");
    for (const auto& [signal, code] : {std::pair{SIGINT, 130}, std::pair{SIGTERM, 143}, std::pair{SIGHUP, 129}})
        for (const std::string threads : {"1", "2"}) {
            program.start({"emulate", path("k.co"), "scale", "--group", "32", "--grid", "4", "--limit", "100G",
                           "--check", "none", "-t", threads});
            for (int i = 0; i < 1000 && !program.catches(signal); ++i) usleep(10'000);
            program.send(signal);
            const Outcome outcome = program.wait_for_end();
            EXPECT_EQ(outcome.exit_code, code) << outcome.out << outcome.err;
            EXPECT_NE(outcome.out.find("findings      none; not every wave reached its end\ninterrupted: group "),
                      std::string::npos)
                << outcome.out;
            EXPECT_NE(outcome.out.find("wave 0 runs at scale+0x0"), std::string::npos) << outcome.out;
        }
}

TEST_F(EmulateCommand, SaysWhatCodeOfOlderCompilersIsNotToBeCheckedFor) {
    std::ofstream(path("k.s")) << ".globl scale\nscale:\n    v_cndmask_b32 v1, v0, v0, vcc_lo\n"
                                  "    v_cmp_eq_u32 vcc_lo, 0, v0\n    v_cndmask_b32 v1, v0, v0, vcc_lo\n"
                                  "    s_endpgm\n";
    ASSERT_EQ(program.run({"asm", path("k.s"), "--target", "gfx1201", "-o", path("k.co")}).exit_code, 0);
    const Outcome outcome = emulate({"--grid", "1", "--check", "hazard-sgpr-read"});
    EXPECT_EQ(outcome.exit_code, 3);
    EXPECT_NE(outcome.out.find("vcc_lo was written by VALU: wait for va_vcc = 0\n"
                               "hazard-sgpr-read: compilers before LLVM 20 do not know this rule of gfx12"),
              std::string::npos)
        << outcome.out;
    EXPECT_NE(outcome.out.find("--check all,-hazard-sgpr-read"), std::string::npos);
    const auto json = nlohmann::json::parse(emulate({"--grid", "1", "--check", "hazard-sgpr-read", "--json"}).out);
    EXPECT_TRUE(json["findings"][0]["advice"].get<std::string>().starts_with("compilers before LLVM 20"));
    EXPECT_EQ(emulate({"--grid", "1", "--check", "all,-undefined,-hazard-sgpr-read"}).exit_code, 0);
}

TEST_F(EmulateCommand, RefusesWhatItCannotLaunchInOneLine) {
    assemble(kScale);
    const auto refusal = [&](const std::vector<std::string>& arguments) {
        const Outcome outcome = emulate(arguments);
        EXPECT_EQ(outcome.exit_code, 1);
        EXPECT_EQ(outcome.out, "");
        return outcome.err;
    };
    EXPECT_EQ(refusal({"--grid", "1", "--scalar", "hex:000000000000000000000000000000000000000000"}),
              "error: kernel scale takes 20 bytes of arguments (.kernarg_size), 21 are given\n");
    EXPECT_EQ(refusal({"--grid", "1", "--buffer", "zero:128", "--buffer", "zero:128"}),
              "error: kernel scale takes 20 bytes of arguments (.kernarg_size), 16 are given\n");
    EXPECT_EQ(refusal({"--grid", "1", "--scalar", "f16:1e9"}),
              "error: --scalar f16:1e9: 1e9 is out of range, f16 reaches 65504\n");
    EXPECT_EQ(refusal({"--grid", "1", "--buffer", "/dev/zero"}),
              "error: /dev/zero is a device, not a file: it may have no end\n");
    EXPECT_EQ(refusal({"--grid", "1,2,3,4"}), "error: --grid 1,2,3,4: more than three sizes\n");
    EXPECT_EQ(refusal({"--grid", "1", "--out", "0:y"}), "error: --out 0:y: there are 0 buffers, counted from 0\n");
    for (const std::string grid : {"0", "2x2", "4294967296", "2,", ""})
        EXPECT_EQ(refusal({"--grid", grid}),
                  "error: --grid " + grid + ": expected X, X,Y or X,Y,Z, each from 1 to 4294967295\n");
    EXPECT_EQ(refusal({"--grid", "1", "--buffer", "zero:4", "--out", "0:" + path("no/y.bin")}),
              "error: cannot write " + path("no/y.bin") + ": No such file or directory\n");
    EXPECT_EQ(refusal({"--grid", "1", "--buffer", "zero:4", "--out", "0:" + path(".")}),
              "error: cannot write " + path(".") + ": Is a directory\n");
    EXPECT_EQ(refusal({"--grid", "1", "--buffer", ""}),
              "error: --buffer: expected FILE, zero:BYTES or undefined:BYTES, got \"\"\n");
    const Outcome unknown = program.run({"emulate", path("k.co"), "scales", "--grid", "1", "--group", "1"});
    EXPECT_EQ(unknown.exit_code, 1);
    EXPECT_EQ(unknown.err, "error: " + path("k.co") + ": no kernel scales; there are scale\n");
}

}  // namespace emulate_command_test
}  // namespace riftjit::tools
