#include "tools/serve/serve_command.h"

#include <thread>

#include "engine/sampling.h"
#include "tools/cli/device_options.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/progress.h"
#include "tools/cli/reporter.h"
#include "tools/run/grammar_options.h"
#include "tools/run/prompt.h"
#include "tools/serve/serve_options.h"

namespace riftjit::tools {

namespace {

bool is_of_this_machine(const std::string& host) {
    return host == "localhost" || host == "::1" || host.starts_with("127.");
}

// What was asked for and does nothing here.
void warn_of_options(const CLI::App& command, const ServeOptions& options, Reporter& reporter) {
    for (const std::string& warning : options.run.without_effect) reporter.warn(warning);
    for (const std::string& warning : without_effect_on_device(options.run)) reporter.warn(warning);
    if (command.count("--batch-size") != 0) reporter.warn("-b: changes nothing; a step has up to -ub rows");
    if (!is_of_this_machine(options.server.host) && options.server.api_keys.empty())
        reporter.warn(fmt::format("--host {}: whoever reaches this address may use the model; --api-key asks for a key",
                                  options.server.host));
}

std::string where(const ServeOptions& options, uint16_t port) {
    const std::string& host = options.server.host;
    const bool is_ipv6 = host.contains(':');
    return fmt::format("http://{}:{}{}", is_ipv6 ? "[" + host + "]" : host, port, options.server.prefix);
}

Result<int> serve(const CLI::App& command, ServeOptions& options, Reporter& reporter) {
    RIFTJIT_TRY_VOID(check_serve_options(options));
    RIFTJIT_TRY(engine_choice, serve_engine_options(options));
    RIFTJIT_TRY(inputs, read_prompt_inputs(options.run));
    options.service.chat_template = std::move(inputs.chat_template);
    options.service.template_variables = std::move(inputs.variables);
    RIFTJIT_TRY(grammar, read_grammar(options.run, reporter));
    options.service.sampling.grammar = std::move(grammar);
    for (const models::LoraRequest& adapter : engine_choice.adapters)
        options.service.adapters.emplace_back(adapter.path.string(), adapter.scale);
    warn_of_options(command, options, reporter);
    if (options.run.verbose) options.server.log = [&reporter](const std::string& line) { reporter.info(line); };

    RIFTJIT_TRY(server, server::Server::start(options.server));
    engine_choice.note = [&reporter](const std::string& line) { reporter.info(line); };
    auto opened = [&] {
        const Progress progress("loading the model");
        return engine::open_engine(engine_choice, reporter.warner());
    }();
    if (!opened) return std::unexpected(opened.error());
    engine::Engine& engine = *opened;
    const auto embedder = [&]() -> Result<std::unique_ptr<engine::Embedder>> {
        if (engine.model.output == models::GraphOutput::logits) return nullptr;
        return engine::Embedder::create(engine);
    }();
    if (!embedder) return std::unexpected(embedder.error());
    options.service.embedder = embedder->get();
    if (options.service.embedder == nullptr && !options.pooling.empty())
        reporter.warn(
            fmt::format("--pooling {}: this model writes text; --embeddings has it make vectors", options.pooling));
    // Says what is wrong with the defaults, before a request does.
    if (options.service.embedder == nullptr)
        RIFTJIT_TRY_VOID(engine::make_sampler(engine, options.service.sampling, reporter.warner()));
    if (options.run.strict && reporter.warnings() != 0)
        return fail(ErrorKind::Usage, "--strict: {} warning(s), see above", reporter.warnings());
    engine::Scheduler scheduler(engine);
    RIFTJIT_TRY(service, server::Service::create(engine, scheduler, options.service));
    watch_interrupts();
    server->open(*service);
    const engine::Embedder* embeds = options.service.embedder;
    reporter.info(fmt::format("{}: {}, {}, on {}", where(options, server->port()), service->model_name(),
                              embeds != nullptr
                                  ? fmt::format("embeds texts of up to {} tokens, pooling {}", embeds->most_tokens(),
                                                models::kPoolingNames[size_t(embeds->pooling())])
                                  : fmt::format("{} slots of {} positions", scheduler.slots(), scheduler.context()),
                              engine.device));
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
        const auto result = agreed ? serve(*command, *options, reporter) : std::unexpected(agreed.error());
        return result ? *result : report(result.error());
    });
}

}  // namespace riftjit::tools
