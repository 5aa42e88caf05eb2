// Attention over the cache.
#include <algorithm>

#include "graph/dequantize.h"
#include "graph/lowering.h"
#include "graph/quantize_row.h"
#include "graph/reference_run.h"
#include "graph/shapes.h"
#include "jit/alibi.h"

namespace riftjit::graph {

Result<TensorId> Graph::attention(std::string name, TensorId q, TensorId k, TensorId v, SlotId slot, uint32_t heads,
                                  float scale, const AttentionTraits& traits) {
    const auto* kv = slot < slots.size() ? std::get_if<KvSlot>(&slots[slot].shape) : nullptr;
    if (kv == nullptr) return fail(ErrorKind::Format, "{}: slot {} is none of keys and values", name, slot);
    const auto [kv_heads, head_dim] = *kv;
    if (kv_heads == 0 || heads % kv_heads != 0)
        return fail(ErrorKind::Format, "{}: {} query heads are not a multiple of {} key/value heads", name, heads,
                    kv_heads);
    RIFTJIT_TRY_VOID(expect_width(*this, name, "query", q, heads * head_dim));
    if ((k == kNoTensor) != (v == kNoTensor)) return fail(ErrorKind::Format, "{}: keys without values", name);
    if (k != kNoTensor) {
        RIFTJIT_TRY_VOID(expect_width(*this, name, "key", k, kv_heads * head_dim));
        RIFTJIT_TRY_VOID(expect_width(*this, name, "value", v, kv_heads * head_dim));
    }
    RIFTJIT_TRY_VOID(expect_vector(*this, name, "sinks", traits.sinks, heads));
    const TensorId out = add_activation(name, heads * head_dim);
    nodes.push_back({std::move(name), AttentionOp{q, k, v, out, slot, heads, kv_heads, head_dim, scale, traits}});
    return out;
}

namespace {

// The positions [first, end) that a query sees, of a text that ends before text_end.
struct Seen {
    uint32_t first, end;
};
Seen seen_from(uint32_t position, uint32_t text_end, const AttentionTraits& traits) {
    const bool is_causal = traits.sight == Sight::causal;
    if (traits.chunk != 0) return {position / traits.chunk * traits.chunk, position + 1};
    if (traits.window == 0) return {0, is_causal ? position + 1 : text_end};
    const uint32_t before = is_causal ? traits.window - 1 : traits.window / 2;
    return {position - std::min(position, before),
            is_causal ? position + 1 : std::min(text_end, position + traits.window / 2 + 1)};
}

// Heads of a cache's type as it returns them.
void append_cached(std::vector<double>& cache, std::span<const double> rows, DType type, uint32_t head_dim) {
    std::vector<float> head(head_dim);
    const auto rotate = [&](std::vector<double>& values) {
        for (uint32_t at = 0; is_rotated(type) && at < head_dim; at += kRotatedElements)
            reference::walsh_hadamard(std::span(values).subspan(at, kRotatedElements));
    };
    for (; !rows.empty(); rows = rows.subspan(head_dim)) {
        std::vector<double> values(rows.begin(), rows.begin() + head_dim);
        rotate(values);
        std::ranges::transform(values, head.begin(), [](double value) { return float(value); });
        const std::vector<std::byte> row = quantize_row(type, head);
        dequantize_row(type, row.data(), head_dim, head.data());
        values.assign(head.begin(), head.end());
        rotate(values);
        cache.insert(cache.end(), values.begin(), values.end());
    }
}

}  // namespace

template <>
Result<void> ReferenceRun::apply(const AttentionOp& op) {
    const uint32_t stride = op.kv_heads * op.head_dim, group = op.heads / op.kv_heads, tokens = token_count(op.q);
    auto &keys = owner_.keys_[op.slot], &values = owner_.values_[op.slot];
    if (op.k == kNoTensor) {
        // Another op has written them.
    } else if (owner_.cache_) {
        append_cached(keys, rows_[op.k], owner_.cache_->key_type, op.head_dim);
        append_cached(values, rows_[op.v], owner_.cache_->value_type, op.head_dim);
    } else {
        keys.insert(keys.end(), rows_[op.k].begin(), rows_[op.k].end());
        values.insert(values.end(), rows_[op.v].begin(), rows_[op.v].end());
    }
    const std::vector<double> sinks = weight_vector(op.traits.sinks);
    resize(op.out, tokens);
    for (uint32_t token = 0; token < tokens; ++token) {
        const auto [first, end] = seen_from(owner_.position_ + token, owner_.position_ + tokens, op.traits);
        for (uint32_t head = 0; head < op.heads; ++head) {
            const uint32_t offset = head * op.head_dim;
            const size_t kv_offset = size_t{first} * stride + head / group * op.head_dim;
            reference::attention_head(row(op.q, token) + offset, keys.data() + kv_offset, values.data() + kv_offset,
                                      end - first, stride, op.head_dim, op.scale, row(op.out, token) + offset,
                                      op.traits.softcap, sinks.empty() ? nullptr : &sinks[head],
                                      op.traits.alibi == 0 ? 0 : alibi_slope(head, op.heads, op.traits.alibi),
                                      owner_.position_ + token - first);
        }
    }
    return {};
}

template <>
Result<void> Lowering::lower(const AttentionOp& op) {
    if (gathered_[op.q]) return fail_gathered();
    const Place keys = cache_place(Place::Kind::keys, op.slot), values = cache_place(Place::Kind::values, op.slot);
    for (const DType type : {options_.key_type, options_.value_type}) {
        if (!is_rotated(type)) continue;
        const HadamardSpec rotation{graph_.tensor(op.q).width, kRotatedElements};
        if (const auto supported = options_.backend->supports(rotation); !supported)
            return fail(supported.error().kind, "{}, which a cache of {} needs", supported.error().message, name(type));
    }
    const auto rows_like = [&](TensorId id) {
        return scratch(uint64_t(plan_.max_tokens) * f32_row_bytes(graph_.tensor(id).width));
    };
    const auto rotate = [&](TensorId id, const Place& from, const Place& to) {
        emit(HadamardSpec{graph_.tensor(id).width, kRotatedElements}, {from, to}, StepRows::batch);
    };
    // As a cache of the type has it.
    const auto rotated = [&](TensorId id, DType type) {
        const Place rows = input(id);
        if (!is_rotated(type)) return rows;
        const Place turned = rows_like(id);
        rotate(id, rows, turned);
        return turned;
    };
    if (op.k != kNoTensor && !key_stored_[op.k]) {
        RopeSpec store = rope_spec(op.k, op.head_dim);
        store.key_cache = options_.key_type;
        emit(store, {rotated(op.k, options_.key_type), Place{}, Place{}, keys}, StepRows::batch);
    }
    if (op.v != kNoTensor)
        emit(ValueStoreSpec{op.kv_heads, op.head_dim, f32_stride(graph_.tensor(op.v).width), options_.value_type},
             {rotated(op.v, options_.value_type), values}, StepRows::batch);
    const Place q = rotated(op.q, options_.key_type), sinks = weight_place(op.traits.sinks);
    const bool turns_back = is_rotated(options_.value_type);
    const Place out = turns_back ? rows_like(op.out) : output(op.out);
    // Tiles, and rows that stand alone: a prompt plan takes both, a decode plan has but the latter.
    for (const MatmulForm form : {MatmulForm::tile, MatmulForm::vector})
        if (form == MatmulForm::vector || plan_.form == MatmulForm::tile)
            emit(AttentionSpec{op.heads, op.kv_heads, op.head_dim, f32_stride(graph_.tensor(op.q).width),
                               f32_stride(graph_.tensor(op.out).width), options_.key_type, options_.value_type,
                               op.scale, form, op.traits.softcap, op.traits.window,
                               op.traits.sinks == kNoTensor ? Presence::absent : Presence::present, op.traits.alibi,
                               op.traits.sight, op.traits.chunk},
                 {q, keys, values, out, sinks}, StepRows::batch);
    if (turns_back) rotate(op.out, out, output(op.out));
    return {};
}

}  // namespace riftjit::graph
