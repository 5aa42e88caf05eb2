#include "tools/serve/serve_command.h"

#include <thread>

#include "tools/cli/device_options.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/reporter.h"
#include "tools/run/drafting.h"
#include "tools/run/prompt.h"
#include "tools/serve/model_list.h"
#include "tools/serve/serve_options.h"
#include "tools/serve/served_model.h"

namespace riftjit::tools {

namespace {

// What was asked for and does nothing here.
void warn_of_options(const CLI::App& command, const ServeOptions& options, Reporter& reporter) {
    for (const std::string& warning : options.run.without_effect) reporter.warn(warning);
    for (const std::string& warning : without_effect_on_device(options.run)) reporter.warn(warning);
    if (command.count("--batch-size") != 0) reporter.warn("-b: changes nothing; a step has up to -ub rows");
    for (const std::string& host : options.server.hosts)
        if (!is_of_this_machine(host) && options.server.api_keys.empty())
            reporter.warn(fmt::format(
                "--host {}: whoever reaches this address may use the model; --api-key asks for a key", host));
}

std::string where(const ServeOptions& options, uint16_t port) {
    std::vector<std::string> places;
    for (const std::string& host : options.server.hosts) {
        const bool is_ipv6 = host.contains(':');
        places.push_back(host.ends_with(".sock") ? host
                                                 : fmt::format("http://{}:{}{}", is_ipv6 ? "[" + host + "]" : host,
                                                               port, options.server.prefix));
    }
    return fmt::format("{}", fmt::join(places, ", "));
}

server::PoolOptions pool_options(const ServeOptions& options) {
    server::PoolOptions pool{.most_loaded = uint32_t(options.most_models),
                             .most_bytes = uint64_t(options.models_memory) << 20,
                             .loads_on_demand = options.loads_on_demand,
                             .delay = std::chrono::milliseconds(options.models_delay),
                             .version = RIFTJIT_VERSION};
    if (options.sleep_seconds >= 0) pool.idle_limit = std::chrono::seconds(options.sleep_seconds);
    return pool;
}

Result<std::shared_ptr<server::ModelPool>> open_pool(const ServeOptions& options, Reporter& reporter) {
    server::PoolOptions pool = pool_options(options);
    pool.list = [options, &reporter] { return list_models(options, reporter); };
    RIFTJIT_TRY(models, pool.list());
    if (models.empty()) reporter.warn("no model is there yet");
    return std::make_shared<server::ModelPool>(std::move(pool), std::move(models));
}

// Loaded already; with --sleep-idle-seconds it is loaded again after it went.
std::shared_ptr<server::Models> one_model(const ServeOptions& options, std::unique_ptr<server::ServedModel> served,
                                          Reporter& reporter) {
    server::PoolOptions pool = pool_options(options);
    pool.is_router = false;
    pool.loads_on_demand = true;
    pool.most_bytes = 0;
    server::PoolModel model{.name = served->service->model_name(), .loads_at_start = true};
    const auto first = std::make_shared<std::unique_ptr<server::ServedModel>>(std::move(served));
    model.open = [first, options, &reporter]() -> Result<std::unique_ptr<server::ServedModel>> {
        if (*first) return std::move(*first);
        return open_served_model(options, reporter);
    };
    std::vector<server::PoolModel> models;
    models.push_back(std::move(model));
    return std::make_shared<server::ModelPool>(std::move(pool), std::move(models));
}

Result<int> serve(const CLI::App& command, ServeOptions& options, Reporter& reporter) {
    RIFTJIT_TRY_VOID(check_serve_options(options));
    RIFTJIT_TRY_VOID(serve_engine_options(options));
    RIFTJIT_TRY_VOID(read_prompt_inputs(options.run));
    RIFTJIT_TRY_VOID(open_agent(options.agent, command.count("--cors-origins") == 0, options.server, reporter));
    warn_of_options(command, options, reporter);
    if (options.run.verbose) options.server.log = [&reporter](const std::string& line) { reporter.info(line); };

    RIFTJIT_TRY(server, server::Server::start(options.server));
    if (options.server.toolbox) options.server.toolbox->start();
    std::shared_ptr<server::Models> models;
    if (has_several_models(options)) {
        RIFTJIT_TRY(pool, open_pool(options, reporter));
        reporter.info(fmt::format("{}: {} models", where(options, server->port()), pool->listed().size()));
        models = std::move(pool);
    } else {
        RIFTJIT_TRY(served, open_served_model(options, reporter));
        if (options.run.strict && reporter.warnings() != 0)
            return fail(ErrorKind::Usage, "--strict: {} warning(s), see above", reporter.warnings());
        const engine::Embedder* embeds = served->embedder.get();
        reporter.info(fmt::format(
            "{}: {}, {}, on {}", where(options, server->port()), served->service->model_name(),
            embeds != nullptr
                ? fmt::format("embeds texts of up to {} tokens, pooling {}", embeds->most_tokens(),
                              models::kPoolingNames[size_t(embeds->pooling())])
                : fmt::format("{} slots of {} positions", served->scheduler->slots(), served->scheduler->context()),
            served->engine->device));
        models = one_model(options, std::move(served), reporter);
    }
    watch_interrupts();
    server->open(models);
    while (pending_interrupt() == Interrupt::none) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    server->stop();
    return exit_code_of_interrupt();
}

constexpr const char* kServeExamples =
    "Examples:\n"
    "  riftjit serve                                            the shipped model at http://127.0.0.1:8080\n"
    "  riftjit serve -m m.gguf --port 11434 -np 8 -c 32768      eight requests at a time, 4096 positions each\n"
    "  riftjit serve -m m.gguf --host 0.0.0.0 --api-key secret  for other machines, which must know the key\n"
    "  curl http://127.0.0.1:8080/v1/chat/completions -d '{\"messages\": [{\"role\": \"user\", \"content\": "
    "\"Hi\"}]}'\n"
    "Sampling flags are what requests start from. Paths are those of OpenAI (/v1/chat/completions, /v1/completions,\n"
    "/v1/responses, /v1/models), llama.cpp (/completion, /tokenize, /props, ...), Ollama (/api/chat, /api/generate, "
    "...)\n"
    "and Anthropic (/v1/messages). Encoders and --embeddings: /v1/embeddings, /embeddings, /api/embed; --reranking: "
    "/v1/rerank.\n"
    "With --tools and MCP servers GET /tools lists what may be called, and POST /tools calls it; docs/SERVER.md says "
    "how.\n"
    "Ctrl-C ends it.";

}  // namespace

void add_serve_command(CLI::App& app, Command& chosen) {
    CLI::App* command = app.add_subcommand("serve", "Serve a model over HTTP");
    command->footer(kServeExamples);
    command->set_help_flag("-h,--help,--usage", "Print this help and leave");
    const auto options = std::make_shared<ServeOptions>();
    add_serve_options(*command, *options);
    on_chosen(*command, chosen, [command, options] {
        for (std::string& warning : given_repeatedly(*command))
            options->run.without_effect.push_back(std::move(warning));
        Reporter reporter(options->run.log_disable || options->run.verbosity <= 1 ? Verbosity::errors
                          : options->run.verbosity == 2                           ? Verbosity::warnings
                                                                                  : Verbosity::info);
        options->has_cache_type = command->count("--cache-type-k") + command->count("--cache-type-v") != 0;
        apply_escapes(options->run);
        auto agreed = check_device_flags(*command, options->run.device);
        if (agreed) agreed = check_draft_flags(*command, options->run);
        const auto result = agreed ? serve(*command, *options, reporter) : std::unexpected(agreed.error());
        return result ? *result : report(result.error());
    });
}

}  // namespace riftjit::tools
