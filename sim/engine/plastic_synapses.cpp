#include "sim/engine/plastic_synapses.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace riftjit::sim {

namespace {

constexpr uint32_t kBatch = 1024;  // a handful of columns of it fit the first-level cache

bool lasts(ColumnRole role) { return role == ColumnRole::state || role == ColumnRole::weight; }

Result<Pages> batch_memory(ColumnType type) {
    return Pages::allocate(uint64_t(kBatch + kColumnPadding) * column_bytes(type), Pages::Size::normal,
                           "plastic synapses");
}

template <size_t Bytes>
void gather(const std::byte* from, std::span<const uint32_t> places, std::byte* to) {
    for (size_t i = 0; i < places.size(); ++i) std::memcpy(to + i * Bytes, from + places[i] * Bytes, Bytes);
}
template <size_t Bytes>
void scatter(const std::byte* from, std::span<const uint32_t> places, std::byte* to) {
    for (size_t i = 0; i < places.size(); ++i) std::memcpy(to + places[i] * Bytes, from + i * Bytes, Bytes);
}

}  // namespace

uint64_t PlasticSynapses::bytes_per_synapse(const PlasticRule& rule) {
    uint64_t bytes = sizeof(uint32_t) + sizeof(uint16_t) + sizeof(uint32_t);  // target, delay, last event
    std::vector<ColumnBinding> known;
    for (const LoweredProgram* program : {&rule.on_pre, &rule.on_post}) {
        for (size_t i = 0; i < program->columns.size(); ++i) {
            const ColumnBinding& binding = program->columns[i];
            if (!lasts(binding.role) || std::find(known.begin(), known.end(), binding) != known.end()) continue;
            known.push_back(binding);
            bytes += column_bytes(program->spec.columns[i]);
        }
    }
    return bytes;
}

Result<PlasticSynapses> PlasticSynapses::create(const Blueprint& blueprint, const BlueprintProjection& projection,
                                                std::vector<uint64_t> row_starts) {
    const PlasticRule& rule = *projection.rule;
    PlasticSynapses synapses;
    synapses.blueprint_ = &blueprint;
    synapses.starts_ = std::move(row_starts);
    synapses.replayed_end_.resize(synapses.starts_.size() - 1);
    RIFTJIT_TRY_VOID(synapses.add_columns(rule.on_pre));
    RIFTJIT_TRY_VOID(synapses.add_columns(rule.on_post));
    synapses.has_post_events_ = rule.has_post_events;
    synapses.pre_.kernel = rule.pre_kernel;
    synapses.post_.kernel = rule.post_kernel;
    RIFTJIT_TRY_VOID(synapses.bind(synapses.pre_, rule.on_pre));
    RIFTJIT_TRY_VOID(synapses.bind(synapses.post_, rule.on_post));
    check(synapses.pre_.delivered != nullptr, "a spike of the source sends something");
    synapses.weight_ = synapses.column_of(ColumnRole::weight, "");
    for (const auto& [name, value] : rule.start) {
        const size_t column = synapses.column_of(ColumnRole::state, name);
        if (column < synapses.columns_.size()) synapses.column_start_.push_back({column, value});
    }
    const auto allocate = [&](Pages& pages, uint64_t bytes) -> Result<void> {
        RIFTJIT_TRY(memory, Pages::allocate(synapses.size() * bytes, Pages::Size::huge, "plastic synapses"));
        pages = std::move(memory);
        return {};
    };
    for (Column& column : synapses.columns_) RIFTJIT_TRY_VOID(allocate(column.values, column_bytes(column.type)));
    RIFTJIT_TRY_VOID(allocate(synapses.targets_, sizeof(uint32_t)));
    RIFTJIT_TRY_VOID(allocate(synapses.delays_, sizeof(uint16_t)));
    RIFTJIT_TRY_VOID(allocate(synapses.last_, sizeof(uint32_t)));
    synapses.synapse_.resize(kBatch);
    synapses.next_event_.resize(kBatch);
    synapses.end_event_.resize(kBatch);
    synapses.is_coincident_.resize(kBatch);
    synapses.active_.reserve(kBatch);
    return synapses;
}

// Roles other than state are told apart by the role alone.
size_t PlasticSynapses::column_of(ColumnRole role, const std::string& name) const {
    const auto same = [&](const Column& column) {
        return column.role == role && (role != ColumnRole::state || column.name == name);
    };
    return static_cast<size_t>(std::find_if(columns_.begin(), columns_.end(), same) - columns_.begin());
}

Result<void> PlasticSynapses::add_columns(const LoweredProgram& program) {
    for (size_t i = 0; i < program.columns.size(); ++i) {
        const ColumnBinding& binding = program.columns[i];
        if (!lasts(binding.role) || column_of(binding.role, binding.name) < columns_.size()) continue;
        const ColumnType type = program.spec.columns[i];
        RIFTJIT_TRY(batch, batch_memory(type));
        RIFTJIT_TRY(subset, batch_memory(type));
        columns_.push_back({type, binding.role, binding.name, {}, std::move(batch), std::move(subset)});
    }
    return {};
}

