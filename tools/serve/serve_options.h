// The options of `riftjit serve`, with llama-server's names and defaults.
#pragma once

#include "server/server.h"
#include "tools/run/run_options.h"
#include "tools/serve/agent_options.h"

namespace riftjit::tools {

struct ServeOptions {
    RunOptions run;  // of which it takes model, template, sampling, kernels and what is asked for compatibility
    server::ServerOptions server;
    server::ServiceOptions service;
    AgentChoice agent;
    int64_t port = 8080, parallel = -1, threads_http = -1, timeout = 3600;
    int64_t body_limit = int64_t(32) << 20;
    std::vector<std::string> hosts{"127.0.0.1"}, api_keys, aliases, tags;
    std::string api_key_file, slot_folder;
    std::string models_folder, models_preset;  // both empty: one model
    int64_t most_models = 4, models_memory = 0, sleep_seconds = -1, models_delay = 0;
    bool loads_on_demand = true;
    bool shifts_context = false;              // --context-shift
    Toggle shares_cache = Toggle::automatic;  // --kv-unified
    bool embeds = false, ranks = false;       // --embeddings, --reranking
    std::string pooling;                      // empty: the model's
    int64_t embedding_norm = 2;
    bool has_cache_type = false;  // -ctk or -ctv was given
};

void add_serve_options(CLI::App& app, ServeOptions& options);

inline bool has_several_models(const ServeOptions& options) {
    return !options.models_folder.empty() || !options.models_preset.empty();
}

// What the command line alone can tell wrong; reads the file of keys.
Result<void> check_serve_options(ServeOptions& options);
Result<engine::EngineOptions> serve_engine_options(const ServeOptions& options);

}  // namespace riftjit::tools
