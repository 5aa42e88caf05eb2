// An engine over one of the nano models, whose weights are random: quick, and its text is bytes of all kinds.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "engine/engine.h"
#include "engine/sampling.h"

namespace riftjit::engine {

inline std::string nano_path(const std::string& type) {
    return std::string(RIFTJIT_SOURCE_DIR) + "/tests/data/nano/nano-" + type + ".gguf";
}

inline EngineOptions nano_options(const std::string& type = "q8_0") {
    return {.model = nano_path(type), .threads = 1, .cache_mode = CacheMode::off};
}

inline void expect_no_warning(const std::string& message) { ADD_FAILURE() << "warned: " << message; }

inline Engine open_nano(const EngineOptions& options = nano_options()) {
    auto engine = open_engine(options, expect_no_warning);
    EXPECT_TRUE(engine) << (engine ? "" : engine.error().message);
    return std::move(*engine);
}

inline runtime::Sampler greedy_sampler(const Engine& engine, runtime::SamplerParameters parameters = {}) {
    parameters.temperature = 0;
    return *make_sampler(engine, {.parameters = std::move(parameters)}, expect_no_warning);
}

}  // namespace riftjit::engine
