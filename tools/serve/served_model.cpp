#include "tools/serve/served_model.h"

#include "engine/sampling.h"
#include "tools/cli/output_file.h"
#include "tools/cli/progress.h"
#include "tools/run/drafting.h"
#include "tools/run/grammar_options.h"
#include "tools/run/prompt.h"

namespace riftjit::tools {

namespace {

Result<uint64_t> write_slot_file(const std::string& path, const server::SlotFiles::Fill& fill) {
    RIFTJIT_TRY(file, ReplacedFile::create(path));
    uint64_t bytes = 0;
    RIFTJIT_TRY_VOID(fill([&](std::span<const std::byte> piece) {
        bytes += piece.size();
        return file.append(piece);
    }));
    RIFTJIT_TRY_VOID(file.finish());
    return bytes;
}

Result<server::ServiceOptions> service_options(const ServeOptions& options, const engine::EngineOptions& choice,
                                               const engine::Engine& engine, Reporter& reporter) {
    server::ServiceOptions service = options.service;
    RIFTJIT_TRY(inputs, read_prompt_inputs(options.run));
    service.chat_template = std::move(inputs.chat_template);
    service.template_variables = std::move(inputs.variables);
    const std::string recommended = engine::recommend_sampling(engine.model.file, options.run.given_sampling,
                                                               service.sampling.parameters, reporter.warner());
    if (!recommended.empty()) reporter.info("sampling as the model's file recommends: " + recommended);
    RIFTJIT_TRY(grammar, read_grammar(options.run, reporter));
    service.sampling.grammar = std::move(grammar);
    for (const models::LoraRequest& adapter : choice.adapters)
        service.adapters.emplace_back(adapter.path.string(), adapter.scale);
    if (!options.slot_folder.empty())
        service.slot_files =
            server::SlotFiles{options.slot_folder, engine::text_identity(engine, choice), write_slot_file};
    service.is_speculative = most_guesses(options.run.draft) > 0;
    return service;
}

}  // namespace

Result<std::unique_ptr<server::ServedModel>> open_served_model(ServeOptions options, Reporter& reporter) {
    RIFTJIT_TRY(choice, serve_engine_options(options));
    choice.note = [&reporter](const std::string& line) { reporter.info(line); };
    auto opened = [&] {
        const Progress progress("loading the model");
        return engine::open_engine(choice, reporter.warner());
    }();
    if (!opened) return std::unexpected(opened.error());
    auto served = std::make_unique<server::ServedModel>();
    served->engine = std::make_unique<engine::Engine>(std::move(*opened));
    engine::Engine& engine = *served->engine;
    RIFTJIT_TRY(service, service_options(options, choice, engine, reporter));
    if (engine.model.output != models::GraphOutput::logits) {
        RIFTJIT_TRY(embedder, engine::Embedder::create(engine));
        served->embedder = std::move(embedder);
        service.embedder = served->embedder.get();
    } else {
        service.ranks_by_words = options.ranks;
        if (options.ranks)
            reporter.warn(
                "--reranking: the model has no classifier; documents are ranked by whether it says that they answer "
                "the query, yes or no, which is only as good as its answers");
        else if (!options.pooling.empty())
            reporter.warn(
                fmt::format("--pooling {}: this model writes text; --embeddings has it make vectors", options.pooling));
        // Says what is wrong with the defaults, before a request does.
        RIFTJIT_TRY_VOID(engine::make_sampler(engine, service.sampling, reporter.warner()));
    }
    RIFTJIT_TRY(drafts, open_drafts(options.run.draft, choice, engine, reporter));
    engine::ServingOptions serving{.drafts = std::move(drafts.drafts), .shifts_context = options.shifts_context};
    if (!serving.drafts.empty()) serving.draft_limits = draft_limits(options.run.draft);
    RIFTJIT_TRY(shares, synthetic_shares(options.run.draft));
    if (!shares.empty())
        reporter.warn(
            "guesses are taken by lot (--spec-synth-...), to measure speed: answers are no text of the model's");
    serving.synthetic_shares = std::move(shares);
    served->drafting = std::make_shared<OpenDrafts>(std::move(drafts));
    served->scheduler = std::make_unique<engine::Scheduler>(engine, std::move(serving));
    RIFTJIT_TRY(made, server::Service::create(engine, *served->scheduler, std::move(service)));
    served->service = std::move(made);
    return served;
}

}  // namespace riftjit::tools
