#include "engine/embedder.h"

#include <algorithm>
#include <cmath>

#include "models/gguf/gguf_text.h"

namespace riftjit::engine {

using models::Pooling;

namespace {

constexpr uint32_t kTextsOfAStep = 64;
constexpr std::string_view kRankTemplateKey = "tokenizer.chat_template.rerank";

void replace_all(std::string& text, std::string_view what, std::string_view by) {
    for (size_t at = 0; (at = text.find(what, at)) != text.npos; at += by.size()) text.replace(at, what.size(), by);
}

void to_shares(std::span<float> scores) {
    const float largest = std::ranges::max(scores);
    double sum = 0;
    for (const float score : scores) sum += std::exp(double(score) - largest);
    for (float& score : scores) score = float(std::exp(double(score) - largest) / sum);
}

}  // namespace

Result<std::optional<std::string>> rank_text(const models::Gguf& file, std::string_view query,
                                             std::string_view document) {
    RIFTJIT_TRY(form, file.string(kRankTemplateKey));
    if (!form) return std::nullopt;
    std::string text(*form);
    replace_all(text, "{query}", query);
    replace_all(text, "{document}", document);
    return text;
}

Embedder::Embedder(const Engine& engine, runtime::Sequences sequences)
    : engine_(engine), sequences_(std::move(sequences)) {
    rows_.reserve(engine.device_model->prompt_plan.max_tokens);
}

Result<std::unique_ptr<Embedder>> Embedder::create(const Engine& engine) {
    riftjit::check(engine.model.output != models::GraphOutput::logits, "the engine was opened to embed");
    const uint32_t rows = engine.device_model->prompt_plan.max_tokens;
    // Each text's last page is its own; beside them a text of several steps.
    const runtime::SequenceLimits limits{.sequences = kTextsOfAStep,
                                         .positions = engine.context,
                                         .cached_positions = round_up(uint64_t(engine.context), kKvPage) +
                                                             round_up(uint64_t(rows), kKvPage) +
                                                             uint64_t(kTextsOfAStep) * kKvPage};
    RIFTJIT_TRY(sequences, runtime::Sequences::create(engine.device_model, limits));
    return std::unique_ptr<Embedder>(new Embedder(engine, std::move(sequences)));
}

uint32_t Embedder::width() const { return engine_.device_model->vocabulary; }

uint32_t Embedder::most_tokens() const {
    const runtime::DeviceModel& model = *engine_.device_model;
    return model.reads_whole_texts ? std::min(engine_.context, model.prompt_plan.max_tokens) : engine_.context;
}

Result<std::vector<std::string>> Embedder::labels() const {
    const models::Gguf& file = engine_.model.file;
    const std::string key = engine_.model.hyperparameters.architecture + ".classifier.output_labels";
    if (file.find(key) == nullptr) return std::vector<std::string>();
    RIFTJIT_TRY(names, file.strings(key));
    if (names->size() != width())
        return fail(ErrorKind::Format, "{} has {} names, but the classifier {} scores", file.place_of(*file.find(key)),
                    names->size(), width());
    return std::vector<std::string>(names->begin(), names->end());
}

Result<std::vector<int32_t>> Embedder::tokens_of(std::string_view text) const {
    return engine_.tokenizer.encode(text, models::ParseSpecial::yes, models::AddBos::and_end);
}

Result<std::vector<int32_t>> Embedder::tokens_of_pair(std::string_view query, std::string_view document) const {
    RIFTJIT_TRY(text, rank_text(engine_.model.file, query, document));
    if (!text) return engine_.tokenizer.encode_pair(query, document);
    return engine_.tokenizer.encode(*text, models::ParseSpecial::yes, models::AddBos::no);
}

Result<std::vector<Embedding>> Embedder::embed(std::span<const std::vector<int32_t>> texts,
                                               const std::function<bool()>& is_wanted) {
    RIFTJIT_TRY_VOID(check(texts));
    std::vector<Embedding> out(texts.size());
    for (size_t done = 0; done < texts.size();) {
        if (is_wanted && !is_wanted()) return fail(ErrorKind::Usage, "the client left");
        const size_t count = count_together(texts.subspan(done));
        const std::lock_guard lock(mutex_);
        RIFTJIT_TRY_VOID(read_together(texts.subspan(done, count), std::span(out).subspan(done, count)));
        done += count;
    }
    return out;
}

Result<void> Embedder::check(std::span<const std::vector<int32_t>> texts) const {
    for (size_t i = 0; i < texts.size(); ++i) {
        const std::string which = texts.size() == 1 ? "the text" : fmt::format("text {}", i + 1);
        if (texts[i].empty())
            return fail(ErrorKind::Usage, "{} is empty, and the vocabulary puts no token around it", which);
        if (texts[i].size() > most_tokens())
            return fail(ErrorKind::Usage, "{} of {} tokens is too large to process: up to {} fit (-c)", which,
                        texts[i].size(), most_tokens());
        for (const int32_t id : texts[i])
            if (id < 0 || uint32_t(id) >= engine_.device_model->token_limit)
                return fail(ErrorKind::Usage, "{}: token {} is outside the vocabulary of {}", which, id,
                            engine_.device_model->token_limit);
    }
    return {};
}

// Of the first texts, those that a step has room for; of a decoder one at least, which may take several.
size_t Embedder::count_together(std::span<const std::vector<int32_t>> texts) const {
    const size_t most = engine_.device_model->prompt_plan.max_tokens;
    size_t rows = 0, count = 0;
    while (count < std::min<size_t>(texts.size(), kTextsOfAStep) && (count == 0 || rows + texts[count].size() <= most))
        rows += texts[count++].size();
    return count;
}

bool Embedder::wants(size_t row, size_t rows) const {
    switch (pooling()) {
        case Pooling::none:
        case Pooling::mean:
            return true;
        case Pooling::cls:
            return row == 0;
        case Pooling::last:
            return row + 1 == rows;
        case Pooling::rank:
            return row == (engine_.device_model->reads_whole_texts ? 0 : rows - 1);
    }
    check_failed("a pooling is one of five", std::source_location::current());
}

Result<void> Embedder::read_together(std::span<const std::vector<int32_t>> texts, std::span<Embedding> out) {
    struct Open {  // closes what was opened, however it ends
        runtime::Sequences& sequences;
        std::vector<runtime::SequenceId> ids;
        ~Open() {
            for (const runtime::SequenceId id : ids) sequences.close(id);
        }
    } open{sequences_, {}};
    for (size_t i = 0; i < texts.size(); ++i) {
        RIFTJIT_TRY(id, sequences_.open());
        open.ids.push_back(id);
    }
    std::vector<std::vector<double>> sums(texts.size());
    const size_t most = engine_.device_model->prompt_plan.max_tokens;
    std::vector<size_t> text_of_output;
    const auto run_step = [&]() -> Result<void> {
        RIFTJIT_TRY(step, sequences_.step(rows_));
        for (uint32_t output = 0; output < step.rows; ++output) {
            std::vector<double>& sum = sums[text_of_output[output]];
            const std::span row = step.row(output);
            if (!std::ranges::all_of(row, [](float value) { return std::isfinite(value); })) {
                const auto launch = sequences_.first_not_finite();
                return fail(ErrorKind::Format, "a value of a vector is no finite number{}",
                            launch ? fmt::format("; the first is written by {}", *launch) : "");
            }
            if (pooling() == Pooling::mean && !sum.empty())
                std::ranges::transform(sum, row, sum.begin(), std::plus{});
            else
                sum.insert(sum.end(), row.begin(), row.end());
        }
        rows_.clear();
        text_of_output.clear();
        return {};
    };
    for (size_t i = 0; i < texts.size(); ++i)
        for (size_t row = 0; row < texts[i].size(); ++row) {
            if (rows_.size() == most) RIFTJIT_TRY_VOID(run_step());
            const bool is_wanted = wants(row, texts[i].size());
            using Logits = runtime::StepRow::Logits;
            rows_.push_back({open.ids[i], texts[i][row], is_wanted ? Logits::wanted : Logits::none});
            if (is_wanted) text_of_output.push_back(i);
        }
    const auto last = run_step();
    rows_.clear();
    if (!last) return last;
    for (size_t i = 0; i < texts.size(); ++i) {
        const size_t rows = texts[i].size();
        Embedding& embedding = out[i];
        if (pooling() == Pooling::mean)
            for (double& sum : sums[i]) sum /= double(rows);
        embedding.values.assign(sums[i].begin(), sums[i].end());
        embedding.vectors = pooling() == Pooling::none ? uint32_t(rows) : 1;
        embedding.tokens = uint32_t(rows);
        if (engine_.model.output == models::GraphOutput::ranks && engine_.model.hyperparameters.has_shares_of_ranks)
            to_shares(embedding.values);
    }
    return {};
}

void normalize(std::span<float> vector, int way) {
    double size = 0;
    if (way < 0) return;
    for (const float value : vector) {
        const double magnitude = std::fabs(double(value));
        size =
            way == 0 ? std::max(size, magnitude) : size + (way == 2 ? magnitude * magnitude : std::pow(magnitude, way));
    }
    constexpr double kLargest = 32760;  // of what an int16 may hold
    if (way == 0) size /= kLargest;
    if (way >= 2) size = way == 2 ? std::sqrt(size) : std::pow(size, 1.0 / way);
    if (size == 0) return;
    for (float& value : vector) value = float(value / size);
}

double cosine(std::span<const float> one, std::span<const float> other) {
    double product = 0, first = 0, second = 0;
    for (size_t i = 0; i < one.size(); ++i) {
        product += double(one[i]) * other[i];
        first += double(one[i]) * one[i];
        second += double(other[i]) * other[i];
    }
    if (first == 0 || second == 0) return first == second ? 1 : 0;
    return product / std::sqrt(first * second);
}

}  // namespace riftjit::engine
