#include "sim/run/run_output.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/engine/checkpoint.h"

namespace riftjit::sim {

namespace {

// Kept for statistics and pictures, not for the file.
constexpr size_t kMostKeptSpikes = 100'000'000;

Result<uint32_t> save_steps(double interval_ms, double step_ms) {
    const double steps = std::round(interval_ms / step_ms);
    if (steps < 1 || std::abs(interval_ms / step_ms - steps) > 1e-6) {
        return fail(ErrorKind::Usage, "an interval between saves of {} ms is not a whole number of steps of {} ms",
                    interval_ms, step_ms);
    }
    return static_cast<uint32_t>(std::min(steps, 4e9));
}

// Files and statistics know one set of windows for a population.
void warn_of_windows(const Network& network, const Population& population, const Warn& warn) {
    std::set<std::pair<double, double>> windows;
    bool is_in_part = false;
    for (const Recorder& recorder : network.recorders) {
        const auto* spikes = std::get_if<SpikeRecorder>(&recorder.kind);
        if (spikes == nullptr || &network.populations[recorder.population] != &population) continue;
        windows.emplace(recorder.start_ms, recorder.stop_ms);
        is_in_part |= !spikes->neurons.empty();
    }
    if (windows.size() > 1 && is_in_part)
        warn(
            fmt::format("population {}: its recorders differ in neurons and in times: files tell, and rates count, the "
                        "times of all together",
                        population.name));
}

}  // namespace

Result<RunOutput> RunOutput::create(RunFiles files, const Network& network, const Simulation& simulation,
                                    uint64_t end_step, Warn warn) {
    RunOutput output;
    output.files_ = std::move(files);
    output.warn_ = std::move(warn);
    output.recording_.header = simulation.recording_header();
    output.recording_.header.command_line = output.files_.command_line;
    output.recording_.header.program_version = output.files_.program_version;
    const auto& weights = output.recording_.header.weights;
    for (size_t i = 0; i < network.recorders.size(); ++i) {
        const Recorder& recorder = network.recorders[i];
        if (std::holds_alternative<StateRecorder>(recorder.kind)) output.state_recorders_.push_back(i);
        if (!std::holds_alternative<WeightRecorder>(recorder.kind)) continue;
        if (std::ranges::find(weights, recorder.name, &RecordedWeights::name) != weights.end())
            output.weight_recorders_.push_back(i);
        else
            output.warn_(fmt::format("recorder {}: its projection has no synapses: left out", recorder.name));
    }
    for (const Population& population : network.populations) warn_of_windows(network, population, output.warn_);
    if (output.files_.save_interval_ms) {
        RIFTJIT_TRY(steps, save_steps(*output.files_.save_interval_ms, network.step_ms));
        output.save_steps_ = steps;
        output.next_save_ = simulation.steps() + steps;
    }
    // Whether a state can be saved there shows now, not when the run is over; the file goes at once.
    if (!output.files_.save.empty())
        if (const auto saves = CheckpointWriter::create(output.files_.save, {}); !saves)
            return std::unexpected(saves.error());
    if (!output.files_.record.empty()) RIFTJIT_TRY_VOID(output.open_recording(simulation));
    output.first_step_ = simulation.steps();
    output.is_idle_.resize(network.recorders.size());
    output.warn_of_idle_recorders(network, end_step);
    return output;
}

// Of each recorder once: its file tells that by an empty window, or not at all.
void RunOutput::warn_of_idle_recorders(const Network& network, uint64_t end_step) {
    for (size_t i = 0; i < network.recorders.size(); ++i) {
        const Recorder& recorder = network.recorders[i];
        const StepWindow window = step_window(recorder.start_ms, recorder.stop_ms, network.step_ms);
        const bool is_late = window.begin >= end_step, is_over = window.end <= first_step_;
        if (is_idle_[i] || (!is_late && !is_over)) continue;
        is_idle_[i] = true;
        warn_(fmt::format("recorder {} {} at {} ms and the run {} at {} ms: it records nothing", recorder.name,
                          is_late ? "starts" : "stops", is_late ? recorder.start_ms : recorder.stop_ms,
                          is_late ? "ends" : "starts", double(is_late ? end_step : first_step_) * network.step_ms));
    }
}

Result<void> RunOutput::open_recording(const Simulation& simulation) {
    const RecordingHeader& header = recording_.header;
    for (const std::string& lost : lost_in(files_.format, header))
        warn_(fmt::format("{} files have no place for {}: left out", name(files_.format), lost));
    RIFTJIT_TRY(writer, RecordingWriter::create(files_.record, files_.format, header, files_.existing));
    writer_ = std::move(writer);
    for (size_t i = 0; i < weight_recorders_.size(); ++i)
        RIFTJIT_TRY_VOID(simulation.recorded_synapses(weight_recorders_[i], [&](std::span<const SynapseEnds> synapses) {
            return writer_->append_synapses(i, synapses);
        }));
    return writer_->flush();
}

Result<void> RunOutput::take(Simulation& simulation) {
    RIFTJIT_TRY_VOID(take_recorded(simulation));
    if (save_steps_ == 0 || simulation.steps() < next_save_) return {};
    next_save_ = simulation.steps() + save_steps_;
    return simulation.save(files_.save);
}

Result<void> RunOutput::take_recorded(Simulation& simulation) {
    const std::vector<Spike> spikes = simulation.take_spikes();
    hash_ = hash_spikes(spikes, hash_);
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

void RunOutput::keep_what_was_recorded(Simulation& simulation) {
    if (take_recorded(simulation) && writer_) static_cast<void>(writer_->flush());
}

Result<void> RunOutput::finish(const Network& network, Simulation& simulation) {
    warn_of_idle_recorders(network, simulation.steps());  // an interrupt ends a run before its time
    recording_.summary = {simulation.steps(), simulation.spikes(), hash_, simulation.graph_hash()};
    if (writer_) RIFTJIT_TRY_VOID(writer_->finish(recording_.summary));
    if (!files_.save.empty()) RIFTJIT_TRY_VOID(simulation.save(files_.save));
    return {};
}

void RunOutput::keep(const std::vector<Spike>& spikes) {
    if (!is_complete_) return;
    recording_.spikes.insert(recording_.spikes.end(), spikes.begin(), spikes.end());
    if (recording_.spikes.size() <= kMostKeptSpikes) return;
    is_complete_ = false;
    recording_.spikes = {};
    warn_("more than 100 million spikes: no rates, intervals and plots from here");
}

}  // namespace riftjit::sim
