#include "runtime/sequences.h"

#include <algorithm>

namespace riftjit::runtime {

uint64_t positions_of_all(const SequenceLimits& limits) {
    if (limits.cached_positions != 0) return limits.cached_positions;
    if (limits.sequences == 1) return limits.positions;
    return uint64_t(limits.sequences) * round_up(limits.positions, kKvPage);
}

Sequences::Sequences(std::shared_ptr<const DeviceModel> model, const SequenceLimits& limits)
    : model_(std::move(model)),
      limits_(limits),
      tables_({limits.sequences, page_count(limits.positions), page_count(positions_of_all(limits))}),
      batch_(model_->prompt_plan.max_tokens),
      grown_by_(limits.sequences),
      next_position_(limits.sequences) {
    const graph::Plan& prompt = model_->prompt_plan;
    ids_.reserve(prompt.max_tokens);
    logits_ = std::make_unique_for_overwrite<float[]>(size_t(prompt.max_outputs) * prompt.logits_stride);
    if (model_->finds_highest()) highest_.resize(size_t(prompt.max_outputs) * kHighest);
}

Result<Sequences> Sequences::create(std::shared_ptr<const DeviceModel> model, const SequenceLimits& limits) {
    if (limits.sequences == 0) return fail(ErrorKind::Usage, "sequences 0: expected 1 or more");
    if (limits.positions == 0) return fail(ErrorKind::Usage, "context 0: expected 1 position or more");
    if (const uint32_t most = model->prompt_plan.most_positions; limits.positions > most)
        return fail(ErrorKind::Usage, "context {}: the model has a table of {} positions, and no way beyond it (-c {})",
                    limits.positions, most, most);
    Sequences sequences(std::move(model), limits);
    RIFTJIT_TRY_VOID(sequences.allocate());
    RIFTJIT_TRY_VOID(sequences.bind());
    return sequences;
}

Result<void> Sequences::allocate() {
    Device& device = *model_->device;
    const graph::Plan &decode = model_->decode_plan, &prompt = model_->prompt_plan;
    RIFTJIT_TRY(
        arena, device.allocate(std::max(decode.arena_bytes, prompt.arena_bytes), MemoryUse::random, "the activations"));
    arena_ = arena;
    RIFTJIT_TRY(ids,
                device.allocate(uint64_t(prompt.max_tokens) * sizeof(int32_t), MemoryUse::random, "the token ids"));
    token_ids_ = ids;
    if (prompt.most_positions != UINT32_MAX) {
        RIFTJIT_TRY(positions,
                    device.allocate(uint64_t(prompt.max_tokens) * sizeof(int32_t), MemoryUse::random, "the positions"));
        position_ids_ = positions;
    }
    size_t most_floats = 0;
    for (const RopeTable& table : model_->rope_tables) {
        const size_t floats = size_t(prompt.max_tokens) * table.floats_per_row();
        RIFTJIT_TRY(address, device.allocate(floats * sizeof(float), MemoryUse::random, "a table of rotations"));
        rope_addresses_.push_back(address);
        most_floats = std::max(most_floats, floats);
    }
    rope_rows_.resize(most_floats);
    const ModelOptions& options = model_->options;
    const KvShape shape{model_->slots, positions_of_all(limits_), options.key_type, options.value_type};
    RIFTJIT_TRY(kv, reserve_kv_cache(shape, device));
    kv_ = std::move(kv);
    RIFTJIT_TRY(states, RunningStates::reserve(model_->slots, limits_.sequences, device));
    states_ = std::move(states);
    return {};
}

Result<void> Sequences::bind() {
    const Addresses addresses{
        arena_,        model_->weights.addresses,    kv_.keys,           kv_.values, rope_addresses_, token_ids_,
        position_ids_, tables_.pages_per_sequence(), states_.addresses()};
    RIFTJIT_TRY(decode, model_->device->bind(model_->decode_plan, addresses));
    decode_ = std::move(decode);
    RIFTJIT_TRY(prompt, model_->device->bind(model_->prompt_plan, addresses));
    prompt_ = std::move(prompt);
    return model_->device->make_ready();
}

Result<SequenceId> Sequences::open() {
    const auto id = tables_.open();
    if (!id) return fail(ErrorKind::Usage, "{} sequences are open, as many as may be", limits_.sequences);
    RIFTJIT_TRY_VOID(states_.clear(*id, *model_->device));
    return *id;
}

Result<void> Sequences::check_truncatable() const {
    for (const graph::StateSlot& slot : model_->slots)
        if (graph::running_bytes(slot) != 0)
            return fail(ErrorKind::Unsupported, "{}: a running state goes back only to where it was kept", slot.name);
    return {};
}

Result<SequenceId> Sequences::fork(SequenceId origin) {
    const auto id = tables_.fork(origin);
    if (!id) return fail(ErrorKind::Usage, "{} sequences are open, as many as may be", limits_.sequences);
    RIFTJIT_TRY_VOID(states_.fork(origin, *id, *model_->device));
    return *id;
}

Result<void> Sequences::truncate(SequenceId id, uint32_t length) {
    if (length >= tables_.length(id)) return {};
    if (states_.any()) {
        length = states_.kept_before(id, length);
        RIFTJIT_TRY_VOID(states_.go_back(id, length, *model_->device));
    }
    tables_.truncate(id, length);
    return {};
}

Result<void> Sequences::skip(SequenceId id, uint32_t positions) {
    std::ranges::fill(grown_by_, 0);
    grown_by_[id] = positions;
    RIFTJIT_TRY_VOID(check_growth());
    return extend(id, positions);
}

void Sequences::close(SequenceId id) { tables_.close(id); }

uint64_t Sequences::saved_bytes(uint32_t length) const {
    return page_count(length) * kv_.page_bytes() + (length == 0 ? 0 : states_.bytes());
}

Result<void> Sequences::save(SequenceId id, uint32_t length, const Sink& sink) const {
    std::vector<std::byte> bytes;
    for (uint64_t offset = 0; offset < saved_bytes(length); offset += bytes.size()) {
        RIFTJIT_TRY_VOID(save_some(id, length, offset, bytes));
        RIFTJIT_TRY_VOID(sink(bytes));
    }
    return {};
}

Result<void> Sequences::save_some(SequenceId id, uint32_t length, uint64_t offset,
                                  std::vector<std::byte>& bytes) const {
    check(length <= tables_.length(id), "what is saved was read");
    if (states_.any() && length != tables_.length(id))
        return fail(ErrorKind::Unsupported, "{} of {} positions: a running state is that of the whole text", length,
                    tables_.length(id));
    bytes.clear();
    uint64_t place = 0;
    bool is_full = false;
    const auto read_piece = [&](Address from, uint64_t size) -> Result<void> {
        const bool is_before = std::exchange(place, place + size) < offset;
        if (is_before || is_full) return {};
        is_full = !bytes.empty() && bytes.size() + size > kSavedAtOnce;
        if (is_full) return {};
        bytes.resize(bytes.size() + size);
        return model_->device->read(std::span(bytes).last(size), from);
    };
    RIFTJIT_TRY_VOID(kv_.for_each_piece(tables_.pages_of(id).first(page_count(length)), read_piece));
    if (length != 0) RIFTJIT_TRY_VOID(states_.for_each_piece(id, read_piece));
    check(!bytes.empty(), "something is left to be saved");
    return {};
}

Result<void> Sequences::restore(SequenceId id, uint32_t length, const Source& source) {
    check(tables_.length(id) == 0, "a text is restored into an empty sequence");
    auto restored = read_back(id, length, source);
    if (restored) return {};
    tables_.truncate(id, 0);
    if (auto cleared = states_.clear(id, *model_->device); !cleared) return cleared;
    return restored;
}

Result<void> Sequences::read_back(SequenceId id, uint32_t length, const Source& source) {
    if (length == 0) return {};
    RIFTJIT_TRY_VOID(skip(id, length));
    const uint64_t total = saved_bytes(length);
    std::vector<std::byte> bytes;
    for (uint64_t offset = 0; offset < total; offset += bytes.size()) {
        bytes.resize(std::min(kSavedAtOnce, total - offset));
        RIFTJIT_TRY_VOID(source(bytes));
        RIFTJIT_TRY_VOID(restore_some(id, offset, bytes));
    }
    return {};
}

Result<void> Sequences::restore_some(SequenceId id, uint64_t offset, std::span<const std::byte> bytes) {
    const uint32_t length = tables_.length(id);
    Device& device = *model_->device;
    const uint64_t end = offset + bytes.size();
    uint64_t next = 0;
    const auto write_piece = [&](Address to, uint64_t size) -> Result<void> {
        const uint64_t place = std::exchange(next, next + size);
        const uint64_t from = std::max(offset, place), until = std::min(end, next);
        if (from >= until) return {};
        return device.write(to + (from - place), bytes.subspan(from - offset, until - from));
    };
    RIFTJIT_TRY_VOID(kv_.for_each_piece(tables_.pages_of(id).first(page_count(length)), write_piece));
    RIFTJIT_TRY_VOID(states_.for_each_piece(id, write_piece));
    check(end <= next, "no more is restored than was saved");
    return end == next ? states_.keep(id, length, device) : Result<void>();
}

// Leaves in grown_by_ how many positions each sequence gets.
Result<void> Sequences::check_rows(std::span<const StepRow> rows) {
    const graph::Plan& plan = model_->plan_for(rows.size());
    if (rows.empty()) return fail(ErrorKind::Usage, "no tokens to evaluate");
    if (rows.size() > plan.max_tokens)
        return fail(ErrorKind::Usage, "a step of {} rows: at most {} fit", rows.size(), plan.max_tokens);
    std::ranges::fill(grown_by_, 0);
    size_t outputs = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
        const auto& [sequence, token, logits] = rows[i];
        if (!tables_.is_open(sequence)) return fail(ErrorKind::Usage, "sequence {} is not open", sequence);
        if (token < 0 || uint32_t(token) >= model_->token_limit)
            return fail(ErrorKind::Usage, "token {} at index {} is outside the vocabulary of {}", token, i,
                        model_->token_limit);
        ++grown_by_[sequence];
        outputs += logits == StepRow::Logits::wanted;
    }
    if (outputs > plan.max_outputs)
        return fail(ErrorKind::Usage, "logits of {} rows are wanted: at most {} fit", outputs, plan.max_outputs);
    if (states_.any()) RIFTJIT_TRY_VOID(check_order(rows, "its running state"));
    if (model_->reads_whole_texts) RIFTJIT_TRY_VOID(check_whole(rows));
    return check_growth();
}

