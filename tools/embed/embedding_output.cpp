#include "tools/embed/embedding_output.h"

#include <algorithm>

namespace riftjit::tools {

using models::Pooling;

namespace {

class Printer {
public:
    explicit Printer(const EmbeddingOutput& output) : output_(output) {
        for (const engine::Embedding& embedding : output.embeddings)
            for (uint32_t i = 0; i < embedding.vectors; ++i)
                vectors_.push_back(std::span(embedding.values).subspan(size_t(i) * output.width, output.width));
    }

    std::string run() {
        switch (output_.format) {
            case EmbeddingFormat::text:
                print_readable();
                break;
            case EmbeddingFormat::array:
                print_list("[", ",", "]\n", [this](size_t i) { print_array(i); });
                break;
            case EmbeddingFormat::json:
            case EmbeddingFormat::json_plus:
                print_json();
                break;
            case EmbeddingFormat::raw:
                for (const auto& vector : vectors_) text_ += values(vector, " ", 1, 7) + "\n";
                break;
        }
        return std::move(text_);
    }

private:
    using Vector = std::span<const float>;

    // Of int16 no fraction is left.
    std::string value(float value, int width, int digits) const {
        return fmt::format("{:{}.{}f}", value, width, output_.has_integers ? 0 : digits);
    }
    std::string values(Vector vector, std::string_view separator, int width, int digits) const {
        std::string text;
        for (size_t i = 0; i < vector.size(); ++i)
            text += (i == 0 ? "" : separator), text += value(vector[i], width, digits);
        return text;
    }
    std::string readable(Vector vector) const { return values(vector, " ", output_.has_integers ? 6 : 9, 6); }

    void print_readable() {
        constexpr size_t kEnds = 3, kFirst = 16;
        if (output_.pooling == Pooling::rank) return print_scores();
        for (size_t i = 0; i < vectors_.size(); ++i) {
            const Vector vector = vectors_[i];
            text_ += fmt::format("embedding {}: ", i);
            if (output_.pooling == Pooling::none)
                text_ += fmt::format("{}  ... {}\n", readable(vector.first(std::min(kEnds, vector.size()))),
                                     readable(vector.last(std::min(kEnds, vector.size()))));
            else
                text_ += readable(vectors_.size() == 1 ? vector : vector.first(std::min(kFirst, vector.size()))) + "\n";
        }
        if (output_.pooling == Pooling::none || vectors_.size() == 1) return;
        text_ += "\ncosine similarity matrix:\n\n";
        for (const std::string& text : output_.texts) text_ += fmt::format("{:>6.6} ", text);
        text_ += "\n";
        for (size_t i = 0; i < vectors_.size(); ++i) {
            for (const Vector other : vectors_) text_ += fmt::format("{:6.2f} ", engine::cosine(vectors_[i], other));
            text_ += fmt::format("{:.10}\n", output_.texts[i]);
        }
    }
    void print_scores() {
        for (size_t i = 0; i < vectors_.size(); ++i)
            for (size_t label = 0; label < vectors_[i].size(); ++label) {
                text_ += fmt::format("rerank score {}: {:8.3f}", i, vectors_[i][label]);
                if (vectors_[i].size() > 1)
                    text_ +=
                        fmt::format(" [{}]", output_.labels.empty() ? std::to_string(label) : output_.labels[label]);
                text_ += "\n";
            }
    }

    void print_list(std::string_view begin, std::string_view separator, std::string_view end, auto&& print) {
        text_ += begin;
        for (size_t i = 0; i < vectors_.size(); ++i) {
            if (i != 0) text_ += separator;
            print(i);
        }
        text_ += end;
    }
    void print_array(size_t i) { text_ += "[" + values(vectors_[i], ",", 1, 7) + "]"; }
    void print_json() {
        text_ += "{\n  \"object\": \"list\",\n  \"data\": [\n";
        print_list("", ",\n", "\n  ]", [this](size_t i) {
            text_ +=
                fmt::format("    {{\n      \"object\": \"embedding\",\n      \"index\": {},\n      \"embedding\": ", i);
            print_array(i);
            text_ += "\n    }";
        });
        if (output_.format == EmbeddingFormat::json_plus && vectors_.size() > 1)
            print_list(",\n  \"cosineSimilarity\": [\n", ",\n", "\n  ]", [this](size_t i) {
                std::string row;
                for (const Vector other : vectors_)
                    row += fmt::format("{}{:6.2f}", row.empty() ? "" : ", ", engine::cosine(vectors_[i], other));
                text_ += "    [" + row + " ]";
            });
        text_ += "\n}\n";
    }

    const EmbeddingOutput& output_;
    std::vector<Vector> vectors_;
    std::string text_;
};

}  // namespace

std::string embedding_text(const EmbeddingOutput& output) { return Printer(output).run(); }

}  // namespace riftjit::tools
