#include <gtest/gtest.h>

#include "tests/jit/x86/ops/kernel_runner.h"
#include "tests/kernel_cases.h"

namespace riftjit::x86 {
namespace lif_step_test {

// The arrays of one range of neurons, padded as LifStepArgs asks.
struct Neurons {
    uint32_t first, count;
    GuardedBuffer<double> v, s_exc, s_inh;
    GuardedBuffer<uint8_t> refractory;
    GuardedBuffer<uint16_t> spikes, arrivals;
    std::vector<uint32_t> fired;  // by the last step

    Neurons(uint32_t first_id, uint32_t neurons)
        : first(first_id),
          count(uint32_t(round_up(neurons, kLifStepNeurons))),
          v(count),
          s_exc(count),
          s_inh(count),
          refractory(count),
          spikes(count),
          arrivals(count) {}

    bool operator==(const Neurons&) const = default;
};

// Some at rest, some close to the threshold; of every four groups of eight one is refractory as a whole.
Neurons random_neurons(const LifStepSpec& spec, uint32_t first, uint32_t count) {
    Random random(spec.neurons + first);
    Neurons neurons(first, count);
    for (uint32_t i = 0; i < neurons.count; ++i) {
        const bool rests = i / 8 % 4 == 3 || random.below(4) == 0;
        neurons.refractory[i] = rests ? uint8_t(1 + random.below(std::max(1u, spec.refractory_steps))) : uint8_t(0);
        neurons.v[i] = rests ? spec.reset : -72 + 24 * random.uniform();
        neurons.s_exc[i] = 5 * random.uniform();
        neurons.s_inh[i] = 5 * random.uniform();
        neurons.spikes[i] = uint16_t(random.below(3));
    }
    return neurons;
}

void send_arrivals(const Neurons& neurons, uint64_t seed) {
    Random random(seed);
    for (uint32_t i = 0; i < neurons.count; ++i)
        neurons.arrivals[i] =
            random.below(3) == 0 ? uint16_t(random.bits()) : uint16_t(random.below(3) << (8 * (i % 2)));
}

// jit/columns/lif_step.h, neuron by neuron.
void reference_step(const LifStepSpec& spec, Neurons& neurons) {
    neurons.fired.clear();
    for (uint32_t i = 0; i < neurons.count; ++i) {
        const uint64_t id = uint64_t(neurons.first) + i;
        const bool is_excitatory = id < spec.excitatory;
        const auto receive = [](double& s, uint32_t arrivals, double weight, double decay) {
            s = std::fma(double(arrivals), weight, s);
            s = std::fma(-s, decay, s);
            return s;
        };
        const uint32_t arrived = std::exchange(neurons.arrivals[i], uint16_t(0));
        const double exc =
            receive(neurons.s_exc[i], arrived & 0xff, is_excitatory ? spec.weight_ee : spec.weight_ei, spec.decay_exc);
        const double inh =
            receive(neurons.s_inh[i], arrived >> 8, is_excitatory ? spec.weight_ie : spec.weight_ii, spec.decay_inh);
        if (neurons.refractory[i] > 0) {
            --neurons.refractory[i];
            continue;
        }
        const double drive = double(id) * spec.drive_slope + spec.drive + exc - inh;
        double& v = neurons.v[i];
        v = std::fma((spec.rest - v) + drive, spec.membrane, v);
        if (v < spec.threshold || id >= spec.neurons) continue;
        v = spec.reset;
        neurons.refractory[i] = uint8_t(spec.refractory_steps);
        ++neurons.spikes[i];
        neurons.fired.push_back(uint32_t(id));
    }
}

// Units [begin, end); what fired is added to neurons.fired.
void run_units(const RunnableKernel& kernel, Neurons& neurons, uint32_t begin, uint32_t end) {
    GuardedBuffer<uint32_t> fired(end - begin + kLifStepNeurons);
    LifStepArgs args{neurons.v.data(),
                     neurons.s_exc.data(),
                     neurons.s_inh.data(),
                     neurons.refractory.data(),
                     neurons.spikes.data(),
                     neurons.arrivals.data(),
                     fired.data(),
                     neurons.first,
                     UINT32_MAX};
    kernel(&args, begin, end);
    ASSERT_LE(args.fired_count, end - begin);
    neurons.fired.insert(neurons.fired.end(), fired.data(), fired.data() + args.fired_count);
}

// Every bit of the state after each of many steps. `cut` divides the units between two launches.
void expect_reference(const LifStepSpec& spec, uint32_t first, uint32_t count, uint32_t cut) {
    constexpr uint32_t kSteps = 40;
    for (Isa isa : machine_isas()) {
        const RunnableKernel kernel(spec, isa);
        Neurons expected = random_neurons(spec, first, count), found = expected;
        for (uint32_t step = 0; step < kSteps; ++step) {
            send_arrivals(expected, step);
            send_arrivals(found, step);
            reference_step(spec, expected);
            found.fired.clear();
            run_units(kernel, found, 0, cut);
            run_units(kernel, found, cut, found.count);
            ASSERT_EQ(found, expected) << name(isa) << " " << kernel_name(spec) << " step " << step;
        }
    }
}

TEST(LifStepX86, MatchesTheReferenceBitByBit) {
    for (const LifStepSpec& spec : kernel_cases::lif_step()) {
        if (spec.neurons > 1000) continue;
        expect_reference(spec, 0, spec.neurons, 0);
        expect_reference(spec, 0, spec.neurons, 8);
    }
}

// Ranges of a network, around every border that an id may cross.
TEST(LifStepX86, KnowsNeuronsByTheirIds) {
    const LifStepSpec small = kernel_cases::lif_step()[11], large = kernel_cases::lif_step().back();
    ASSERT_EQ(small.neurons, 1000u);
    ASSERT_EQ(large.neurons, UINT32_MAX);
    expect_reference(small, 768, 232, 64);               // to inhibitory ones, at 800
    expect_reference(large, (1u << 31) - 32, 128, 16);   // 2^31, and to inhibitory ones
    expect_reference(large, UINT32_MAX - 127, 128, 64);  // the last id is none of the network's
}

TEST(LifStepX86, CountsDownWithoutFiringOrMoving) {
    for (Isa isa : machine_isas()) {
        const LifStepSpec spec = kernel_cases::lif_step().front();
        Neurons neurons = random_neurons(spec, 0, 1);
        std::fill_n(neurons.v.data(), neurons.count, spec.reset);
        std::fill_n(neurons.refractory.data(), neurons.count, uint8_t(255));
        std::fill_n(neurons.arrivals.data(), neurons.count, uint16_t(0xffff));
        run_units(RunnableKernel(spec, isa), neurons, 0, neurons.count);
        EXPECT_TRUE(neurons.fired.empty());
        for (uint32_t i = 0; i < neurons.count; ++i) {
            EXPECT_EQ(neurons.v[i], spec.reset);
            EXPECT_EQ(neurons.refractory[i], 254);
            EXPECT_EQ(neurons.arrivals[i], 0);
        }
    }
}

TEST(LifStepX86, DoesNothingWithoutAUnit) {
    const LifStepSpec spec = kernel_cases::lif_step().front();
    for (Isa isa : machine_isas()) {
        Neurons neurons = random_neurons(spec, 0, 8);
        send_arrivals(neurons, 1);
        const Neurons before = neurons;
        run_units(RunnableKernel(spec, isa), neurons, 0, 0);
        EXPECT_EQ(neurons, before) << name(isa);
    }
}

}  // namespace lif_step_test
}  // namespace riftjit::x86