// Each row sees those that follow it.
Result<void> Sequences::check_whole(std::span<const StepRow> rows) const {
    for (SequenceId id = 0; id < limits_.sequences; ++id)
        if (grown_by_[id] != 0 && length(id) != 0)
            return fail(ErrorKind::Unsupported, "sequence {} has {} positions: an encoder reads a text in one step", id,
                        length(id));
    return check_order(rows, "an encoder");
}

// A running state is walked once in a step, and that by one thread.
Result<void> Sequences::check_order(std::span<const StepRow> rows, std::string_view asking) const {
    uint32_t together = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
        together = i != 0 && rows[i].sequence == rows[i - 1].sequence ? together + 1 : 1;
        const bool is_last = i + 1 == rows.size() || rows[i + 1].sequence != rows[i].sequence;
        if (is_last && together != grown_by_[rows[i].sequence])
            return fail(ErrorKind::Usage, "rows of sequence {} do not follow each other, which {} asks for",
                        rows[i].sequence, asking);
    }
    return {};
}

// Whether there is room for what grown_by_ says.
Result<void> Sequences::check_growth() const {
    uint64_t pages = 0;
    for (SequenceId id = 0; id < limits_.sequences; ++id) {
        if (grown_by_[id] == 0) continue;
        if (grown_by_[id] > limits_.positions - length(id))
            return fail(ErrorKind::Usage, "{} tokens after {} exceed the context of {} positions", grown_by_[id],
                        length(id), limits_.positions);
        pages += tables_.pages_to_extend(id, grown_by_[id]);
    }
    if (pages > tables_.free_pages())
        return fail(ErrorKind::OutOfMemory, "{} pages of {} positions are needed in the KV cache, {} are free", pages,
                    kKvPage, tables_.free_pages());
    return {};
}

