// The ramp network as a plain program: what `riftjit sim --neurons N` is compared with (bench/compare-ramp).
// Stored u32 targets, weights added where they arrive, one owner per range of targets, a compiler's vector code.
//
//   ramp_plain NEURONS STEPS THREADS      prints: spikes, hash of the counts, seconds to build, seconds to run
#include <barrier>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

int main(int argc, char** argv) {
    if (argc != 4) return std::fprintf(stderr, "usage: ramp_plain NEURONS STEPS THREADS\n"), 1;
    const uint64_t n = std::strtoull(argv[1], nullptr, 10);
    const int steps = std::atoi(argv[2]), threads = std::atoi(argv[3]);
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    const uint64_t excitatory = n * 4 / 5;
    std::vector<double> v(n, -65.0), s_exc(n), s_inh(n);
    std::vector<uint8_t> refractory(n);
    std::vector<uint16_t> count(n);
    std::vector<uint32_t> targets(4 * n);
    for (uint64_t synapse = 0; synapse < 4 * n; ++synapse) {
        uint64_t z = 0xDEADBEEF12345678u + synapse * 0x9E3779B97F4A7C15u;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        uint64_t target = (z ^ (z >> 31)) % n;
        if (target == synapse / 4) target = target + 1 == n ? 0 : target + 1;
        targets[synapse] = static_cast<uint32_t>(target);
    }
    std::vector<std::vector<uint32_t>> fired(threads);
    const double slope = 20.0 / double(n);
    std::barrier sync(threads);
    const auto built = Clock::now();
    const auto work = [&](int thread) {
        const uint64_t begin = n * thread / threads, end = n * (thread + 1) / threads;
        for (int step = 0; step < steps; ++step) {
            fired[thread].clear();
            for (uint64_t i = begin; i < end; ++i) {
                s_exc[i] -= s_exc[i] * 0.01;
                s_inh[i] -= s_inh[i] * 0.02;
                if (refractory[i] > 0) {
                    --refractory[i];
                    continue;  // v stays at the reset potential
                }
                const double drive = 45.0 + double(i) * slope + s_exc[i] - s_inh[i];
                const double next = v[i] + 0.01 * (-65.0 - v[i] + drive);
                if (next >= -50.0) {
                    v[i] = -70.0;
                    refractory[i] = 20;
                    ++count[i];
                    fired[thread].push_back(static_cast<uint32_t>(i));
                } else {
                    v[i] = next;
                }
            }
            sync.arrive_and_wait();
            for (const auto& list : fired) {
                for (const uint32_t source : list) {
                    for (int k = 0; k < 4; ++k) {
                        const uint32_t target = targets[4 * uint64_t(source) + k];
                        if (target < begin || target >= end) continue;
                        if (source < excitatory) {
                            s_exc[target] += target < excitatory ? 0.2 : 0.3;
                        } else {
                            s_inh[target] += 0.3;
                        }
                    }
                }
            }
            sync.arrive_and_wait();
        }
    };
    std::vector<std::thread> others;
    for (int thread = 1; thread < threads; ++thread) others.emplace_back(work, thread);
    work(0);
    for (std::thread& other : others) other.join();
    const auto done = Clock::now();
    uint64_t spikes = 0, hash = 1469598103934665603u;
    for (const uint16_t spikes_of_neuron : count) {
        spikes += spikes_of_neuron;
        hash = (hash ^ spikes_of_neuron) * 1099511628211u;
    }
    const auto seconds = [](auto from, auto to) { return std::chrono::duration<double>(to - from).count(); };
    std::printf("%llu %016llx %.3f %.3f\n", static_cast<unsigned long long>(spikes),
                static_cast<unsigned long long>(hash), seconds(start, built), seconds(built, done));
}