Result<void> PlasticSynapses::bind(Program& program, const LoweredProgram& lowered) {
    for (size_t i = 0; i < lowered.columns.size(); ++i) {
        const ColumnBinding& binding = lowered.columns[i];
        if (lasts(binding.role)) {
            const Column& column = columns_[column_of(binding.role, binding.name)];
            program.columns.push_back(&program == &pre_ ? column.batch.data() : column.subset.data());
            continue;
        }
        check(lowered.spec.columns[i] == ColumnType::f64, "times and what is delivered are f64");
        RIFTJIT_TRY(memory, batch_memory(ColumnType::f64));
        program.columns.push_back(memory.data());
        double** const place = binding.role == ColumnRole::event_time   ? &program.event_time
                               : binding.role == ColumnRole::coincident ? &program.coincident
                                                                        : &program.delivered;
        check(place != &program.delivered || binding.role == ColumnRole::delivered,
              "programs of synapses have columns of synapses");
        *place = memory.as<double>();
        temporaries_.push_back(std::move(memory));
    }
    return {};
}

void PlasticSynapses::set_row(uint32_t source, std::span<Entry> entries) {
    std::stable_sort(entries.begin(), entries.end(),
                     [](const Entry& a, const Entry& b) { return a.target < b.target; });
    uint64_t synapse = starts_[source];
    for (const Entry& entry : entries) {
        targets_.as<uint32_t>()[synapse] = entry.target;
        delays_.as<uint16_t>()[synapse] = entry.delay;
        ++synapse;
    }
    const auto element = [&](size_t i) { return static_cast<uint32_t>(i); };
    if (weight_ < columns_.size()) {
        const Column& weight = columns_[weight_];
        std::byte* const row = weight.values.data() + starts_[source] * column_bytes(weight.type);
        for (size_t i = 0; i < entries.size(); ++i) write_column(row, weight.type, element(i), entries[i].weight);
    }
    for (const auto& [index, value] : column_start_) {
        const Column& column = columns_[index];
        std::byte* const row = column.values.data() + starts_[source] * column_bytes(column.type);
        for (size_t i = 0; i < entries.size(); ++i) write_column(row, column.type, element(i), value);
    }
}

void PlasticSynapses::fire(uint32_t step, std::span<const uint32_t> sources, const SpikeHistory* history,
                           ArrivalRing& ring) {
    for (size_t i = 0; i < sources.size(); ++i) {
        // Once more in the same step: the synapses must have taken the first spike before they are copied again.
        if (i > 0 && sources[i] == sources[i - 1]) process_batch(step, Source::fired, history, &ring);
        add_to_batch(step, sources[i], Source::fired, history, &ring);
    }
    process_batch(step, Source::fired, history, &ring);
}

void PlasticSynapses::replay(uint32_t step, const SpikeHistory& history) {
    if (!has_post_events()) return;
    for (uint32_t source = 0; source + 1 < starts_.size(); ++source)
        add_to_batch(step, source, Source::silent, &history, nullptr);
    process_batch(step, Source::silent, &history, nullptr);
}

void PlasticSynapses::add_to_batch(uint32_t step, uint32_t source, Source happening, const SpikeHistory* history,
                                   ArrivalRing* ring) {
    for (uint64_t first = starts_[source]; first < starts_[source + 1];) {
        if (batch_ == kBatch) process_batch(step, happening, history, ring);
        const auto count = static_cast<uint32_t>(std::min<uint64_t>(starts_[source + 1] - first, kBatch - batch_));
        segments_.push_back({first, count, replayed_end_[source]});
        for (uint32_t i = 0; i < count; ++i) synapse_[batch_ + i] = first + i;
        batch_ += count;
        first += count;
    }
    replayed_end_[source] = step + 1;
}

void PlasticSynapses::process_batch(uint32_t step, Source happening, const SpikeHistory* history, ArrivalRing* ring) {
    if (batch_ == 0) return;
    copy_batch(Copy::in);
    if (has_post_events()) {
        find_post_events(step, *history);
        replay_batch(*history);
    }
    if (happening == Source::fired) fire_batch(step, *ring);
    copy_batch(Copy::out);
    segments_.clear();
    batch_ = 0;
}

void PlasticSynapses::copy_batch(Copy direction) {
    for (const Column& column : columns_) {
        const uint64_t bytes = column_bytes(column.type);
        std::byte* place = column.batch.data();
        for (const Segment& segment : segments_) {
            std::byte* const row = column.values.data() + segment.first * bytes;
            if (direction == Copy::out) {
                std::memcpy(row, place, segment.count * bytes);
            } else {
                std::memcpy(place, row, segment.count * bytes);
            }
            place += segment.count * bytes;
        }
    }
}