Result<void> Sequences::extend(SequenceId id, uint32_t positions) {
    const auto copy = tables_.extend(id, positions);
    return copy ? kv_.copy_page(*copy, *model_->device) : Result<void>{};
}

Result<void> Sequences::place_rows(std::span<const StepRow> rows) {
    for (SequenceId id = 0; id < limits_.sequences; ++id) {
        if (grown_by_[id] == 0) continue;
        next_position_[id] = length(id);
        RIFTJIT_TRY_VOID(extend(id, grown_by_[id]));
    }
    batch_.clear();
    ids_.clear();
    for (const auto& [sequence, token, logits] : rows) {
        if (logits == StepRow::Logits::wanted) batch_.add_output(batch_.rows());
        batch_.add({sequence, next_position_[sequence]++});
        ids_.push_back(token);
    }
    return {};
}

Result<StepLogits> Sequences::step(std::span<const StepRow> rows, LogitReading reading) {
    RIFTJIT_TRY_VOID(check_rows(rows));
    RIFTJIT_TRY_VOID(place_rows(rows));
    Device& device = *model_->device;
    const graph::Plan& plan = model_->plan_for(rows.size());
    const BatchState& state = batch_.finish(tables_.tables(), tables_.pages_per_sequence());
    RIFTJIT_TRY_VOID(device.write(token_ids_, std::as_bytes(std::span(ids_))));
    if (position_ids_ != nullptr) {
        for (uint32_t row = 0; row < state.rows; ++row) ids_[row] = int32_t(state.row[row].position);
        RIFTJIT_TRY_VOID(device.write(position_ids_, std::as_bytes(std::span(ids_))));
    }
    for (size_t i = 0; i < rope_addresses_.size(); ++i) {
        const auto filled =
            model_->rope_tables[i].fill(std::span(state.row, state.rows), limits_.positions, rope_rows_);
        RIFTJIT_TRY_VOID(device.write(rope_addresses_[i], std::as_bytes(filled)));
    }
    last_run_ = rows.size() == 1 ? decode_.get() : prompt_.get();
    last_plan_ = &plan;
    outputs_ = state.outputs;
    RIFTJIT_TRY_VOID(last_run_->run(state));
    if (states_.any())
        for (SequenceId id = 0; id < limits_.sequences; ++id)
            if (grown_by_[id] >= RunningStates::kLongStep) RIFTJIT_TRY_VOID(states_.keep(id, length(id), device));
    if (state.outputs == 0) return StepLogits{};
    if (reading == LogitReading::rows || highest_.empty()) return read_rows();
    const std::span found = std::span(highest_).first(size_t(outputs_) * kHighest);
    RIFTJIT_TRY_VOID(device.read(std::as_writable_bytes(found), arena_ + *plan.highest_offset_bytes));
    return StepLogits{nullptr, outputs_, plan.logits_stride, model_->vocabulary, found.data()};
}

