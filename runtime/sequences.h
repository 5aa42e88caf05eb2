// Texts that a model reads and continues side by side: each is a sequence of positions in the KV cache, and a step
// computes rows of any of them.
//
// A row's bits do not depend on what else is in its step, nor on how its sequence came about (read at once, in pieces,
// or forked).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/device_model.h"
#include "runtime/kv_cache.h"
#include "runtime/page_tables.h"
#include "runtime/running_states.h"

namespace riftjit::runtime {

struct SequenceLimits {
    uint32_t sequences = 1;         // open at a time
    uint32_t positions = 0;         // of one sequence
    uint64_t cached_positions = 0;  // of all together, in whole pages; 0: what all need at their longest
};

// Positions that the cache has.
uint64_t positions_of_all(const SequenceLimits& limits);

// A token at the next position of a sequence. Rows of one sequence take positions in their order.
struct StepRow {
    SequenceId sequence;
    int32_t token;
    enum class Logits : uint8_t { none, wanted } logits = Logits::none;
};

// What a step brings of its logits. `highest` suffices most samplers; where the device does not find them, it is rows.
enum class LogitReading : uint8_t { rows, highest };

// Logits of the rows that wanted them, in their order; valid until the next step. Either all, or the kHighest highest
// of each, as HighestSpec has them.
struct StepLogits {
    const float* data = nullptr;
    uint32_t rows = 0, stride = 0, vocabulary = 0;
    const IndexedLogit* highest = nullptr;

    std::span<const float> row(uint32_t index) const { return {data + size_t(index) * stride, vocabulary}; }
    std::span<const IndexedLogit> highest_of(uint32_t index) const {
        return {highest + size_t(index) * kHighest, kHighest};
    }
};

class Sequences {
public:
    static Result<Sequences> create(std::shared_ptr<const DeviceModel> model, const SequenceLimits& limits);

    Result<SequenceId> open();
    // A sequence that goes on where `origin` is now. They share their past in the cache, which costs no memory until
    // either goes on; running states are copied. This, truncate(), close() and length() take ids that are open.
    Result<SequenceId> fork(SequenceId origin);
    // Forgets everything from `length` on, if it is that long. Where the model keeps running states, it goes back to
    // where they are kept (RunningStates), which may be less: length() says how far, and the rest is to be read again.
    Result<void> truncate(SequenceId id, uint32_t length);
    // Fails where truncate() may go back farther than it is told: for whoever has to take back what was just read.
    Result<void> check_truncatable() const;
    // The next positions hold what the cache's memory held, zeros at first, and leave running states as they are: for
    // those who count what a step behind them takes. Fails on more positions than there is room for.
    Result<void> skip(SequenceId id, uint32_t positions);
    void close(SequenceId id);

    // The first `length` positions of a text as bytes, saved_bytes() of them in pieces, which restore() takes on a
    // model of the same weights, options and back end. Where the model keeps running states, only all of the text can
    // be saved. restore() makes them the text of an empty sequence, or fails and leaves it empty.
    using Sink = std::function<Result<void>(std::span<const std::byte>)>;
    using Source = std::function<Result<void>(std::span<std::byte>)>;  // fills what it is given
    uint64_t saved_bytes(uint32_t length) const;
    Result<void> save(SequenceId id, uint32_t length, const Sink& sink) const;
    // The same bytes from `offset` on, as far as pieces of them end within kSavedAtOnce, or one: for who has other
    // things to do in between. `offset` is a piece's beginning.
    static constexpr uint64_t kSavedAtOnce = 4 << 20;
    Result<void> save_some(SequenceId id, uint32_t length, uint64_t offset, std::vector<std::byte>& bytes) const;
    Result<void> restore(SequenceId id, uint32_t length, const Source& source);
    // The same for who has other things to do in between: skip() to the text's length in an empty sequence, then its
    // bytes in order, in parts of any size, `offset` of them before these. The text may be gone on with after the last.
    Result<void> restore_some(SequenceId id, uint64_t offset, std::span<const std::byte> bytes);

    uint32_t length(SequenceId id) const { return tables_.length(id); }
    const PageTables& tables() const { return tables_; }

    // Fails on no rows, more rows or wanted logits than the model's options allow, a sequence that is not open or is
    // full, a full cache, or a token that is not the model's, or, where the model keeps running states or is an
    // encoder, on rows of a sequence that do not follow each other, of an encoder's also on those that follow others of
    // an earlier step, and then changes nothing. Allocates nothing. A device that fails meanwhile leaves texts behind
    // that cannot go on.
    Result<StepLogits> step(std::span<const StepRow> rows, LogitReading reading = LogitReading::rows);
    // All logits of the last step, which had some.
    Result<StepLogits> read_rows();

    // Of the last step: which launch wrote the first float that is no number, as
    // "blk.3.attn_q (matmul q4_k 1024x1024, vector form)"; nullopt when repeating it finds none.
    std::optional<std::string> first_not_finite();

    // Every step shows the rows of each product before it; ids of weights are those of the model's graph, where it was
    // made without passes. Null: none.
    Result<void> observe(const ProductObserver& observer);

    // Whether the device notes how long its threads are in each step.
    void set_timed(bool is_timed);
    struct PlanTimes {
        const graph::Plan& plan;
        std::vector<StepTimes> threads;
    };
    std::vector<PlanTimes> times() const;  // of both plans, since set_timed(true)

    const DeviceModel& model() const { return *model_; }
    const SequenceLimits& limits() const { return limits_; }
    uint64_t kv_bytes() const { return kv_.bytes; }  // reserved for all positions

private:
    Sequences(std::shared_ptr<const DeviceModel> model, const SequenceLimits& limits);

    Result<void> allocate();
    Result<void> bind();
    Result<void> check_rows(std::span<const StepRow> rows);
    Result<void> check_order(std::span<const StepRow> rows, std::string_view asking) const;
    Result<void> check_whole(std::span<const StepRow> rows) const;
    Result<void> check_growth() const;
    Result<void> extend(SequenceId id, uint32_t positions);
    Result<void> place_rows(std::span<const StepRow> rows);
    Result<void> read_back(SequenceId id, uint32_t length, const Source& source);

    std::shared_ptr<const DeviceModel> model_;
    SequenceLimits limits_;
    PageTables tables_;
    KvCache kv_;
    RunningStates states_;
    Address arena_ = nullptr, token_ids_ = nullptr, position_ids_ = nullptr;
    std::vector<Address> rope_addresses_;
    std::unique_ptr<BoundPlan> decode_, prompt_;
    BoundPlan* last_run_ = nullptr;
    const graph::Plan* last_plan_ = nullptr;

    // Of the step.
    Batch batch_;
    std::vector<int32_t> ids_;
    std::vector<uint32_t> grown_by_, next_position_;  // by sequence
    std::vector<float> rope_rows_;
    std::unique_ptr<float[]> logits_;    // [max_outputs][logits_stride], touched where the device does not show its own
    std::vector<IndexedLogit> highest_;  // [max_outputs][kHighest]
    uint32_t outputs_ = 0;
};

}  // namespace riftjit::runtime
