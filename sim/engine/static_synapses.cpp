#include "sim/engine/static_synapses.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace riftjit::sim {

namespace {

constexpr uint32_t kHeaderWords = 2;
constexpr uint32_t kLineBytes = 64;
// Runs of a step lie anywhere in memory: so many ahead are asked for, the first lines of each; the chip's own
// prefetcher follows a longer run from there.
constexpr size_t kRunsAhead = 8;
constexpr uint32_t kMostLinesAhead = 16;
constexpr uint64_t kMaxBlockWords = 1 << 23;  // unless a row is longer

}  // namespace

std::vector<RowGroup> row_groups(const Blueprint& blueprint) {
    std::vector<RowGroup> groups;
    for (uint32_t i = 0; i < blueprint.projections.size(); ++i) {
        const BlueprintProjection& projection = blueprint.projections[i];
        if (projection.rule) continue;
        const bool relayed = std::holds_alternative<RelayedPopulation>(blueprint.populations[projection.target].kind);
        const std::optional<double> weight = relayed ? 1.0 : projection.shared_weight;
        const bool by_target = projection.drawn_by == BlueprintProjection::DrawnBy::target;
        const auto same = std::find_if(groups.begin(), groups.end(), [&](const RowGroup& group) {
            return !group.is_drawn_by_target && group.source == projection.source && group.shared_weight == weight;
        });
        if (!by_target && same != groups.end()) {
            same->projections.push_back(i);
        } else {
            groups.push_back({projection.source, weight, by_target, {i}});
        }
    }
    return groups;
}

RowWriter::RowWriter(uint32_t owners, uint64_t chunk_words)
    : counts(kMaxLag + 1), seen(kMaxLag + 1), chunk_words_(chunk_words), chunks_(owners) {}

Result<uint32_t*> RowWriter::allocate(uint32_t owner, uint64_t words) {
    Room& chunk = chunks_[owner];
    if (words > chunk.left) {
        const uint64_t wanted = std::max(words, chunk_words_);
        if (wanted > block_.left) {
            const uint64_t size = std::max(wanted, std::min(chunk_words_ * chunks_.size(), kMaxBlockWords));
            RIFTJIT_TRY(block, Pages::allocate(size * sizeof(uint32_t), Pages::Size::huge, "the synapses"));
            block_ = {block.as<uint32_t>(), size};
            blocks_.push_back(std::move(block));
        }
        chunk = {block_.next, wanted};
        block_ = {block_.next + wanted, block_.left - wanted};
    }
    uint32_t* const result = chunk.next;
    chunk = {chunk.next + words, chunk.left - words};
    return result;
}

std::vector<uint32_t> lags_of(const std::vector<RowWriter>& writers) {
    std::vector<uint32_t> lags;
    for (uint32_t lag = 1; lag <= kMaxLag; ++lag) {
        const auto has_lag = [&](const RowWriter& writer) { return writer.seen[lag]; };
        if (std::any_of(writers.begin(), writers.end(), has_lag)) lags.push_back(lag);
    }
    return lags;
}

StaticSynapses::StaticSynapses(const Blueprint& blueprint, const std::vector<RowGroup>& groups, uint32_t owner)
    : owner_(owner) {
    for (const RowGroup& group : groups) {
        groups_.push_back(
            {group.source, entry_words(group.shared_weight, blueprint.precision), group.shared_weight.value_or(0), {}});
        groups_.back().starts.resize(blueprint.populations[group.source].size);
    }
}

// A counting sort by lag, straight into the row.
Result<void> StaticSynapses::add_row(RowWriter& writer, uint32_t group, uint32_t source,
                                     std::span<const Entry> entries) {
    if (entries.empty()) return {};
    Rows& rows = groups_[group];
    std::vector<uint32_t>& positions = writer.counts;
    std::vector<uint16_t>& lags = writer.lags;
    lags.clear();
    for (const Entry& entry : entries) {
        if (positions[entry.lag]++ == 0) lags.push_back(entry.lag);
    }
    std::sort(lags.begin(), lags.end());
    RIFTJIT_TRY(row, writer.allocate(owner_, entries.size() * rows.entry_words + (lags.size() + 1) * kHeaderWords));
    uint32_t position = 0;
    for (const uint16_t lag : lags) {
        const uint32_t count = positions[lag];
        row[position] = lag;
        row[position + 1] = count;
        positions[lag] = position + kHeaderWords;
        position += kHeaderWords + count * rows.entry_words;
        writer.seen[lag] = true;
    }
    row[position] = row[position + 1] = 0;
    for (const Entry& entry : entries) {
        uint32_t& place = positions[entry.lag];
        row[place] = entry.arrival;
        if (rows.entry_words == 2) row[place + 1] = std::bit_cast<uint32_t>(static_cast<float>(entry.weight));
        if (rows.entry_words == 3) std::memcpy(row + place + 1, &entry.weight, sizeof entry.weight);
        place += rows.entry_words;
    }
    for (const uint16_t lag : lags) positions[lag] = 0;
    rows.starts[source] = row;
    return {};
}

