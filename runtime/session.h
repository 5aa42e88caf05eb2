// One text on a model of its own: tokens in, logits out. What programs with a single text need of DeviceModel and
// Sequences.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/result.h"
#include "runtime/sequences.h"

namespace riftjit::runtime {

struct SessionOptions {
    uint32_t context;      // positions the KV cache may hold
    uint32_t batch = 512;  // rows per step while a prompt is read (-ub)
    DType key_type = DType::F16, value_type = DType::F16;
    std::string passes = "all";
    uint32_t outputs = 1;  // rows per step that may have logits
    Activations activations = Activations::i13;
};

// What a model and its sequences take of a device's memory, but for a batch's tables, which are small.
struct MemoryNeed {
    uint64_t weights = 0, kv = 0, activations = 0;  // bytes
    uint64_t total() const { return weights + kv + activations; }
};
Result<MemoryNeed> memory_need(const graph::Graph& graph, const ModelOptions& options, const SequenceLimits& limits,
                               const Backend& backend);

enum class LogitRows : uint8_t { last, all };

class Session {
public:
    using Release = Device::Release;
    // The graph and what it points to are not needed afterwards.
    static Result<Session> create(const graph::Graph& graph, const SessionOptions& options,
                                  std::unique_ptr<Device> device, const Release& release);

    static Result<Session> create(std::shared_ptr<const DeviceModel> model, uint32_t context);

    // Appends tokens at position(). Returns the logits of the last token or of all, [rows][vocabulary], which stay
    // valid until the next call. Fails when the context is full (both numbers named), and then changes nothing.
    // Allocates nothing for the last token's logits.
    Result<std::span<const float>> evaluate(std::span<const int32_t> ids, LogitRows rows = LogitRows::last);

    // The same, of the last token and as it is to be read.
    Result<StepLogits> append(std::span<const int32_t> ids, LogitReading reading);

    // Appends tokens in one step, of which the first `unwanted` have no logits, and up to most_outputs() others. The
    // logits of each of these, where the device shows them: nothing is copied. Valid until the next call of this,
    // append() or evaluate(). Allocates nothing.
    Result<StepLogits> step(std::span<const int32_t> ids, LogitReading reading = LogitReading::rows,
                            size_t unwanted = 0);
    Result<StepLogits> read_rows() { return sequences_.read_rows(); }  // of the last step
    bool finds_highest() const { return model().finds_highest(); }
    uint32_t most_rows() const { return prompt_plan().max_tokens; }  // of a step
    uint32_t most_outputs() const { return std::min(prompt_plan().max_outputs, most_rows()); }

    std::optional<std::string> first_not_finite() { return sequences_.first_not_finite(); }

    Result<void> observe(const ProductObserver& observer) { return sequences_.observe(observer); }
    void set_timed(bool is_timed) { sequences_.set_timed(is_timed); }
    std::vector<Sequences::PlanTimes> times() const { return sequences_.times(); }

    uint32_t position() const { return sequences_.length(text_); }
    uint32_t context() const { return sequences_.limits().positions; }
    // Forgets everything from there on, or from farther back (Sequences::truncate()): position() says so.
    Result<void> truncate(uint32_t position) { return sequences_.truncate(text_, position); }
    Result<void> check_truncatable() const { return sequences_.check_truncatable(); }
    // As Sequences has them; what the session held is forgotten.
    uint64_t saved_bytes(uint32_t length) const { return sequences_.saved_bytes(length); }
    Result<void> save(uint32_t length, const Sequences::Sink& sink) const {
        return sequences_.save(text_, length, sink);
    }
    Result<void> restore(uint32_t length, const Sequences::Source& source) {
        RIFTJIT_TRY_VOID(sequences_.truncate(text_, 0));
        return sequences_.restore(text_, length, source);
    }
    uint32_t token_limit() const { return model().token_limit; }
    uint32_t vocabulary() const { return model().vocabulary; }
    uint64_t kv_bytes() const { return sequences_.kv_bytes(); }  // reserved for the full context
    uint64_t packed_bytes() const { return model().weights.bytes; }
    // Bytes per second at which the device reads what every token reads.
    Result<double> weights_read_rate() const {
        return model().device->read_rate(model().weights.memory, model().weights.bytes);
    }
    // Keeps them in memory.
    Result<void> lock_weights() const { return model().device->lock(model().weights.memory, model().weights.bytes); }
    const graph::Plan& decode_plan() const { return model().decode_plan; }
    const graph::Plan& prompt_plan() const { return model().prompt_plan; }

private:
    Session(Sequences sequences, SequenceId text);

    const DeviceModel& model() const { return sequences_.model(); }
    Result<void> check_ids(std::span<const int32_t> ids) const;
    void begin_step(std::span<const int32_t> ids, StepRow::Logits logits);

    Sequences sequences_;
    SequenceId text_;
    std::vector<StepRow> step_;
    std::vector<float> every_row_;  // the logits of a whole call
};

}  // namespace riftjit::runtime
