#include "runtime/session.h"

#include <algorithm>
#include <array>

#include "runtime/plan_set.h"

namespace riftjit::runtime {

Result<MemoryNeed> memory_need(const graph::Graph& graph, const ModelOptions& options, const SequenceLimits& limits,
                               const Backend& backend) {
    RIFTJIT_TRY(plans, make_plans(graph, plan_set_options(options, backend)));
    const std::array<const graph::Plan*, 2> both = {&plans.decode, &plans.prompt};
    return MemoryNeed{
        weight_bytes(plans.graph, both, backend),
        kv_bytes({plans.graph.slots, positions_of_all(limits), options.key_type, options.value_type}, backend) +
            RunningStates::bytes_of(plans.graph.slots, limits.sequences),
        std::max(plans.decode.arena_bytes, plans.prompt.arena_bytes)};
}

Result<Session> Session::create(const graph::Graph& graph, const SessionOptions& options,
                                std::unique_ptr<Device> device, const Release& release) {
    if (options.context == 0) return fail(ErrorKind::Usage, "context 0: expected 1 position or more");
    const ModelOptions model_options{.batch = std::min(options.batch, options.context),
                                     .outputs = options.outputs,
                                     .key_type = options.key_type,
                                     .value_type = options.value_type,
                                     .passes = options.passes,
                                     .activations = options.activations};
    RIFTJIT_TRY(model, DeviceModel::create(graph, model_options, std::move(device), release));
    return create(std::move(model), options.context);
}

Result<Session> Session::create(std::shared_ptr<const DeviceModel> model, uint32_t context) {
    RIFTJIT_TRY(sequences, Sequences::create(std::move(model), {.positions = context}));
    RIFTJIT_TRY(text, sequences.open());
    return Session(std::move(sequences), text);
}

Session::Session(Sequences sequences, SequenceId text) : sequences_(std::move(sequences)), text_(text) {
    step_.reserve(model().prompt_plan.max_tokens);
}

// Of the whole call, before the first of its steps.
Result<void> Session::check_ids(std::span<const int32_t> ids) const {
    if (ids.empty()) return fail(ErrorKind::Usage, "no tokens to evaluate");
    const uint32_t limit = model().token_limit;
    for (size_t i = 0; i < ids.size(); ++i)
        if (ids[i] < 0 || uint32_t(ids[i]) >= limit)
            return fail(ErrorKind::Usage, "token {} at index {} is outside the vocabulary of {}", ids[i], i, limit);
    if (ids.size() > context() - position())
        return fail(ErrorKind::Usage, "{} tokens after {} exceed the context of {} positions", ids.size(), position(),
                    context());
    return {};
}

void Session::begin_step(std::span<const int32_t> ids, StepRow::Logits logits) {
    step_.clear();
    for (const int32_t id : ids) step_.push_back({text_, id, logits});
}

Result<std::span<const float>> Session::evaluate(std::span<const int32_t> ids, LogitRows rows) {
    if (rows == LogitRows::last) {
        RIFTJIT_TRY(logits, append(ids, LogitReading::rows));
        return logits.row(0);
    }
    RIFTJIT_TRY_VOID(check_ids(ids));
    every_row_.clear();
    for (size_t done = 0; done < ids.size(); done += step_.size()) {
        begin_step(ids.subspan(done, std::min<size_t>(ids.size() - done, prompt_plan().max_outputs)),
                   StepRow::Logits::wanted);
        RIFTJIT_TRY(logits, sequences_.step(step_));
        for (uint32_t row = 0; row < logits.rows; ++row)
            every_row_.insert(every_row_.end(), logits.row(row).begin(), logits.row(row).end());
    }
    return every_row_;
}

Result<StepLogits> Session::append(std::span<const int32_t> ids, LogitReading reading) {
    RIFTJIT_TRY_VOID(check_ids(ids));
    StepLogits logits;
    for (size_t done = 0; done < ids.size(); done += step_.size()) {
        begin_step(ids.subspan(done, std::min<size_t>(ids.size() - done, prompt_plan().max_tokens)),
                   StepRow::Logits::none);
        if (done + step_.size() == ids.size()) step_.back().logits = StepRow::Logits::wanted;
        RIFTJIT_TRY(step_logits, sequences_.step(step_, reading));
        logits = step_logits;
    }
    return logits;
}

Result<StepLogits> Session::step(std::span<const int32_t> ids, LogitReading reading, size_t unwanted) {
    RIFTJIT_TRY_VOID(check_ids(ids));
    const size_t wanted = ids.size() - std::min(unwanted, ids.size());
    if (wanted > most_outputs())
        return fail(ErrorKind::Usage, "logits of {} rows are wanted: at most {} fit", wanted, most_outputs());
    begin_step(ids, StepRow::Logits::none);
    for (StepRow& row : std::span(step_).last(wanted)) row.logits = StepRow::Logits::wanted;
    return sequences_.step(step_, reading);
}

}  // namespace riftjit::runtime