// Which spikes of its target each synapse has still to see: those that act in [replayed end, step].
void PlasticSynapses::find_post_events(uint32_t step, const SpikeHistory& history) {
    const auto* targets = targets_.as<const uint32_t>();
    const auto* delays = delays_.as<const uint16_t>();
    uint32_t i = 0;
    for (const Segment& segment : segments_) {
        for (uint64_t synapse = segment.first; synapse < segment.first + segment.count; ++synapse, ++i) {
            const std::span<const uint32_t> spikes = history.of(targets[synapse]);
            const uint64_t delay = delays[synapse];
            auto end = static_cast<uint32_t>(spikes.size());
            while (end > 0 && spikes[end - 1] + delay > step) --end;
            uint32_t next = end;
            while (next > 0 && spikes[next - 1] + delay >= segment.replayed_end) --next;
            next_event_[i] = next;
            end_event_[i] = end;
            is_coincident_[i] = end > 0 && spikes[end - 1] + delay == step;
        }
    }
}

void PlasticSynapses::copy_subset(Copy direction) {
    const bool out = direction == Copy::out;
    for (const Column& column : columns_) {
        const std::byte* const from = out ? column.subset.data() : column.batch.data();
        std::byte* const to = out ? column.batch.data() : column.subset.data();
        const uint32_t bytes = column_bytes(column.type);
        if (bytes == 8) {
            out ? scatter<8>(from, active_, to) : gather<8>(from, active_, to);
        } else if (bytes == 4) {
            out ? scatter<4>(from, active_, to) : gather<4>(from, active_, to);
        } else if (bytes == 2) {
            out ? scatter<2>(from, active_, to) : gather<2>(from, active_, to);
        } else {
            out ? scatter<1>(from, active_, to) : gather<1>(from, active_, to);
        }
    }
}

void PlasticSynapses::replay_batch(const SpikeHistory& history) {
    auto* last = last_.as<uint32_t>();
    while (true) {
        active_.clear();
        for (uint32_t i = 0; i < batch_; ++i) {
            if (next_event_[i] == end_event_[i]) continue;
            const uint64_t synapse = synapse_[i];
            const uint32_t spike = history.of(targets_.as<uint32_t>()[synapse])[next_event_[i]++];
            const uint32_t stamp = blueprint_->stamp(spike + delays_.as<uint16_t>()[synapse]);
            if (post_.event_time) post_.event_time[active_.size()] = (stamp - last[synapse]) * blueprint_->step_ms;
            last[synapse] = stamp;
            active_.push_back(i);
        }
        if (active_.empty()) return;
        copy_subset(Copy::in);
        run(post_, static_cast<uint32_t>(active_.size()));
        copy_subset(Copy::out);
    }
}

void PlasticSynapses::fire_batch(uint32_t step, ArrivalRing& ring) {
    auto* last = last_.as<uint32_t>();
    const uint32_t stamp = blueprint_->stamp(step);
    for (uint32_t i = 0; i < batch_; ++i) {
        uint32_t& before = last[synapse_[i]];
        if (pre_.event_time) pre_.event_time[i] = (stamp - before) * blueprint_->step_ms;
        if (pre_.coincident) pre_.coincident[i] = is_coincident_[i] ? 1 : 0;
        before = stamp;
    }
    run(pre_, batch_);
    for (uint32_t i = 0; i < batch_; ++i) {
        const uint32_t lag = blueprint_->lag(delays_.as<uint16_t>()[synapse_[i]]);
        ring.add(step, lag, targets_.as<uint32_t>()[synapse_[i]], pre_.delivered[i]);
    }
    delivered_ += batch_;
}

void PlasticSynapses::run(Program& program, uint32_t elements) {
    ColumnProgramArgs args{};
    args.columns = program.columns.data();
    args.elements = elements;
    program.kernel(&args, 0, elements);
}

std::vector<std::span<std::byte>> PlasticSynapses::row_columns(uint32_t source) {
    std::vector<std::span<std::byte>> spans;
    const auto add = [&](const Pages& pages, uint64_t bytes) {
        spans.emplace_back(pages.data() + starts_[source] * bytes, (starts_[source + 1] - starts_[source]) * bytes);
    };
    for (const Column& column : columns_) add(column.values, column_bytes(column.type));
    add(last_, sizeof(uint32_t));
    return spans;
}

void PlasticSynapses::append_weights(uint32_t source, std::vector<double>& weights) const {
    if (weight_ == columns_.size()) return;
    const Column& column = columns_[weight_];
    const std::byte* const row = column.values.data() + starts_[source] * column_bytes(column.type);
    for (uint64_t i = 0; i < starts_[source + 1] - starts_[source]; ++i)
        weights.push_back(read_column(row, column.type, static_cast<uint32_t>(i)));
}

std::optional<PlasticSynapses::Fault> PlasticSynapses::find_fault() const {
    for (uint32_t source = 0; source < sources(); ++source) {
        for (const Column& column : columns_) {
            const std::byte* const row = column.values.data() + starts_[source] * column_bytes(column.type);
            for (uint64_t i = 0; i < row_size(source); ++i) {
                const double value = read_column(row, column.type, static_cast<uint32_t>(i));
                if (std::isfinite(value)) continue;
                return Fault{source, targets_.as<const uint32_t>()[starts_[source] + i],
                             column.role == ColumnRole::weight ? "w" : column.name, value};
            }
        }
    }
    return std::nullopt;
}

void PlasticSynapses::set_replayed_end(uint32_t step) { std::fill(replayed_end_.begin(), replayed_end_.end(), step); }

}  // namespace riftjit::sim
