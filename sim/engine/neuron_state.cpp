#include "sim/engine/neuron_state.h"

#include <algorithm>
#include <cstring>

namespace riftjit::sim {

namespace {

constexpr uint64_t kLine = 64;
constexpr uint64_t kHugePage = 2 << 20, kWorthAHugePage = kHugePage / 8;

uint64_t padded(uint32_t elements) { return round_up(elements, kColumnPadding); }

template <class T>
T value_at(const void* column, uint32_t element) {
    T value;
    std::memcpy(&value, static_cast<const std::byte*>(column) + uint64_t(element) * sizeof(T), sizeof(T));
    return value;
}
template <class T>
void set_value(void* column, uint32_t element, double number) {
    const T value = static_cast<T>(number);
    std::memcpy(static_cast<std::byte*>(column) + uint64_t(element) * sizeof(T), &value, sizeof(T));
}

// Where the columns of a program lie in the population's memory; arrivals lie elsewhere.
struct ColumnPlaces {
    std::vector<uint64_t> offsets;
    uint64_t bytes = 0;
};
ColumnPlaces places_of(const ProgramPopulation& population, uint32_t size) {
    ColumnPlaces places;
    for (size_t i = 0; i < population.program.columns.size(); ++i) {
        places.offsets.push_back(places.bytes);
        if (population.program.columns[i].role == ColumnRole::arrivals) continue;
        // One line more than needed: columns of a power of two bytes would compete for the same sets of the cache.
        places.bytes += round_up(padded(size) * column_bytes(population.program.spec.columns[i]), kLine) + kLine;
    }
    return places;
}

}  // namespace

double read_column(const void* column, ColumnType type, uint32_t element) {
    switch (type) {
        case ColumnType::f64:
            return value_at<double>(column, element);
        case ColumnType::f32:
            return double(value_at<float>(column, element));
        case ColumnType::u32:
            return double(value_at<uint32_t>(column, element));
        case ColumnType::u16:
            return double(value_at<uint16_t>(column, element));
        case ColumnType::u8:
            return double(value_at<uint8_t>(column, element));
    }
    return 0;
}

void write_column(void* column, ColumnType type, uint32_t element, double value) {
    switch (type) {
        case ColumnType::f64:
            return set_value<double>(column, element, value);
        case ColumnType::f32:
            return set_value<float>(column, element, value);
        case ColumnType::u32:
            return set_value<uint32_t>(column, element, value);
        case ColumnType::u16:
            return set_value<uint16_t>(column, element, value);
        case ColumnType::u8:
            return set_value<uint8_t>(column, element, value);
    }
}

uint64_t NeuronState::bytes(const Blueprint& blueprint) {
    uint64_t bytes = 0;
    for (const BlueprintPopulation& population : blueprint.populations) {
        if (const auto* program = std::get_if<ProgramPopulation>(&population.kind)) {
            bytes += places_of(*program, population.size).bytes;
            for (size_t i = 0; i < program->program.columns.size(); ++i) {
                if (program->program.columns[i].role == ColumnRole::arrivals)
                    bytes += padded(population.size) * sizeof(double);
            }
        } else if (std::holds_alternative<RelayedPopulation>(population.kind)) {
            bytes += padded(population.size) * sizeof(double);
        }
    }
    return bytes;
}

Result<NeuronState> NeuronState::create(const Blueprint& blueprint, const Slices& slices, ThreadPool& pool) {
    NeuronState state;
    RIFTJIT_TRY_VOID(state.add_receptors(blueprint));
    RIFTJIT_TRY_VOID(state.place_columns(blueprint));
    struct Fill {
        const NeuronState* state;
        const Blueprint* blueprint;
        const Slices* slices;
    } fill{&state, &blueprint, &slices};
    pool.run(
        [](void* context, uint32_t thread) {
            const Fill& fill = *static_cast<const Fill*>(context);
            fill.state->fill(*fill.blueprint, *fill.slices, thread);
        },
        &fill);
    return state;
}

Result<void> NeuronState::add_receptors(const Blueprint& blueprint) {
    const auto add_receptor = [&](uint32_t population, std::string name) {
        // The check of the sum below stands for all of these conversions.
        receptors_.push_back({population, std::move(name), static_cast<uint32_t>(arrivals_count_)});
        arrivals_count_ += padded(blueprint.populations[population].size);
    };
    for (uint32_t i = 0; i < blueprint.populations.size(); ++i) {
        const auto& kind = blueprint.populations[i].kind;
        if (std::holds_alternative<RelayedPopulation>(kind)) add_receptor(i, "");
        const auto* program = std::get_if<ProgramPopulation>(&kind);
        for (size_t column = 0; program && column < program->program.columns.size(); ++column) {
            if (program->program.columns[column].role != ColumnRole::arrivals) continue;
            check(program->program.spec.columns[column] == ColumnType::f64, "arrivals are f64");
            add_receptor(i, program->program.columns[column].name);
        }
    }
    if (arrivals_count_ <= UINT32_MAX) return {};
    return fail(ErrorKind::Unsupported, "{} receptors of neurons in all: at most {} can be told apart", arrivals_count_,
                UINT32_MAX);
}

// One piece of memory, arrivals first: spikes reach into all of them, which few huge pages make cheaper.
Result<void> NeuronState::place_columns(const Blueprint& blueprint) {
    const uint64_t needed = bytes(blueprint);
    RIFTJIT_TRY(memory, Pages::allocate(needed < kWorthAHugePage ? needed : std::max(needed, kHugePage),
                                        Pages::Size::huge, "the neurons"));
    memory_ = std::move(memory);
    uint64_t next = arrivals_count_ * sizeof(double);
    for (uint32_t i = 0; i < blueprint.populations.size(); ++i) {
        std::vector<void*>& columns = columns_.emplace_back();
        const auto* program = std::get_if<ProgramPopulation>(&blueprint.populations[i].kind);
        if (!program) continue;
        const ColumnPlaces places = places_of(*program, blueprint.populations[i].size);
        for (size_t column = 0; column < places.offsets.size(); ++column) {
            const ColumnBinding& binding = program->program.columns[column];
            columns.push_back(binding.role == ColumnRole::arrivals
                                  ? static_cast<void*>(arrivals() + *first_arrival(i, binding.name))
                                  : memory_.data() + next + places.offsets[column]);
        }
        next += places.bytes;
    }
    return {};
}

void NeuronState::fill(const Blueprint& blueprint, const Slices& slices, uint32_t thread) const {
    for (const Receptor& receptor : receptors_) {
        const Slice slice = slices.of(receptor.population, thread);
        std::fill(arrivals() + receptor.first + slice.begin, arrivals() + receptor.first + slice.end, 0.0);
    }
    for (uint32_t i = 0; i < blueprint.populations.size(); ++i) {
        const auto* program = std::get_if<ProgramPopulation>(&blueprint.populations[i].kind);
        if (!program) continue;
        const Slice slice = slices.of(i, thread);
        for (size_t column = 0; column < columns_[i].size(); ++column) {
            if (program->program.columns[column].role == ColumnRole::arrivals) continue;
            const ColumnStart& start = program->start[column];
            for (uint32_t element = slice.begin; element < slice.end; ++element) {
                write_column(columns_[i][column], program->program.spec.columns[column], element,
                             start.each ? start.each(element) : start.value);
            }
        }
        if (program->initial) start(blueprint.populations[i], i, slice);
    }
}

void NeuronState::start(const BlueprintPopulation& population, uint32_t index, Slice slice) const {
    constexpr uint32_t kBlock = 1024;
    const auto& kind = std::get<ProgramPopulation>(population.kind);
    const InitialProgram& initial = *kind.initial;
    const std::vector<ColumnType>& types = initial.program.spec.columns;
    struct alignas(64) Column {
        std::byte bytes[kBlock * sizeof(double)];
    };
    std::vector<Column> memory(types.size());
    std::vector<void*> columns;
    for (Column& column : memory) columns.push_back(column.bytes);
    for (uint32_t first = slice.begin; first < slice.end; first += kBlock) {
        const uint32_t count = std::min(kBlock, slice.end - first);
        for (size_t column = 0; column < types.size(); ++column) {
            const ColumnStart& start = initial.start[column];
            for (uint32_t i = 0; i < count; ++i)
                write_column(columns[column], types[column], i, start.each ? start.each(first + i) : start.value);
        }
        ColumnProgramArgs args{columns.data(), nullptr, nullptr, 0, count, population.first_id + first, initial.key, 0};
        initial.kernel(&args, 0, count);
        for (size_t column = 0; column < types.size(); ++column) {
            const auto& own = kind.program.columns;
            const auto found = std::find(own.begin(), own.end(), initial.program.columns[column]);
            if (found == own.end() || found->role != ColumnRole::state) continue;
            const auto to = static_cast<size_t>(found - own.begin());
            for (uint32_t i = 0; i < count; ++i)
                write_column(columns_[index][to], kind.program.spec.columns[to], first + i,
                             read_column(columns[column], types[column], i));
        }
    }
}

std::optional<uint32_t> NeuronState::first_arrival(uint32_t population, std::string_view receptor) const {
    for (const Receptor& candidate : receptors_) {
        if (candidate.population == population && (candidate.name.empty() || candidate.name == receptor))
            return candidate.first;
    }
    return std::nullopt;
}

}  // namespace riftjit::sim
