#include "runtime/session.h"

#include <algorithm>
#include <array>

#include "runtime/kv_cache.h"
#include "runtime/plan_set.h"
#include "runtime/rope_tables.h"
#include "runtime/weights.h"

namespace riftjit::runtime {
namespace {

// A plan with what it runs on. Both plans of a session share arena, caches and weights.
struct Stage {
    graph::Plan plan;
    std::unique_ptr<BoundPlan> bound;
    std::vector<RopeTableRows> rope;
    std::vector<Address> rope_addresses;
};

// Token ids index rows of this table.
uint32_t embedding_rows(const graph::Graph& graph) {
    for (const graph::Node& node : graph.nodes)
        if (const auto* embed = std::get_if<graph::EmbedOp>(&node.op)) return graph.tensor(embed->table).rows;
    return 0;
}

Result<void> check_options(const graph::Graph& graph, const SessionOptions& options) {
    if (options.context == 0) return fail(ErrorKind::Usage, "context 0: expected 1 position or more");
    if (options.batch == 0) return fail(ErrorKind::Usage, "batch 0: expected 1 row or more");
    if (graph.logits == graph::kNoTensor || embedding_rows(graph) == 0)
        return fail(ErrorKind::Unsupported, "a session needs a graph that embeds tokens and computes logits");
    return {};
}

}  // namespace

struct Session::Impl {
    SessionOptions options;
    std::unique_ptr<Device> device;
    Stage decode, prompt;
    Address arena = nullptr, token_ids = nullptr;
    LoadedWeights weights;
    KvCache kv;
    uint32_t position = 0;
    BoundPlan* last_run = nullptr;
    uint32_t vocabulary = 0, token_limit = 0;
    std::vector<float> read_logits;  // of the last batch, row by row as the device has them
    std::vector<float> every_row;    // with all_logits: the logits of a whole call

    Result<void> allocate(const graph::Graph& graph, const Device::Release& release);
    Result<void> make_rope_tables(const graph::Graph& graph, Stage& stage);
    Result<void> bind(Stage& stage);

