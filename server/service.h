// What all APIs share: the model, its requests in the scheduler, and the words that replies are made of.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/conversation.h"
#include "engine/embedder.h"
#include "engine/reply_format.h"
#include "engine/serving/scheduler.h"
#include "server/errors.h"
#include "server/fields.h"
#include "server/http.h"

namespace riftjit::server {

// Where texts of slots are kept (--slot-save-path). Requests name files in the folder, and no others.
struct SlotFiles {
    std::string folder;
    engine::TextIdentity identity;
    // Writes a file, whole or not at all, that `fill` hands its bytes to: how many.
    using Fill = std::function<Result<void>(const runtime::Sequences::Sink&)>;
    std::function<Result<uint64_t>(const std::string& path, const Fill& fill)> write;
};

struct ServiceOptions {
    std::string version;             // of the program
    std::vector<std::string> names;  // of the model (-a); empty: its file's name
    std::vector<std::string> tags;
    std::vector<std::pair<std::string, float>> adapters;  // files and scales, as they were loaded
    engine::SamplerChoice sampling;                       // where a request says nothing
    int64_t usual_tokens = -1;                            // of an answer whose request names no limit; -1: none
    int64_t most_tokens = -1;                             // of any answer; -1: no limit
    std::vector<std::string> stop_words;
    bool shows_special = false;
    std::optional<models::ChatTemplate> chat_template;  // in place of the model's
    Json template_variables = Json::object();
    std::string reasoning_format = "auto";  // where a request says nothing; none: thinking stays in the content
    bool reuses_text = true;
    bool shows_slots = true, shows_metrics = false, takes_props = false;
    int64_t ping_seconds = 30;  // a comment where a stream is silent; below 0: none
    std::optional<SlotFiles> slot_files;
    int64_t kept_tokens = 0;      // --keep, as ServingRequest has it
    bool is_speculative = false;  // guesses are tried
    // Of a model that was opened to embed, which then writes no text; null: it writes.
    engine::Embedder* embedder = nullptr;
    bool ranks_by_words = false;  // documents are ranked by a model that writes (word_ranking.h)
    int embedding_norm = 2;       // engine::normalize(), where a request says nothing
    bool is_verbose = false;      // replies have "__verbose", where a request says nothing
};

// What one request of an API asks for.
struct Asked {
    engine::ServingRequest request;  // but for its prompt
    bool streams = false;
    uint32_t count = 1;  // answers to each prompt
    bool returns_tokens = false, tells_timings = false, includes_usage = false, is_verbose = false;
    int64_t ping_seconds = 30;
    std::vector<std::string> response_fields;
};

class Service {
public:
    // All must outlive it. Fails on a chat template that does not parse.
    static Result<std::unique_ptr<Service>> create(engine::Engine& engine, engine::Scheduler& scheduler,
                                                   ServiceOptions options);

    engine::Engine& engine() const { return engine_; }
    engine::Scheduler& scheduler() const { return scheduler_; }
    const models::Tokenizer& tokenizer() const { return engine_.tokenizer; }
    const ServiceOptions& options() const { return options_; }
    const std::optional<models::ChatTemplate>& chat_template() const { return chat_template_; }
    const std::string& model_name() const { return name_; }
    std::string fingerprint() const { return "b1-riftjit-" + options_.version; }
    int64_t started() const { return started_; }
    std::string model_path() const { return engine_.model.file.path().string(); }
    const engine::ReplyFormat& reply_format() const { return reply_format_; }
    uint64_t parameters() const { return parameters_; }
    uint64_t weight_bytes() const { return weight_bytes_; }
    std::string file_type() const { return file_type_; }  // that most of the weights have: "Q4_K"
    Json model_details() const;                           // as Ollama has them

    // What sampling and stopping a request asks for, in llama.cpp's names and OpenAI's.
    Asked read_settings(Fields& fields) const;
    Json settings_json(const Asked& asked) const;  // generation_settings

    Outcome<std::vector<int32_t>> tokens_of(const std::string& text, bool adds_begin = true,
                                            bool parses_special = true) const;
    // A prompt as llama.cpp takes it: text, ids, both mixed, or an object with prompt_string.
    Outcome<std::vector<int32_t>> prompt_of(const Json& prompt) const;
    // The same, or several.
    Outcome<std::vector<std::vector<int32_t>>> prompts_of(const char* name, const Json* prompt) const;

    struct ChatPrompt {
        std::string text;
        std::vector<int32_t> ids;
    };
    // Messages of OpenAI's form through the model's template.
    Outcome<ChatPrompt> render_chat(Json messages, Json tools, Json variables,
                                    bool adds_generation_prompt = true) const;

    Outcome<std::vector<engine::Scheduler::Answer>> submit(const Asked& asked,
                                                           const std::vector<std::vector<int32_t>>& prompts) const;

    // Of a token and of those that might have stood there: llama.cpp's and OpenAI's form at once; behind the samplers,
    // llama.cpp's alone, which has probabilities then.
    Json chances_json(const engine::ServingEvent::Token& token, const Asked& asked) const;
    // A prompt as the model reads it.
    std::string prompt_text(const std::vector<int32_t>& ids) const;
    std::string piece(int32_t id) const { return std::string(tokenizer().piece(id)); }
    std::string random_id(const char* prefix) const;
    // What was done since the last call of this.
    engine::ServingTotals totals_since_last(const engine::ServingTotals& now) const;

private:
    Service(engine::Engine& engine, engine::Scheduler& scheduler, ServiceOptions options);

    engine::Engine& engine_;
    engine::Scheduler& scheduler_;
    ServiceOptions options_;
    std::optional<models::ChatTemplate> chat_template_;
    engine::ReplyFormat reply_format_;
    std::string name_, file_type_;
    uint64_t parameters_ = 0, weight_bytes_ = 0;
    int64_t started_;
    mutable std::mutex mutex_;
    mutable engine::ServingTotals last_totals_;
};

// The answer has to be a document that the schema finds valid; `name` is the member that says so.
void hold_to_schema(Fields& fields, const char* name, const Json& schema, engine::SamplerChoice& choice);
Json timings_json(const engine::ServingTimings& timings);
Json usage_json(const engine::ServingTimings& timings);
// Text of a token as JSON has it, and its bytes.
Json bytes_json(std::string_view bytes);
// "stop" or "length", as OpenAI has it.
const char* finish_name(engine::FinishReason reason);
int64_t seconds_now();

HttpReply json_reply(const Json& object, int status = 200);
HttpReply error_reply(const ApiError& error);
// json_reply() or error_reply().
HttpReply reply_of(const Outcome<Json>& outcome);

struct Route {
    const char* method;
    const char* path;  // "/slots/{id}": one part of any text, handed on in query["id"]
    HttpReply (*handler)(const Service&, const HttpRequest&);
};

}  // namespace riftjit::server
