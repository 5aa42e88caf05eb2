// A model bound to this machine: packed weights, kernels, plans, KV cache; tokens in, logits out.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "graph/plan.h"
#include "host/result.h"
#include "runtime/device.h"

namespace riftjit::runtime {

struct SessionOptions {
    uint32_t context;      // positions the KV cache may hold
    uint32_t batch = 512;  // rows per step while a prompt is read (-ub)
    DType key_type = DType::F16, value_type = DType::F16;
    std::string passes = "all";
    bool all_logits = false;  // graph keeps logits of every row
};

class Session {
public:
    // release(range) is called after a weight was packed, so that file pages can be dropped.
    using Release = std::function<void(std::span<const std::byte>)>;
    // The graph and what it points to are not needed afterwards.
    static Result<Session> create(const graph::Graph& graph, const SessionOptions& options,
                                  std::unique_ptr<Device> device, const Release& release);
    Session(Session&&) noexcept;
    Session& operator=(Session&&) noexcept;
    ~Session();

    // Appends tokens at position(). Logits: of the last token, or of all of them with all_logits.
    // `logits` stays valid until the next call. Fails when the context is full (both numbers named), and then changes
    // nothing. Allocates nothing unless all_logits is set.
    Result<std::span<const float>> evaluate(std::span<const int32_t> ids);

    // After an evaluation whose logits are no numbers: which launch of its last batch wrote the first such value, as
    // "blk.3.attn_q (matmul q4_k 1024x1024, vector form)"; nullopt when repeating it finds none.
    std::optional<std::string> first_not_finite();

    uint32_t position() const;
    uint32_t context() const;
    void truncate(uint32_t position);  // forgets everything from there on
    uint32_t vocabulary() const;
    uint64_t kv_bytes() const;  // reserved for the full context
    uint64_t packed_bytes() const;
    Result<double> weights_read_rate() const;  // bytes per second at which the device reads what every token reads
    Result<void> lock_weights() const;         // keeps them in memory
    const graph::Plan& decode_plan() const;
    const graph::Plan& prompt_plan() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
    explicit Session(std::unique_ptr<Impl> impl);
};

}  // namespace riftjit::runtime