    Result<void> check_ids(std::span<const int32_t> ids) const;
    std::span<const float> run_batch(std::span<const int32_t> ids);
    void keep_rows(std::span<const float> rows, uint32_t count, uint32_t stride);
};

Result<void> Session::Impl::allocate(const graph::Graph& graph, const Device::Release& release) {
    const uint64_t arena_bytes = std::max(decode.plan.arena_bytes, prompt.plan.arena_bytes);
    RIFTJIT_TRY(arena_address, device->allocate(arena_bytes, MemoryUse::random, "the activations"));
    arena = arena_address;
    RIFTJIT_TRY(ids_address, device->allocate(uint64_t(prompt.plan.max_tokens) * sizeof(int32_t), MemoryUse::random,
                                              "the token ids"));
    token_ids = ids_address;
    RIFTJIT_TRY_VOID(make_rope_tables(graph, decode));
    RIFTJIT_TRY_VOID(make_rope_tables(graph, prompt));
    const KvShape shape{graph.layers,    graph.kv_heads,   graph.head_dim,
                        options.context, options.key_type, options.value_type};
    RIFTJIT_TRY(cache, reserve_kv_cache(shape, *device));
    kv = std::move(cache);
    RIFTJIT_TRY(loaded,
                load_weights(graph, std::array<const graph::Plan*, 2>{&decode.plan, &prompt.plan}, *device, release));
    weights = std::move(loaded);
    return {};
}

Result<void> Session::Impl::make_rope_tables(const graph::Graph& graph, Stage& stage) {
    for (const graph::RopeTable& table : stage.plan.rope_tables) {
        std::vector<float> factors;
        if (table.factors != graph::kNoTensor) factors = vector_weight(graph.tensor(table.factors));
        const RopeTableRows& rows = stage.rope.emplace_back(table, factors, stage.plan.max_tokens);
        const uint64_t bytes = uint64_t(stage.plan.max_tokens) * rows.floats_per_token() * sizeof(float);
        RIFTJIT_TRY(address, device->allocate(bytes, MemoryUse::random, "a table of rotations"));
        stage.rope_addresses.push_back(address);
    }
    return {};
}

Result<void> Session::Impl::bind(Stage& stage) {
    const Addresses addresses{arena, weights.addresses, kv.keys, kv.values, stage.rope_addresses, token_ids};
    RIFTJIT_TRY(bound, device->bind(stage.plan, addresses));
    stage.bound = std::move(bound);
    return {};
}

Result<void> Session::Impl::check_ids(std::span<const int32_t> ids) const {
    if (ids.empty()) return fail(ErrorKind::Usage, "no tokens to evaluate");
    for (size_t i = 0; i < ids.size(); ++i)
        if (ids[i] < 0 || uint32_t(ids[i]) >= token_limit)
            return fail(ErrorKind::Usage, "token {} at index {} is outside the vocabulary of {}", ids[i], i,
                        token_limit);
    if (ids.size() > options.context - position)
        return fail(ErrorKind::Usage, "{} tokens after {} exceed the context of {} positions", ids.size(), position,
                    options.context);
    return {};
}

// With one row the decode plan reads the weights once; the prompt plan does so for any number of rows.
std::span<const float> Session::Impl::run_batch(std::span<const int32_t> ids) {
    Stage& stage = ids.size() == 1 ? decode : prompt;
    const auto tokens = uint32_t(ids.size());
    device->write(token_ids, std::as_bytes(ids));
    for (size_t i = 0; i < stage.rope.size(); ++i)
        device->write(stage.rope_addresses[i], std::as_bytes(stage.rope[i].fill(position, tokens)));
    stage.bound->run(tokens, position);
    last_run = stage.bound.get();
    position += tokens;
    const uint32_t rows = std::min(stage.plan.logits_rows, tokens);
    const uint64_t floats = uint64_t(rows - 1) * stage.plan.logits_stride + vocabulary;
    const auto logits = std::span(read_logits).first(floats);
    device->read(std::as_writable_bytes(logits), arena + stage.plan.logits_offset_bytes);
    if (options.all_logits) keep_rows(logits, rows, stage.plan.logits_stride);
    return logits;
}

void Session::Impl::keep_rows(std::span<const float> rows, uint32_t count, uint32_t stride) {
    for (uint32_t row = 0; row < count; ++row) {
        const auto one = rows.subspan(size_t(row) * stride, vocabulary);
        every_row.insert(every_row.end(), one.begin(), one.end());
    }
}

Result<Session> Session::create(const graph::Graph& graph, const SessionOptions& options,
                                std::unique_ptr<Device> device, const Release& release) {
    RIFTJIT_TRY_VOID(check_options(graph, options));
    const PlanSetOptions plan_options{&device->backend(), std::min(options.batch, options.context), options.key_type,
                                      options.value_type, options.passes};
    RIFTJIT_TRY(plans, make_plans(graph, plan_options));
    auto impl = std::make_unique<Impl>();
    impl->options = options;
    impl->vocabulary = graph.tensor(graph.logits).width;
    impl->token_limit = embedding_rows(graph);
    impl->decode.plan = std::move(plans.decode);
    impl->prompt.plan = std::move(plans.prompt);
    const graph::Plan& prompt = impl->prompt.plan;
    impl->read_logits.resize(uint64_t(prompt.logits_rows) * prompt.logits_stride);
    impl->device = std::move(device);
    RIFTJIT_TRY_VOID(impl->allocate(plans.graph, release));
    RIFTJIT_TRY_VOID(impl->bind(impl->decode));
    RIFTJIT_TRY_VOID(impl->bind(impl->prompt));
    RIFTJIT_TRY_VOID(impl->device->make_ready());
    return Session(std::move(impl));
}

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

Result<std::span<const float>> Session::evaluate(std::span<const int32_t> ids) {
    Impl& session = *impl_;
    RIFTJIT_TRY_VOID(session.check_ids(ids));
    session.every_row.clear();
    std::span<const float> logits;
    for (size_t done = 0; done < ids.size();) {
        const size_t count = std::min<size_t>(ids.size() - done, session.prompt.plan.max_tokens);
        logits = session.run_batch(ids.subspan(done, count));
        done += count;
    }
    if (session.options.all_logits) return std::span<const float>(session.every_row);
    return logits.first(session.vocabulary);
}

std::optional<std::string> Session::first_not_finite() {
    const graph::Step* step = impl_->last_run == nullptr ? nullptr : impl_->last_run->first_not_finite();
    if (step == nullptr) return std::nullopt;
    return fmt::format("{} ({})", step->name, describe(step->spec));
}

uint32_t Session::position() const { return impl_->position; }
uint32_t Session::context() const { return impl_->options.context; }
void Session::truncate(uint32_t position) { impl_->position = std::min(position, impl_->position); }
uint32_t Session::vocabulary() const { return impl_->vocabulary; }
uint64_t Session::kv_bytes() const { return impl_->kv.bytes; }
uint64_t Session::packed_bytes() const { return impl_->weights.bytes; }
Result<double> Session::weights_read_rate() const {
    return impl_->device->read_rate(impl_->weights.memory, impl_->weights.bytes);
}
Result<void> Session::lock_weights() const { return impl_->device->lock(impl_->weights.memory, impl_->weights.bytes); }
const graph::Plan& Session::decode_plan() const { return impl_->decode.plan; }
const graph::Plan& Session::prompt_plan() const { return impl_->prompt.plan; }

}  // namespace riftjit::runtime
