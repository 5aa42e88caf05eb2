// Synapses with state, of one projection and one thread: columns per synapse, and programs that run over the synapses
// at which something happens, copied together.
//
// A spike of the source acts at once; what it sends arrives after the delay. A spike of the target acts after the
// delay, which stands for its way back into the dendrite (Morrison et al. 2007, as NEST has it). Spikes of targets are
// kept and replayed in order before the next spike of the source; one that acts in the same step as it goes first.
#pragma once

#include <string>
#include <vector>

#include "host/pages.h"
#include "sim/engine/arrival_ring.h"
#include "sim/engine/blueprint.h"
#include "sim/engine/spike_history.h"

namespace riftjit::sim {

class PlasticSynapses {
public:
    struct Entry {
        uint32_t target;
        uint16_t delay;
        double weight;
    };

    static uint64_t bytes_per_synapse(const PlasticRule& rule);
    // row_starts: of each source the number of synapses of those before it, then the number of all.
    static Result<PlasticSynapses> create(const Blueprint& blueprint, const BlueprintProjection& projection,
                                          std::vector<uint64_t> row_starts);

    // Stores the synapses of a source, by ascending target. Threads may store rows of different sources at once.
    void set_row(uint32_t source, std::span<Entry> entries);

    // Sources that fired in `step`, ascending; each may stand there several times. `history`: of the targets, up to and
    // with `step`; unused without post events.
    void fire(uint32_t step, std::span<const uint32_t> sources, const SpikeHistory* history, ArrivalRing& ring);
    // Replays what acts up to and with `step`, after which fire(step) may not follow. Results do not depend on it.
    void replay(uint32_t step, const SpikeHistory& history);

    bool has_post_events() const { return has_post_events_; }
    uint64_t size() const { return starts_.back(); }
    uint32_t sources() const { return static_cast<uint32_t>(starts_.size() - 1); }
    uint64_t row_size(uint32_t source) const { return starts_[source + 1] - starts_[source]; }
    uint64_t delivered() const { return delivered_; }

    // Rows for recording and saving: bytes of one source's synapses in every column that lasts.
    std::vector<std::span<std::byte>> row_columns(uint32_t source);
    void append_weights(uint32_t source, std::vector<double>& weights) const;
    std::span<const uint32_t> row_targets(uint32_t source) const {
        return {targets_.as<const uint32_t>() + starts_[source], row_size(source)};
    }
    struct Fault {  // a value that is no number
        uint32_t source, target;
        std::string name;  // "w": the weight
        double value;
    };
    std::optional<Fault> find_fault() const;
    void set_replayed_end(uint32_t step);  // all rows were replayed up to `step`, without it

private:
    struct Column {
        ColumnType type;
        ColumnRole role;
        std::string name;
        Pages values;  // per synapse
        Pages batch;   // copied together, for a spike of the source
        Pages subset;  // copied out of the batch, for a spike of the target
    };
    struct Program {
        KernelFunction kernel = nullptr;
        std::vector<void*> columns;
        double* event_time = nullptr;  // null where the program does not look at it
        double* coincident = nullptr;  // likewise
        double* delivered = nullptr;
    };
    struct Segment {  // of a row, in the batch
        uint64_t first;
        uint32_t count;
        uint32_t replayed_end;  // of its source
    };
    enum class Source : uint8_t { fired, silent };
    enum class Copy : uint8_t { in, out };

    Result<void> add_columns(const LoweredProgram& program);
    Result<void> bind(Program& program, const LoweredProgram& lowered);
    size_t column_of(ColumnRole role, const std::string& name) const;

    void add_to_batch(uint32_t step, uint32_t source, Source happening, const SpikeHistory* history, ArrivalRing* ring);
    void process_batch(uint32_t step, Source happening, const SpikeHistory* history, ArrivalRing* ring);
    void find_post_events(uint32_t step, const SpikeHistory& history);
    void replay_batch(const SpikeHistory& history);
    void fire_batch(uint32_t step, ArrivalRing& ring);
    void copy_batch(Copy direction);
    void copy_subset(Copy direction);
    void run(Program& program, uint32_t elements);

    const Blueprint* blueprint_ = nullptr;
    bool has_post_events_ = false;
    std::vector<uint64_t> starts_;
    std::vector<uint32_t> replayed_end_;  // per source: first step whose effects were not replayed
    std::vector<Column> columns_;
    size_t weight_ = 0;
    Pages targets_, delays_, last_;  // last_: stamp of the last event, 0 at the start
    Program pre_, post_;
    std::vector<Pages> temporaries_;
    std::vector<std::pair<size_t, double>> column_start_;

    std::vector<Segment> segments_;
    uint32_t batch_ = 0;                            // synapses
    std::vector<uint64_t> synapse_;                 // of each in the batch
    std::vector<uint32_t> next_event_, end_event_;  // into the history of its target
    std::vector<bool> is_coincident_;               // a spike of its target acts in this step
    std::vector<uint32_t> active_;                  // of the batch, in the subset
    uint64_t delivered_ = 0;
};

}  // namespace riftjit::sim
