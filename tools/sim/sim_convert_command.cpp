#include "tools/sim/sim_convert_command.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "host/json_text.h"
#include "sim/files/recording_source.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/options.h"
#include "tools/cli/output.h"
#include "tools/cli/reporter.h"
#include "tools/sim/large_stack.h"
#include "tools/sim/sim_text.h"

namespace riftjit::tools {

namespace {

struct ConvertOptions {
    std::string input, output, format, compat = "nest";
    double step_ms = 0.1;
    bool force = false, json = false;
};

// spikes.h5 -> spikes.npz; SONATA shares .h5 with our own layout, so its name says so.
std::string default_output(std::string input, sim::RecordingFormat format) {
    if (input.ends_with(".part")) input.resize(input.size() - 5);
    const std::string ending = format == sim::RecordingFormat::sonata ? "sonata.h5" : std::string(name(format));
    return std::filesystem::path(input).replace_extension(ending).string();
}

void say_what_is_lost(const ConvertOptions& options, const sim::RecordingSource& recording, sim::RecordingFormat format,
                      Reporter& reporter) {
    const sim::Metadata& metadata = recording.metadata();
    if (!metadata.is_finished)
        reporter.warn(fmt::format("{}: the run did not finish; {} spikes up to step {} are there", options.input,
                                  recording.spikes(), metadata.summary.steps));
    for (const std::string& lost : lost_in(format, metadata.header))
        reporter.warn(fmt::format("{} files have no place for {}: left out", options.format, lost));
}

void print_result(const ConvertOptions& options, const std::string& output, const sim::RecordingSource& recording) {
    const auto& [header, summary, is_finished] = recording.metadata();
    if (!options.json) {
        write_output(fmt::format("{}: {} spikes, {} population{}, {}, {} steps of {} ms\n", output, recording.spikes(),
                                 header.populations.size(), header.populations.size() == 1 ? "" : "s",
                                 seed_text(header), summary.steps, header.step_ms));
        return;
    }
    nlohmann::ordered_json seed;  // null: the file tells none
    if (header.seed) seed = *header.seed;
    const nlohmann::ordered_json json = {{"input", options.input},
                                         {"output", output},
                                         {"format", options.format},
                                         {"spikes", recording.spikes()},
                                         {"populations", header.populations.size()},
                                         {"seed", seed},
                                         {"steps", summary.steps},
                                         {"step_ms", header.step_ms},
                                         {"spikes_hash", fmt::format("{:016x}", summary.spikes_hash)},
                                         {"finished", is_finished}};
    write_output(json_text(json) + "\n");
}

Result<int> convert(const ConvertOptions& options) {
    const sim::RecordingFormat format = *sim::recording_format_from_name(options.format);
    const std::string output = options.output.empty() ? default_output(options.input, format) : options.output;
    std::error_code error;
    if (std::filesystem::equivalent(options.input, output, error))
        return fail(ErrorKind::Usage, "{}: is the input; name another file with -o", output);
    if (std::filesystem::equivalent(options.input, output + ".new", error))
        return fail(ErrorKind::Usage, "{}: is where {} is written until it is whole; name another file with -o",
                    options.input, output);
    end_on_interrupts();
    RIFTJIT_TRY(recording, sim::open_recording(options.input, {options.step_ms, options.compat}));
    Reporter reporter;
    say_what_is_lost(options, *recording, format, reporter);
    RIFTJIT_TRY_VOID(sim::write_recording(output, format, *recording,
                                          options.force ? sim::Existing::replace : sim::Existing::refuse));
    print_result(options, output, *recording);
    return kExitDone;
}

constexpr const char* kSimConvertExamples =
    "Examples:\n"
    "  riftjit sim convert spikes.h5 --to npz               writes spikes.npz: arrays step and id, metadata as JSON\n"
    "  riftjit sim convert spikes.h5 --to sonata -o out.h5  for SONATA's tools\n"
    "  riftjit sim convert spikes.npz.part --to npz         what a killed run recorded\n"
    "  riftjit sim convert brian.npz --to nwb --step-ms 0.05 --compat brian2\n"
    "Reads every format it writes, by content, and NEST's own .dat. Spikes, their steps, ids, populations and seed "
    "are\n"
    "kept by all; what a format has no place for is said.";

}  // namespace

void add_sim_convert_command(CLI::App& sim, Command& chosen) {
    CLI::App* command = sim.add_subcommand("convert", "Convert recorded spikes between file formats");
    command->footer(kSimConvertExamples);
    const auto options = std::make_shared<ConvertOptions>();
    command->add_option("FILE", options->input, "a recording: HDF5 (ours, SONATA, NWB), .npz, .dat or .part")
        ->required()
        ->check(file_name());
    add_choice(*command, "--to", options->format, {"h5", "sonata", "nwb", "npz", "dat"}, "format to write")->required();
    command->add_option("-o,--output", options->output, "the new file (default: FILE with the format's ending)")
        ->type_name("FILE")
        ->check(file_name());
    command->add_flag("--force", options->force, "replace the new file if it exists");
    add_number(*command, "--step-ms", options->step_ms, 1e-6, 1e6,
               "integration step, for files of other programs, which do not tell it");
    add_choice(*command, "--compat", options->compat, {"nest", "brian2"},
               "whether their times are ends (nest) or starts of steps");
    command->add_flag("--json", options->json, "print one JSON object");
    on_chosen(*command, chosen, [options] {
        const auto done = on_large_stack([&] { return convert(*options); });
        return done ? *done : report_shortened(done.error());
    });
}

}  // namespace riftjit::tools
