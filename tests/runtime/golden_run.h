// Runs a model file through a session against its golden: exact logits at some prompt positions, greedy tokens after
// it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "jit/cache/kernel_cache.h"
#include "jit/x86/backend.h"
#include "jit/x86/detect.h"
#include "models/model.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/logits_hash.h"
#include "runtime/session.h"
#include "tests/safetensors.h"

namespace riftjit::runtime {

inline std::string source_path(const std::string& path) {
    return path.starts_with('/') ? path : std::string(RIFTJIT_SOURCE_DIR) + "/" + path;
}

// Files of one golden, by its name in tests/data/goldens.
struct GoldenCase {
    std::string name, model;
    std::string adapter = {};  // none if empty
};

inline std::vector<GoldenCase> golden_cases() {
    std::vector<GoldenCase> cases;
    for (const DTypeTraits& type : all_dtypes()) {
        if (!type.is_weight) continue;
        const std::string name = "nano-" + std::string(type.name);
        cases.push_back({name, "tests/data/nano/" + name + ".gguf"});
    }
    for (const auto& entry : std::filesystem::directory_iterator(source_path("tests/data/families")))
        if (entry.path().extension() == ".gguf")
            cases.push_back({"family-" + entry.path().stem().string(), entry.path()});
    for (const auto& entry : std::filesystem::directory_iterator(source_path("tests/data/lora"))) {
        const std::string family = entry.path().stem();
        cases.push_back({"lora-" + family, source_path("tests/data/families/" + family + ".gguf"), entry.path()});
    }
    std::ranges::sort(cases, {}, &GoldenCase::name);
    for (const std::string name : {"storyteller-9m-q8_0", "storyteller-9m-q4_k_m"})
        for (const std::string prompt : {".fox", ".robot"})
            cases.push_back({name + prompt, "share/models/storyteller/" + name + ".gguf"});
    return cases;
}

struct Golden {
    std::vector<int32_t> prompt, positions, greedy;
    std::vector<double> logits, gaps;  // logits: [positions][vocabulary]
    size_t vocabulary;
    double deviation;  // of the logits

    explicit Golden(const std::string& name) {
        const Safetensors file(source_path("tests/data/goldens/" + name + ".safetensors"));
        prompt = file.i32("prompt_ids");
        positions = file.i32("positions");
        greedy = file.i32("greedy_ids");
        logits = file.real("logits");
        gaps = file.real("greedy_gap");
        vocabulary = file.shape("logits")[1];
        double sum = 0, squares = 0;
        for (double logit : logits) sum += logit;
        const double mean = sum / logits.size();
        for (double logit : logits) squares += (logit - mean) * (logit - mean);
        deviation = std::sqrt(squares / logits.size());
    }
};

// A model with the kernels made for it at one level, for any number of sessions.
class TestModel {
public:
    TestModel(const std::string& path, Isa isa, const std::string& adapter = {})
        : isa_(isa),
          model_(load(path, adapter)),
          graph_(build(model_)),
          cache_(std::make_unique<KernelCache>(x86::compile, DiskCache::disabled())) {}

    Session session(uint32_t threads, DType kv_type = DType::F32, uint32_t batch = 512, uint32_t context = 256,
                    const std::string& passes = "all", Activations activations = Activations::i13) {
        const SessionOptions options{context, batch, kv_type, kv_type, passes, batch, activations};
        auto created = Session::create(graph_, options, device(threads), {});
        if (!created) throw std::runtime_error(created.error().message);
        return std::move(*created);
    }
    // Helpers::always: every run is shared by all threads, however busy the machine is.
    std::unique_ptr<Device> device(uint32_t threads) {
        auto device = CpuDevice::create(isa_, threads, Helpers::always, *cache_);
        if (!device) throw std::runtime_error(device.error().message);
        return std::move(*device);
    }
    const graph::Graph& graph() const { return graph_; }
    KernelCache& cache() { return *cache_; }

private:
    static models::Model load(const std::string& path, const std::string& adapter) {
        auto model = models::load_model(source_path(path));
        if (!model) throw std::runtime_error(model.error().message);
        if (adapter.empty()) return std::move(*model);
        const auto added = models::add_lora(*model, {adapter});
        if (!added) throw std::runtime_error(added.error().message);
        return std::move(*model);
    }
    static graph::Graph build(const models::Model& model) {
        auto graph = model.build();
        if (!graph) throw std::runtime_error(graph.error().message);
        return std::move(*graph);
    }

    Isa isa_;
    models::Model model_;
    graph::Graph graph_;
    std::unique_ptr<KernelCache> cache_;
};

// The logits of all rows.
inline std::vector<float> evaluate(Session& session, std::span<const int32_t> ids) {
    auto logits = session.evaluate(ids, LogitRows::all);
    if (!logits) throw std::runtime_error(logits.error().message);
    return {logits->begin(), logits->end()};
}

struct Outcome {
    double max_error = 0;  // in standard deviations of the logits
    size_t greedy_equal = 0;
    std::vector<double> unequal_gaps;  // where another token won, in standard deviations
    std::string hash;                  // of every logit computed
};

// The prompt in one call, then the golden's tokens one by one (so that one near-tie does not derail the rest).
inline Outcome run_golden(Session session, const Golden& golden) {
    Outcome outcome;
    LogitsHash hash;
    std::vector<float> logits = evaluate(session, golden.prompt);
    hash.add(logits);
    const size_t width = golden.vocabulary;
    for (size_t i = 0; i < golden.positions.size(); ++i) {
        const float* const row = logits.data() + golden.positions[i] * width;
        for (size_t token = 0; token < width; ++token) {
            const double error = std::abs(row[token] - golden.logits[i * width + token]) / golden.deviation;
            if (!(error <= outcome.max_error)) outcome.max_error = error;  // NaN too
        }
    }
    for (size_t i = 0; i < golden.greedy.size(); ++i) {
        const auto last = std::span(logits).last(width);
        const auto best = int32_t(std::max_element(last.begin(), last.end()) - last.begin());
        if (best == golden.greedy[i])
            ++outcome.greedy_equal;
        else
            outcome.unequal_gaps.push_back(golden.gaps[i] / golden.deviation);
        logits = evaluate(session, std::span(golden.greedy).subspan(i, 1));
        hash.add(logits);
    }
    outcome.hash = hash.hex();
    return outcome;
}

}  // namespace riftjit::runtime
