// Each stage of the chain against a model of it in numpy, written from its definition: what survives, and with which
// shares. Random rows, among them flat ones and such with equal logits.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "runtime/sampling/sampler_stages.h"
#include "tests/host/oracle.h"

namespace riftjit::runtime {
namespace sampler_numpy_test {

constexpr std::string_view kModel = R"(
import sys
import numpy as np

def softmax(logits):
    shares = np.exp(logits - logits.max())
    return shares / shares.sum()

def by_share(logits):
    return np.lexsort((np.arange(len(logits)), -logits))

def entropy_of(shares):
    some = shares[shares > 0]
    return -(some * np.log(some)).sum()

# Each gives the ids that survive, the logits behind the stage, and ids so near to a limit that a rounding decides.
def top_k(logits, k):
    return by_share(logits)[:k], logits, []

def top_p(logits, p, least):
    order = by_share(logits)
    sums = np.cumsum(softmax(logits)[order])
    count = min(len(order), max(np.searchsorted(sums, p) + 1, least, 1))
    near = [order[i + d] for i in np.flatnonzero(abs(sums - p) < 1e-5) for d in (0, 1) if i + d < len(order)]
    return order[:count], logits, near

def min_p(logits, p, least):
    order = by_share(logits)
    limit = logits.max() + np.log(p) if p > 0 else -np.inf
    count = max((logits >= limit).sum(), least, 1)
    return order[:count], logits, np.flatnonzero(abs(logits - limit) < 1e-5)

def typical_p(logits, p, least):
    shares = softmax(logits)
    scores = abs(-np.log(shares) - entropy_of(shares))
    order = np.lexsort((np.arange(len(logits)), -logits, scores.round(6)))
    sums = np.cumsum(shares[order])
    count = min(len(order), max((sums <= p).sum() + 1, least, 1))
    edge = scores[order[count - 1]]
    near = set(np.flatnonzero(abs(scores - edge) < 1e-4))
    near |= {order[i + d] for i in np.flatnonzero(abs(sums - p) < 1e-5) for d in (0, 1) if i + d < len(order)}
    return order[:count], logits, near

def top_n_sigma(logits, n):
    limit = logits.max() - n * logits.std()
    return np.flatnonzero(logits >= limit), logits, np.flatnonzero(abs(logits - limit) < 1e-4)

def xtc(logits, threshold, least):
    order = by_share(logits)
    shares = softmax(logits)
    likely = (shares >= threshold).sum()
    dropped = likely - 1 if likely > 1 and len(logits) - (likely - 1) >= max(least, 1) else 0
    near = range(len(logits)) if (abs(shares - threshold) < 1e-6).any() else []
    return order[dropped:], logits, near

def temperature(logits, by):
    return by_share(logits), logits / by, []

def dynamic_temperature(logits, by, width, exponent):
    lowest, highest = max(0, by - width), by + width
    most = np.log(len(logits))
    by = lowest + (highest - lowest) * (entropy_of(softmax(logits)) / most) ** exponent
    return by_share(logits), logits / by, []

wrong = cases = 0
for line in open(sys.argv[1]):
    stage, settings, row, found = line.split(";")
    settings = [int(x) if x.isdigit() else float(x) for x in settings.split()]
    logits = np.array([np.float32(x) for x in row.split()], dtype=np.float64)
    found = {int(id): float(share) for id, share in (x.split(":") for x in found.split())}
    kept, after, near = globals()[stage](logits, *settings)
    cases += 1
    kept, near = set(map(int, kept)), set(map(int, near))
    differ = (kept ^ set(found)) - near
    shares = dict(zip(sorted(found), softmax(after[sorted(found)])))
    far = [id for id in found if abs(found[id] - shares[id]) > 2e-5]
    if differ or far:
        wrong += 1
        if wrong < 4:
            print(stage, settings, "differ:", sorted(differ)[:5], "shares:", far[:5], "of", len(logits))
print(cases, "cases,", wrong, "differ")
sys.exit(wrong > 0 or cases == 0)
)";

struct Row {
    std::vector<float> logits;
    Candidates candidates;
};

Row random_row(std::mt19937& random) {
    Row row;
    const size_t size = 2 + random() % 120;
    const float width = std::vector<float>{0.01f, 1, 3, 10}[random() % 4];
    std::normal_distribution<float> normal(0, width);
    for (size_t id = 0; id < size; ++id) {
        float logit = normal(random);
        if (random() % 6 == 0 && id > 0) logit = row.logits[random() % id];
        row.logits.push_back(logit);
        row.candidates.add(int32_t(id), logit);
    }
    return row;
}

TEST(SamplerStages, EqualTheirModelsInNumpy) {
    const char* python = std::getenv("RIFTJIT_PEER_NWB");
    if (python == nullptr) return lack_oracle("RIFTJIT_PEER_NWB, a Python with numpy: tests/peer/fetch.sh");
    const auto folder = std::filesystem::temp_directory_path() / fmt::format("riftjit_stages_{}", getpid());
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "model.py") << kModel;
    std::mt19937 random(17);
    std::uniform_real_distribution<float> share(0.01f, 0.99f);
    {
        std::ofstream out(folder / "cases");
        for (int round = 0; round < 1000; ++round) {
            const auto tell = [&](std::string_view stage, const auto& settings, const auto& apply) {
                Row row = random_row(random);
                apply(row.candidates);
                row.candidates.softmax();
                out << stage << ";" << settings << ";";
                for (const float logit : row.logits) out << fmt::format("{:.9g} ", logit);
                out << ";";
                for (const Candidate& kept : row.candidates.all())
                    out << fmt::format("{}:{:.9g} ", kept.id, kept.probability);
                out << "\n";
            };
            const float p = share(random), t = 0.2f + 2 * share(random), width = share(random) * t,
                        exponent = 0.3f + p * 2;
            const size_t least = random() % 3, k = 1 + random() % 60;
            Random numbers{uint32_t(round)};
            tell("top_k", fmt::format("{}", k), [&](Candidates& of) { stages::top_k(of, k); });
            tell("top_p", fmt::format("{:.9g} {}", p, least), [&](Candidates& of) { stages::top_p(of, p, least); });
            tell("min_p", fmt::format("{:.9g} {}", p, least), [&](Candidates& of) { stages::min_p(of, p, least); });
            tell("typical_p", fmt::format("{:.9g} {}", p, least),
                 [&](Candidates& of) { stages::typical_p(of, p, least); });
            tell("top_n_sigma", fmt::format("{:.9g}", t), [&](Candidates& of) { stages::top_n_sigma(of, t); });
            tell("xtc", fmt::format("{:.9g} {}", p / 2, least),
                 [&](Candidates& of) { stages::xtc(of, 1, p / 2, least, numbers); });
            tell("temperature", fmt::format("{:.9g}", t), [&](Candidates& of) { stages::temperature(of, t); });
            tell("dynamic_temperature", fmt::format("{:.9g} {:.9g} {:.9g}", t, width, exponent),
                 [&](Candidates& of) { stages::dynamic_temperature(of, t, width, exponent); });
        }
    }
    const std::string command =
        fmt::format("{} {} {}", python, (folder / "model.py").string(), (folder / "cases").string());
    EXPECT_EQ(std::system(command.c_str()), 0);
    std::filesystem::remove_all(folder);
}

}  // namespace sampler_numpy_test
}  // namespace riftjit::runtime
