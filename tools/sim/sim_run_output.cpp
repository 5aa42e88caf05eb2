#include "tools/sim/sim_run_output.h"

#include <algorithm>
#include <cmath>
#include <fstream>

#include "sim/engine/checkpoint.h"
#include "sim/engine/network_edges.h"
#include "tools/cli/output.h"
#include "tools/sim/sim_text.h"

namespace riftjit::tools {

namespace {

// Kept for statistics and plots, not for the file.
constexpr size_t kMostKeptSpikes = 100'000'000;

std::string command_line() {
    std::string text;
    std::ifstream arguments("/proc/self/cmdline", std::ios::binary);
    for (std::string part; std::getline(arguments, part, '\0');) text += (text.empty() ? "" : " ") + part;
    return text;
}

}  // namespace

Result<double> time_of(const char* flag, const std::string& text) {
    if (text.empty()) return fail(ErrorKind::Usage, "{}: expected a time with its unit, got \"\"", flag);
    const auto time = sim::parse_quantity_of(sim::SourceText{text, flag, 1, 1}, sim::kMillisecond);
    if (!time) return std::unexpected(time.error());
    if (!(*time >= 0) || !std::isfinite(*time))
        return fail(ErrorKind::Usage, "{}: {} is no length of time", flag, text);
    return *time;
}

sim::Existing existing(const NetworkRunOptions& options) {
    return options.force ? sim::Existing::replace : sim::Existing::refuse;
}

Result<sim::RecordingFormat> record_format(const NetworkRunOptions& options) {
    if (options.record_format.empty()) return sim::format_of_path(options.record);
    return *sim::recording_format_from_name(options.record_format);
}

Result<uint64_t> write_drawn_network(const NetworkRunOptions& options, const sim::Network& network) {
    RIFTJIT_TRY(summary, sim::write_network_edges(options.record_network, network, command_line(), RIFTJIT_VERSION,
                                                  existing(options)));
    return summary.graph_hash;
}

Result<RunOutput> RunOutput::create(const NetworkRunOptions& options, const sim::Network& network,
                                    const sim::Simulation& simulation, Reporter& reporter) {
    RunOutput output;
    output.options_ = &options;
    output.recording_.header = simulation.recording_header();
    output.recording_.header.command_line = command_line();
    output.recording_.header.program_version = RIFTJIT_VERSION;
    const auto& weights = output.recording_.header.weights;
    for (size_t i = 0; i < network.recorders.size(); ++i) {
        const sim::Recorder& recorder = network.recorders[i];
        if (std::holds_alternative<sim::StateRecorder>(recorder.kind)) output.state_recorders_.push_back(i);
        if (!std::holds_alternative<sim::WeightRecorder>(recorder.kind)) continue;
        if (std::ranges::find(weights, recorder.name, &sim::RecordedWeights::name) != weights.end())
            output.weight_recorders_.push_back(i);
        else
            reporter.warn(fmt::format("recorder {}: its projection has no synapses: left out", recorder.name));
    }
    RIFTJIT_TRY_VOID(output.read_save_interval(network, simulation));
    // Whether a state can be saved there shows now, not when the run is over; the file goes at once.
    if (!options.save.empty())
        if (const auto saves = sim::CheckpointWriter::create(options.save, {}); !saves)
            return std::unexpected(saves.error());
    if (!options.record.empty()) RIFTJIT_TRY_VOID(output.open_recording(simulation, reporter));
    return output;
}

Result<void> RunOutput::read_save_interval(const sim::Network& network, const sim::Simulation& simulation) {
    if (!options_->save_interval) return {};
    RIFTJIT_TRY(interval, time_of("--save-interval", *options_->save_interval));
    const double steps = std::round(interval / network.step_ms);
    if (steps < 1 || std::abs(interval / network.step_ms - steps) > 1e-6) {
        return fail(ErrorKind::Usage, "--save-interval: {} is not a whole number of steps of {} ms",
                    *options_->save_interval, network.step_ms);
    }
    save_steps_ = static_cast<uint32_t>(std::min(steps, 4e9));
    next_save_ = simulation.steps() + save_steps_;
    return {};
}

Result<void> RunOutput::open_recording(const sim::Simulation& simulation, Reporter& reporter) {
    RIFTJIT_TRY(format, record_format(*options_));
    const sim::RecordingHeader& header = recording_.header;
    for (const std::string& lost : sim::lost_in(format, header))
        reporter.warn(fmt::format("{} files have no place for {}: left out", name(format), lost));
    RIFTJIT_TRY(writer, sim::RecordingWriter::create(options_->record, format, header, existing(*options_)));
    writer_ = std::move(writer);
    for (size_t i = 0; i < weight_recorders_.size(); ++i)
        RIFTJIT_TRY_VOID(simulation.recorded_synapses(
            weight_recorders_[i],
            [&](std::span<const sim::SynapseEnds> synapses) { return writer_->append_synapses(i, synapses); }));
    return writer_->flush();
}

Result<void> RunOutput::take(sim::Simulation& simulation) {
    const std::vector<sim::Spike> spikes = simulation.take_spikes();
    hash_ = sim::hash_spikes(spikes, hash_);
    if (writer_) RIFTJIT_TRY_VOID(writer_->append_spikes(spikes));
    keep(spikes);
    for (size_t i = 0; i < state_recorders_.size(); ++i) {
        const std::vector<double> values = simulation.take_samples(state_recorders_[i]);
        if (writer_) RIFTJIT_TRY_VOID(writer_->append_states(i, values));
    }
    for (size_t i = 0; i < weight_recorders_.size(); ++i) {
        const std::vector<double> values = simulation.take_samples(weight_recorders_[i]);
        if (writer_) RIFTJIT_TRY_VOID(writer_->append_weights(i, values));
    }
    if (writer_) RIFTJIT_TRY_VOID(writer_->flush_when_due());
    return {};
}

void RunOutput::keep_what_was_recorded(sim::Simulation& simulation) {
    if (take(simulation) && writer_) static_cast<void>(writer_->flush());
}

Result<void> RunOutput::save_if_due(sim::Simulation& simulation) {
    if (save_steps_ == 0 || simulation.steps() < next_save_) return {};
    next_save_ = simulation.steps() + save_steps_;
    return simulation.save(options_->save);
}

Result<void> RunOutput::finish(sim::Simulation& simulation) {
    recording_.summary = {simulation.steps(), simulation.spikes(), hash_, simulation.graph_hash()};
    if (writer_) RIFTJIT_TRY_VOID(writer_->finish(recording_.summary));
    if (!options_->save.empty()) RIFTJIT_TRY_VOID(simulation.save(options_->save));
    return {};
}

void RunOutput::keep(const std::vector<sim::Spike>& spikes) {
    if (!is_complete_) return;
    recording_.spikes.insert(recording_.spikes.end(), spikes.begin(), spikes.end());
    if (recording_.spikes.size() <= kMostKeptSpikes) return;
    is_complete_ = false;
    recording_.spikes = {};
    write_diagnostic(
        fmt::format("warn: more than {} spikes: no rates, intervals and plots from here\n", grouped(kMostKeptSpikes)));
}

}  // namespace riftjit::tools
