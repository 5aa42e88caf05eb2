#include "runtime/rdna/prediction.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "jit/rdna/emulator/checks/waits.h"
#include "jit/rdna/encode/encoding.h"
#include "runtime/rdna/emulated_accelerator.h"
#include "runtime/rdna/kernel_needs.h"
#include "runtime/rdna/rdna_device.h"

namespace riftjit::runtime {
namespace {

using rdna::emulator::Counts;
using rdna::emulator::InstructionClass;

constexpr uint32_t kLanes = 32;

// The most that a wave's loads have asked for and not waited for. Loops are not followed: what one round leaves under
// way when the next begins is not counted.
uint32_t most_bytes_in_flight(std::span<const std::byte> code, rdna::Target chip, rdna::WaveSize wave) {
    using rdna::emulator::Counter;
    const rdna::Generation generation = rdna::info(chip).generation;
    const size_t load = static_cast<size_t>(Counter::load);
    std::vector<uint32_t> words(code.size() / sizeof(uint32_t));
    std::memcpy(words.data(), code.data(), words.size() * sizeof(uint32_t));
    std::vector<uint32_t> under_way;  // bytes of each, in order
    uint32_t now = 0, most = 0;
    for (size_t at = 0; at < words.size();) {
        const rdna::Decoded decoded = rdna::decode(chip, wave, std::span(words).subspan(at));
        if (!decoded.ok) {
            ++at;
            continue;
        }
        const rdna::Instruction& instruction = decoded.instruction;
        at += instruction.size / sizeof(uint32_t);
        if (instruction.encoding == rdna::Encoding::vopd) continue;
        const size_t at_most = rdna::emulator::wait_of(instruction, generation).at_most[load];
        while (under_way.size() > at_most) {
            now -= under_way.front();
            under_way.erase(under_way.begin());
        }
        if (rdna::emulator::counters_of(instruction, generation).raises[load] == rdna::emulator::Arrival::none)
            continue;
        const rdna::InstructionInfo& row = rdna::info(instruction.opcode);
        under_way.push_back(row.destinations == 0 ? 0
                                                  : row.operands[0].size(wave) * uint32_t(sizeof(uint32_t)) * kLanes);
        now += under_way.back();
        most = std::max(most, now);
    }
    return most;
}

// Read and written once each, of one row: what several parts of a launch read is one thing.
uint64_t least_bytes(const graph::Step& step, const DeviceModel& model, uint32_t context) {
    const Backend& backend = model.device->backend();
    const ModelOptions& options = model.options;
    uint64_t bytes = cost(step.spec).weight_bytes;
    std::vector<graph::Place> read;
    for (size_t place = 0; const Argument& argument : signature(step.spec).arguments) {
        if (argument.role == Role::batch) continue;
        const graph::Place& where = step.places.at(place++);
        if (argument.presence == Presence::absent) continue;
        if (argument.access == Access::read) {
            const bool is_known = std::ranges::find(read, where) != read.end();
            if (is_known && argument.role == Role::vector) bytes -= argument.width * sizeof(float);  // of the cost
            if (is_known) continue;
            read.push_back(where);
        }
        if (argument.role == Role::rows) {
            const RowFormat format = argument.format.value_or(RowFormat::i16);
            const uint64_t row =
                format == RowFormat::f32 ? argument.width * sizeof(float) : backend.row_bytes(format, argument.width);
            bytes += row * (argument.access == Access::update ? 2 : 1);
        }
        if (argument.role == Role::table) bytes += model.rope_tables.at(where.index).floats_per_row() * sizeof(float);
        if (argument.role != Role::cache) continue;
        const auto& slot = std::get<graph::KvSlot>(model.slots.at(where.index).shape);
        const uint64_t page = where.kind == graph::Place::Kind::keys
                                  ? backend.key_page_bytes(options.key_type, slot.heads, slot.head_dim)
                                  : backend.value_page_bytes(options.value_type, slot.heads, slot.head_dim);
        bytes += page / kKvPage * (writes(argument.access) ? 1 : context);
    }
    return bytes;
}

Result<PredictedKernel> describe_kernel(const KernelSpec& spec, rdna::Target chip, const EmulatedLaunch& launch,
                                        KernelCache& kernels) {
    RIFTJIT_TRY(found, kernels.get(spec, RdnaBackend(chip).target()));
    RIFTJIT_TRY(object, rdna::load_code_object(found->object.elf, chip));
    RIFTJIT_TRY(needs, kernel_needs(object, launch.lanes));
    PredictedKernel predicted{found->object.name, describe(spec)};
    predicted.waves = launch.groups * (launch.lanes / kLanes);
    predicted.vgprs = needs.vgprs;
    predicted.lds_bytes = needs.lds_bytes;
    predicted.scratch_bytes = needs.scratch_bytes;
    predicted.waves_per_simd = needs.waves_per_simd;
    predicted.bytes_in_flight = most_bytes_in_flight(object.bytes(object.kernels.at(0).code), chip, needs.wave_size);
    return predicted;
}

}  // namespace

std::span<const Card> cards() {
    using rdna::Target;
    static constexpr Card kCards[] = {
        {"RX 6700 XT", Target::gfx1031, 40, 2.58, 384},  {"RX 6800", Target::gfx1030, 60, 2.11, 512},
        {"RX 6800 XT", Target::gfx1030, 72, 2.25, 512},  {"RX 6900 XT", Target::gfx1030, 80, 2.25, 512},
        {"RX 7800 XT", Target::gfx1101, 60, 2.43, 624},  {"RX 7900 XT", Target::gfx1100, 84, 2.40, 800},
        {"RX 7900 XTX", Target::gfx1100, 96, 2.50, 960}, {"RX 9060 XT", Target::gfx1200, 32, 3.13, 320},
        {"RX 9070", Target::gfx1201, 56, 2.52, 640},     {"RX 9070 XT", Target::gfx1201, 64, 2.97, 640}};
    return kCards;
}

uint64_t PredictedKernel::bytes_asked_for() const {
    return counts.global_bytes_loaded + counts.global_bytes_stored + counts.scalar_bytes_loaded +
           counts.scratch_bytes_loaded + counts.scratch_bytes_stored;
}

uint64_t PredictedKernel::line_bytes() const {
    return rdna::emulator::kCountedLineBytes * (counts.lines_loaded - counts.lines_loaded_of_own + counts.lines_stored);
}

// One instruction of a class each cycle; functions such as exp take four. A SIMD's waves share each of its units, and
// instructions of one class are never in the way of another's.
uint64_t PredictedKernel::busiest_slots() const {
    uint64_t most = 0;
    for (size_t i = 0; i < counts.instructions.size(); ++i) {
        const auto kind = static_cast<InstructionClass>(i);
        if (kind == InstructionClass::wait || kind == InstructionClass::other) continue;
        const uint64_t cycles = kind == InstructionClass::transcendental ? 4 : 1;
        most = std::max(most, cycles * counts[kind]);
    }
    return most;
}

// Waits, hints and the like may cost a wave nothing.
uint64_t PredictedKernel::issued() const {
    return counts.total_instructions() - counts[InstructionClass::wait] - counts[InstructionClass::other];
}

double PredictedKernel::bytes_in_flight_on(const Card& card) const {
    return double(std::min<uint64_t>(waves, uint64_t(waves_per_simd) * card.simds())) * bytes_in_flight;
}

TimeBound time_bound(const PredictedKernel& kernel, const Card& card) {
    const double memory = 1e-3 * double(kernel.least_bytes) / card.gb_per_second;
    // Spread as evenly as can be; a wave issues one instruction a cycle, whatever its class.
    const double of_units = double(kernel.busiest_slots()) / std::min(kernel.waves, card.simds());
    const double of_waves = double(kernel.issued()) / kernel.waves;
    const double issue = 1e-3 * std::max(of_units, of_waves) / card.ghz;
    return {memory, issue, std::max(memory, issue)};
}

TimeBound time_bound(std::span<const PredictedKernel> kernels, const Card& card) {
    TimeBound sum;
    for (const PredictedKernel& kernel : kernels) {
        const TimeBound own = time_bound(kernel, card);
        sum.memory += own.memory;
        sum.issue += own.issue;
        sum.either += own.either;
    }
    return sum;
}

Result<std::vector<PredictedKernel>> predict_token(const graph::Graph& graph, const SessionOptions& options,
                                                   rdna::Target chip, KernelCache& kernels) {
    std::vector<EmulatedLaunch> launches;
    auto accelerator = std::make_unique<EmulatedAccelerator>(chip, MachineChecks::none);
    accelerator->note_launches(&launches);
    RIFTJIT_TRY(model, DeviceModel::create(graph, {1, 1, options.key_type, options.value_type, options.passes},
                                           std::make_unique<RdnaDevice>(std::move(accelerator), kernels), {}));
    RIFTJIT_TRY(sequences, Sequences::create(model, {.positions = options.context}));
    RIFTJIT_TRY(text, sequences.open());
    RIFTJIT_TRY_VOID(sequences.skip(text, options.context - 1));
    const StepRow row{text, 0, StepRow::Logits::wanted};
    RIFTJIT_TRY_VOID(sequences.step({&row, 1}));

    std::vector<PredictedKernel> predicted;
    std::map<std::string, size_t> index_of_name;
    size_t next = 0;
    for (const graph::Step& step : model->decode_plan.steps) {
        // Steps that a single row does not take are not launched.
        if (next == launches.size() || launches[next].kernel != kernel_name(step.spec)) continue;
        const EmulatedLaunch& launch = launches[next++];
        const auto [found, is_new] = index_of_name.try_emplace(launch.kernel, predicted.size());
        if (is_new) {
            RIFTJIT_TRY(kernel, describe_kernel(step.spec, chip, launch, kernels));
            predicted.push_back(std::move(kernel));
        }
        PredictedKernel& kernel = predicted[found->second];
        ++kernel.launches;
        kernel.counts += launch.counts;
        kernel.least_bytes += least_bytes(step, *model, options.context);
    }
    check(next == launches.size(), "every launch is of a step");
    return predicted;
}

}  // namespace riftjit::runtime
