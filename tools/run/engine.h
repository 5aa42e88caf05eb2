// A model file opened for running: tokenizer, graph, kernels and session, from command-line options.
#pragma once

#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "jit/cache/kernel_cache.h"
#include "models/model.h"
#include "models/tokenizer/tokenizer.h"
#include "runtime/sampling/sampler.h"
#include "runtime/session.h"
#include "tools/cli/reporter.h"

namespace riftjit::tools {

struct EngineOptions {
    std::filesystem::path model;     // empty: the model that ships with the project
    std::optional<std::string> pre;  // --pre
    std::optional<Isa> max_isa;
    std::optional<uint32_t> threads;  // absent: physical cores
    uint32_t context = 0;             // 0: the model's
    uint32_t batch = 512;
    DType key_type = DType::F16, value_type = DType::F16;
    std::string cache_directory;  // empty: resolved
    CacheMode cache_mode = CacheMode::rw;
    std::string passes = "all";
    models::Logits logits = models::Logits::last;
    Profile profile = Profile::none;  // --perf-map, --gdb
};

struct Engine {
    models::Model model;
    models::Tokenizer tokenizer;
    Isa isa;
    uint32_t threads, context;
    std::unique_ptr<KernelCache> kernels;
    std::unique_ptr<runtime::Session> session;
    runtime::LogitKernels logit_kernels;
    double load_ms = 0;     // opening, tokenizer, packing; without the kernels
    double kernels_ms = 0;  // generating or loading kernels
};

// What the sampler runs over the logits, beside the plans' kernels: argmax, then collect_above.
std::array<ReduceSpec, 2> logit_kernel_specs(uint32_t vocabulary);

Result<Engine> open_engine(const EngineOptions& options, Reporter& reporter);

// The storyteller: beside the binary's prefix when installed, else in the source tree.
Result<std::filesystem::path> shipped_model();

// The level to use under --max-isa and RIFTJIT_ISA; both only lower it.
Result<Isa> select_isa(std::optional<Isa> max_isa);
// RIFTJIT_ISA, checked; nullopt when unset.
Result<std::optional<Isa>> isa_from_environment();

std::unique_ptr<KernelCache> open_kernel_cache(const std::string& directory, CacheMode mode, KernelCache::Use use,
                                               Reporter& reporter);

}  // namespace riftjit::tools
