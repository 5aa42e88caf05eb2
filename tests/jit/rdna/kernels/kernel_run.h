// Runs a kernel case in the software machine.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "jit/rdna/emulator/machine/machine.h"
#include "jit/rdna/object/code_object.h"
#include "tests/jit/rdna/kernels/kernel_cases.h"

namespace riftjit::rdna::kernels {

struct RunOutcome {
    std::string error;  // nothing ran
    std::vector<emulator::Finding> findings = {};
    std::vector<Bytes> after = {};
    std::string wrong = {};  // what the case says of `after`
    bool completed = false;
    bool clean() const { return error.empty() && findings.empty() && wrong.empty() && completed; }
    std::string text() const {
        std::string all = error + wrong + (completed || !error.empty() ? "" : " not completed");
        for (const emulator::Finding& finding : findings) all += "\n" + finding.text();
        return all;
    }
};

struct RunSettings {
    emulator::Schedule schedule = emulator::Schedule::long_quanta;
    uint64_t seed = 1;
    uint64_t instruction_limit = 3'000'000;
};

inline Bytes argument_bytes(const KernelCase& test, const std::vector<uint64_t>& addresses) {
    Bytes bytes;
    const auto append = [&](const void* value, size_t size) {
        bytes.resize((bytes.size() + size - 1) / size * size);
        const auto* begin = static_cast<const std::byte*>(value);
        bytes.insert(bytes.end(), begin, begin + size);
    };
    for (const auto& arg : test.args) {
        if (const auto* index = std::get_if<BufferIndex>(&arg))
            append(&addresses[index->value], 8);
        else if (std::holds_alternative<NullPointer>(arg))
            append(std::array<std::byte, 8>{}.data(), 8);
        else
            append(&std::get<uint32_t>(arg), 4);
    }
    return bytes;
}

inline RunOutcome run_code(const KernelCase& test, const KernelCode& code, Target target, const RunSettings& settings) {
    const auto object = write_code_object(target, CodeObjectVersion::v5, {&code, 1});
    if (!object) return {object.error().message};
    emulator::MachineOptions options;
    options.seed = settings.seed;
    emulator::Machine machine(target, options);
    if (const auto loaded = machine.load(*object); !loaded) return {loaded.error().message};
    std::vector<uint64_t> addresses;
    for (size_t i = 0; i < test.buffers.size(); ++i)
        addresses.push_back(machine.allocate("buffer " + std::to_string(i), test.buffers[i]));
    for (const PointerBetween& pointer : test.pointers) {
        const std::span<const uint64_t> address(&addresses[pointer.target], 1);
        const auto written = machine.write(addresses[pointer.buffer] + pointer.offset, std::as_bytes(address));
        if (!written) return {written.error().message};
    }
    emulator::LaunchOptions launch;
    launch.schedule = settings.schedule;
    launch.instruction_limit = settings.instruction_limit;
    const auto report = machine.launch(code.name, {test.groups}, {test.group_lanes(lanes(code.wave_size))},
                                       argument_bytes(test, addresses), launch);
    if (!report) return {report.error().message};
    RunOutcome outcome{.error = "", .findings = report->findings, .completed = report->completed};
    for (size_t i = 0; i < addresses.size(); ++i) {
        const auto bytes = machine.read(addresses[i], test.buffers[i].size());
        if (!bytes) return {bytes.error().message};
        outcome.after.push_back(*bytes);
    }
    outcome.wrong = test.wrong(outcome.after);
    return outcome;
}

inline RunOutcome run_program(const KernelCase& test, const KernelProgram& program, const RunSettings& settings) {
    const auto code = link(program);
    if (!code) return {code.error().message};
    return run_code(test, *code, program.program.target, settings);
}

inline const std::vector<RunSettings>& schedules() {
    using emulator::Schedule;
    static const std::vector<RunSettings> kSchedules = {
        {Schedule::long_quanta, 1}, {Schedule::lock_step, 2}, {Schedule::reversed, 3},
        {Schedule::random, 4},      {Schedule::random, 5},    {Schedule::random, 6},
    };
    return kSchedules;
}

}  // namespace riftjit::rdna::kernels