Result<StepLogits> Sequences::read_rows() {
    check(last_plan_ != nullptr && outputs_ > 0, "a step had logits");
    const graph::Plan& plan = *last_plan_;
    const uint64_t floats = uint64_t(outputs_ - 1) * plan.logits_stride + model_->vocabulary;
    const std::span room(logits_.get(), floats);
    RIFTJIT_TRY(logits, model_->device->view(arena_ + plan.logits_offset_bytes, std::as_writable_bytes(room)));
    return StepLogits{reinterpret_cast<const float*>(logits.data()), outputs_, plan.logits_stride, model_->vocabulary};
}

Result<void> Sequences::observe(const ProductObserver& observer) {
    for (BoundPlan* plan : {decode_.get(), prompt_.get()}) RIFTJIT_TRY_VOID(plan->observe(observer));
    return {};
}

void Sequences::set_timed(bool is_timed) {
    for (BoundPlan* plan : {decode_.get(), prompt_.get()})
        if (plan != nullptr) plan->set_timed(is_timed);
}

std::vector<Sequences::PlanTimes> Sequences::times() const {
    std::vector<PlanTimes> times;
    if (decode_ != nullptr) times.push_back({model_->decode_plan, decode_->times()});
    if (prompt_ != nullptr) times.push_back({model_->prompt_plan, prompt_->times()});
    return times;
}

std::optional<std::string> Sequences::first_not_finite() {
    const graph::Step* step = last_run_ == nullptr ? nullptr : last_run_->first_not_finite();
    if (step == nullptr) return std::nullopt;
    return fmt::format("{} ({})", step->name, describe(step->spec));
}

}  // namespace riftjit::runtime
