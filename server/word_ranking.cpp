#include "server/word_ranking.h"

#include <cmath>

#include "server/chat.h"

namespace riftjit::server {

namespace {

constexpr const char* kTask =
    "Judge whether the Document meets the requirements based on the Query and the Instruct provided. Note that the "
    "answer "
    "can only be \"yes\" or \"no\".";
constexpr const char* kInstruction = "Given a web search query, retrieve relevant passages that answer the query";
constexpr const char* kAnswers = R"(root ::= " "? ("yes" | "Yes" | "no" | "No"))";
constexpr uint32_t kBeginnings = 64;  // more than tokens that begin one of them

std::string question(const std::string& query, const std::string& document) {
    return fmt::format("<Instruct>: {}\n<Query>: {}\n<Document>: {}", kInstruction, query, document);
}

Outcome<std::vector<int32_t>> ids_of_pair(const Service& service, const std::string& query,
                                          const std::string& document) {
    const auto form = engine::rank_text(service.engine().model.file, query, document);
    if (!form) return std::unexpected(api_error(form.error()));
    if (*form) return service.tokens_of(**form, false);
    if (!service.chat_template())
        return service.tokens_of(fmt::format("{}\n{}\nAnswer:", kTask, question(query, document)));
    Json body = {
        {"messages",
         {{{"role", "system"}, {"content", kTask}}, {{"role", "user"}, {"content", question(query, document)}}}},
        {"chat_template_kwargs", {{"enable_thinking", false}}}};
    auto chat = read_chat(service, body);
    if (!chat) {
        // Templates that know no system's message say so.
        body["messages"] = {{{"role", "user"}, {"content", fmt::format("{}\n{}", kTask, question(query, document))}}};
        chat = read_chat(service, body);
    }
    if (!chat) return std::unexpected(std::move(chat.error()));
    return std::move(chat->prompt.ids);
}

// Of yes and no, yes.
float share_of_yes(const Service& service, const Collected& answer) {
    double yes = 0, no = 0;
    for (const auto& token : answer.tokens)
        for (const auto& [id, log_probability] : token.chances) {
            const std::string piece = service.piece(id);
            const size_t first = piece.find_first_not_of(' ');
            if (first == piece.npos) continue;
            (piece[first] == 'y' || piece[first] == 'Y' ? yes : no) += std::exp(double(log_probability));
        }
    return yes + no > 0 ? float(yes / (yes + no)) : 0;
}

// One token of the model's own distribution among those that begin an answer.
Outcome<Asked> one_answer() {
    Asked asked;
    auto grammar = engine::Grammar::from_gbnf(kAnswers);
    if (!grammar) return std::unexpected(api_error(grammar.error()));
    engine::ServingRequest& request = asked.request;
    request.sampling.grammar = std::move(*grammar);
    request.sampling.parameters.stages.clear();
    request.sampling.parameters.temperature = 1;
    request.sampling.parameters.seed = 0;
    request.chances = kBeginnings;
    request.chances_behind_samplers = true;
    request.max_tokens = 1;
    return asked;
}

}  // namespace

Outcome<Ranked> rank_by_words(const Service& service, const std::string& query,
                              const std::vector<std::string>& documents, const HttpRequest& request) {
    std::vector<std::vector<int32_t>> prompts;
    for (const std::string& document : documents) {
        RIFTJIT_ASK(ids, ids_of_pair(service, query, document));
        if (ids.size() >= service.scheduler().context())
            return std::unexpected(too_long_prompt(ids.size(), service.scheduler().context()));
        prompts.push_back(std::move(ids));
    }
    RIFTJIT_ASK(asked, one_answer());
    // Others' requests have their turns in between.
    const size_t slots = service.scheduler().slots();
    Ranked ranked;
    for (size_t first = 0; first < prompts.size(); first += slots) {
        const auto begin = prompts.begin() + ptrdiff_t(first);
        const auto end = begin + ptrdiff_t(std::min(slots, prompts.size() - first));
        RIFTJIT_ASK(answers, service.submit(asked, {begin, end}));
        RIFTJIT_ASK(collected, collect(std::move(answers), request));
        for (const Collected& answer : collected) ranked.scores.push_back(share_of_yes(service, answer));
        for (auto each = begin; each != end; ++each) ranked.tokens += each->size();
    }
    return ranked;
}

}  // namespace riftjit::server
