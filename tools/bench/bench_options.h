// What `riftjit bench` shall measure: llama-bench's options, every combination of their lists.
#pragma once

#include <CLI/CLI.hpp>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/devices.h"
#include "jit/formats/dtype.h"
#include "jit/isa.h"
#include "tools/cli/options.h"

namespace riftjit::tools {

// "1,2,4", "512-2048*2", "1-9+4", "16"; lists may mix them. Throws CLI::ValidationError with the whole message.
std::vector<uint32_t> parse_list(const std::string& flag, const std::string& text, uint32_t low, uint32_t high);

enum class BenchFormat : uint8_t { none, md, csv, json, jsonl, sql };

struct PromptAndGeneration {
    uint32_t prompt, generate;
};

struct BenchOptions {
    std::vector<std::string> models;
    std::vector<uint32_t> prompts = {512}, generations = {128}, depths = {0};
    std::vector<PromptAndGeneration> pairs;
    std::vector<uint32_t> batches = {2048}, ubatches = {512}, threads;
    std::vector<DType> key_types = {DType::F16}, value_types = {DType::F16};
    uint32_t repetitions = 5, delay_seconds = 0;
    BenchFormat output = BenchFormat::md, error_output = BenchFormat::none;
    bool progress = false, warmup = true;
    engine::DeviceChoice device;
    KernelChoice kernels;
    std::string plot, roofline;
    bool force = false;
    bool peaks = false, peaks_json = false, profile = false;
};

// Replaces defaults as options are seen; a repeated list option appends.
void add_bench_options(CLI::App& app, BenchOptions& options);

// Everything that decides how a model is loaded: tests with equal setups share one session.
struct BenchSetup {
    std::string model;
    uint32_t threads, batch, ubatch;
    DType type_k, type_v;
    auto operator<=>(const BenchSetup&) const = default;
};

struct BenchTest {
    BenchSetup setup;
    uint32_t prompt, generate, depth;
};

std::vector<BenchTest> combinations(const BenchOptions& options);
std::string test_name(const BenchTest& test);  // "pp512", "tg128 @ d4096", "pp512+tg128"

}  // namespace riftjit::tools
