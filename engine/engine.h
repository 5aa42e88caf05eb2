// A model bound to this machine, ready to be run: file, kernels, session, and for text its tokenizer.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "engine/devices.h"
#include "engine/grammar/token_masks.h"
#include "engine/level_choice.h"
#include "jit/x86/host_kernels.h"
#include "models/model.h"
#include "models/tokenizer/tokenizer.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/plan_set.h"
#include "runtime/sampling/sampler.h"
#include "runtime/session.h"

namespace riftjit::engine {

// When weights are packed: as there is memory, when the model is opened, or as they are read (engine/weight_loading.h).
enum class LoadMode : uint8_t { automatic, packed, on_demand };

struct EngineOptions {
    std::filesystem::path model;  // empty: the model that ships with the project
    std::vector<models::LoraRequest> adapters;
    models::Purpose purpose;         // embeds: for an Embedder, which has texts of its own
    std::optional<std::string> pre;  // the pre-tokenizer, where the file does not name it
    std::optional<Isa> max_isa;
    bool tries_levels = true;  // choose_prompt_level(), where no limit is given here or by RIFTJIT_ISA, and
                               // RIFTJIT_TUNE is not off
    DeviceChoice device;
    std::function<void(const std::string&)> note;  // of what is no warning, before the model is loaded; may be null
    std::optional<uint32_t> threads;               // absent: physical cores
    uint32_t context = 0;                          // 0: the model's
    uint32_t batch = 512;
    DType key_type = DType::F16, value_type = DType::F16;
    bool embeds_in_f32 = false;   // a model that embeds has f32 in their place: a text is there for a moment
    std::string cache_directory;  // empty: resolved
    CacheMode cache_mode = CacheMode::rw;
    std::string passes = "all";
    Activations activations = Activations::i13;
    uint32_t outputs = 1;    // rows of a step that may have logits
    uint32_t sequences = 0;  // texts side by side, each with a row of logits; 0: the one of a session
    // All positions of the context for each sequence, as long as those of all together are no more; else each has its
    // share.
    bool shares_cache = true;
    Profile profile = Profile::none;
    LoadMode load_mode = LoadMode::automatic;
};

// The plans that an engine opened with these options runs, for a graph of its model.
runtime::PlanSetOptions plan_options(const EngineOptions& options, const Backend& backend);

// choose_prompt_level() of a graph, as far as the options leave it open.
Result<LevelChoice> find_levels(const graph::Graph& graph, const runtime::PlanSetOptions& plans,
                                const EngineOptions& options, KernelCache& kernels, const Warn& warn);

struct LoadedModel {
    models::Model model;
    Isa isa;
    LevelChoice levels;         // of prompts
    uint32_t threads, context;  // context: positions of one text
    std::string device;         // "cpu", or the accelerator's name
    std::unique_ptr<KernelCache> kernels;
    std::unique_ptr<x86::HostKernels> host_kernels;  // the sampler's: its rows are here, wherever the model runs
    runtime::LogitKernels logit_kernels;             // null without sampling
    std::shared_ptr<const runtime::DeviceModel> device_model;
    std::unique_ptr<runtime::Session> session;      // null where there are sequences, and for an Embedder
    std::unique_ptr<runtime::Sequences> sequences;  // null where there is a session
};

// What kernels to get beside those of the plans.
enum class Sampling : uint8_t { no, yes };

// Gets kernels and packs weights; the options' `model` and `pre` are not looked at.
Result<LoadedModel> load(models::Model model, const EngineOptions& options, Sampling sampling, const Warn& warn);

struct Engine : LoadedModel {
    models::Tokenizer tokenizer;
    std::shared_ptr<GrammarMasks> grammars;  // of texts that follow one, which share its masks
    double load_ms = 0;                      // opening, tokenizer, packing; without the kernels
    double kernels_ms = 0;                   // generating or loading kernels
};

Result<Engine> open_engine(const EngineOptions& options, const Warn& warn);

}  // namespace riftjit::engine