void StaticSynapses::finish(const std::vector<uint32_t>& lags) {
    lags_ = lags;
    spikes_.resize(max_lag() + 1);
}

void StaticSynapses::begin_step(uint32_t step) { spikes_of(step).clear(); }

void StaticSynapses::clear_spikes() {
    for (std::vector<Cursor>& spikes : spikes_) spikes.clear();
}

void StaticSynapses::spike(uint32_t step, uint32_t population, std::span<const uint32_t> elements) {
    if (elements.empty()) return;
    std::vector<Cursor>& spikes = spikes_of(step);
    for (uint32_t group = 0; group < groups_.size(); ++group) {
        const Rows& rows = groups_[group];
        if (rows.source != population) continue;
        const size_t first = spikes.size();
        for (const uint32_t element : elements) {
            const uint32_t* const row = rows.starts[element];
            if (row == nullptr) continue;
            __builtin_prefetch(row);
            spikes.push_back({row, 0, 0, static_cast<uint16_t>(group)});
        }
        for (size_t i = first; i < spikes.size(); ++i) read_header(spikes[i]);
    }
}

// From the header that the cursor stands at to the entries behind it.
void StaticSynapses::read_header(Cursor& cursor) {
    cursor.lag = static_cast<uint16_t>(cursor.entries[0]);
    cursor.count = cursor.entries[1];
    cursor.entries += kHeaderWords;
}

void StaticSynapses::prefetch(const Cursor& cursor, uint32_t entry_words) {
    const auto* line = reinterpret_cast<const std::byte*>(cursor.entries);
    // The next header is read too.
    const uint32_t bytes = (cursor.count * entry_words + kHeaderWords) * uint32_t(sizeof(uint32_t));
    const uint32_t lines = std::min(bytes / kLineBytes + 1, kMostLinesAhead);
    for (uint32_t i = 0; i < lines; ++i) __builtin_prefetch(line + i * kLineBytes);
}

void StaticSynapses::collect_due(uint32_t step) {
    due_.clear();
    for (const uint32_t lag : lags_) {
        if (lag > step) break;
        for (Cursor& cursor : spikes_of(step - lag))
            if (cursor.lag == lag) due_.push_back(&cursor);
    }
}

void StaticSynapses::deliver(uint32_t step, double* arrivals) {
    collect_due(step);
    const auto ask_for = [&](size_t run) { prefetch(*due_[run], groups_[due_[run]->group].entry_words); };
    for (size_t run = 0; run < std::min(kRunsAhead, due_.size()); ++run) ask_for(run);
    for (size_t run = 0; run < due_.size(); ++run) {
        if (run + kRunsAhead < due_.size()) ask_for(run + kRunsAhead);
        Cursor& cursor = *due_[run];
        const Rows& rows = groups_[cursor.group];
        const uint32_t* entry = cursor.entries;
        const uint32_t* const end = entry + uint64_t(cursor.count) * rows.entry_words;
        if (rows.entry_words == 1) {
            for (; entry != end; ++entry) arrivals[*entry] += rows.weight;
        } else if (rows.entry_words == 2) {
            for (; entry != end; entry += 2) arrivals[entry[0]] += double(std::bit_cast<float>(entry[1]));
        } else {
            for (; entry != end; entry += 3) {
                double weight;
                std::memcpy(&weight, entry + 1, sizeof weight);  // words of a row lie on multiples of four bytes
                arrivals[entry[0]] += weight;
            }
        }
        delivered_ += cursor.count;
        cursor.entries = end;
        read_header(cursor);
    }
}

void StaticSynapses::skip_delivered(uint32_t step, uint32_t next) {
    for (Cursor& cursor : spikes_of(step)) {
        while (cursor.lag != 0 && step + cursor.lag < next) {
            delivered_ += cursor.count;
            cursor.entries += uint64_t(cursor.count) * groups_[cursor.group].entry_words;
            read_header(cursor);
        }
    }
}

uint64_t StaticSynapses::in_flight() const {
    uint64_t entries = 0;
    for (const std::vector<Cursor>& spikes : spikes_) {
        for (Cursor cursor : spikes) {
            for (; cursor.lag != 0; read_header(cursor)) {
                entries += cursor.count;
                cursor.entries += uint64_t(cursor.count) * groups_[cursor.group].entry_words;
            }
        }
    }
    return entries;
}

}  // namespace riftjit::sim
