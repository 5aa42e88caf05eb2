#include "models/folder/sentencepiece.h"

#include <cstring>
#include <optional>
#include <unordered_map>

#include "host/utf8.h"
#include "models/gguf/gguf.h"

namespace riftjit::models::folder {

namespace {

// Fields of a protobuf message, in order (protobuf.dev, "Encoding").
class Message {
public:
    enum class Wire : uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };
    struct Field {
        uint64_t number;
        Wire wire;
        uint64_t value;          // of a varint, or the bits of a fixed one
        std::string_view bytes;  // of Wire::bytes
    };
    explicit Message(std::string_view bytes) : rest_(bytes) {}

    bool at_end() const { return rest_.empty(); }
    std::optional<Field> next() {
        const auto tag = varint();
        if (!tag) return std::nullopt;
        Field field{*tag >> 3, static_cast<Wire>(*tag & 7), 0, {}};
        switch (field.wire) {
            case Wire::varint: {
                const auto value = varint();
                if (!value) return std::nullopt;
                field.value = *value;
                return field;
            }
            case Wire::fixed64:
                return fixed(field, 8);
            case Wire::fixed32:
                return fixed(field, 4);
            case Wire::bytes: {
                const auto length = varint();
                if (!length || *length > rest_.size()) return std::nullopt;
                field.bytes = rest_.substr(0, *length);
                rest_.remove_prefix(*length);
                return field;
            }
        }
        return std::nullopt;
    }

private:
    std::optional<uint64_t> varint() {
        uint64_t value = 0;
        for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
            const auto byte = static_cast<unsigned char>(rest_.front());
            rest_.remove_prefix(1);
            value |= uint64_t{byte & 0x7fu} << shift;
            if (byte < 0x80) return value;
        }
        return std::nullopt;
    }
    std::optional<Field> fixed(Field field, size_t bytes) {
        if (rest_.size() < bytes) return std::nullopt;
        std::memcpy(&field.value, rest_.data(), bytes);
        rest_.remove_prefix(bytes);
        return field;
    }

    std::string_view rest_;
};

float float_of_bits(uint64_t bits) {
    const auto low = static_cast<uint32_t>(bits);
    float value;
    std::memcpy(&value, &low, sizeof value);
    return value;
}

bool is_byte_text(std::string_view text) {
    const auto is_hex = [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F') || (c >= 'a' && c <= 'f');
    };
    return text.size() == 6 && text.starts_with("<0x") && is_hex(text[3]) && is_hex(text[4]) && text[5] == '>';
}

constexpr uint64_t kPiecesField = 1, kTrainerField = 2, kNormalizerField = 3;  // of ModelProto
constexpr uint64_t kModelTypeField = 3, kBpe = 2;                              // of TrainerSpec
constexpr uint64_t kDummyPrefixField = 3;                                      // of NormalizerSpec

}  // namespace

Result<Pieces> read_sentencepiece(const std::string& file, std::string_view bytes, uint64_t size) {
    Pieces pieces;
    const auto broken = [&](std::string_view what) {
        return fail(ErrorKind::Format, "{}: no SentencePiece model: {} behind piece {} is cut off or damaged", file,
                    what, pieces.texts.size());
    };
    uint64_t model_type = 1;  // unigram, where none is told
    for (Message message(bytes); !message.at_end();) {
        const auto field = message.next();
        if (!field) return broken("a field");
        if (field->number == kPiecesField && field->wire == Message::Wire::bytes) {
            if (pieces.texts.size() == size)
                return fail(ErrorKind::Format, "{}: has more pieces than the {} tokens of the model", file, size);
            std::string text;
            float score = 0;
            uint64_t type = kNormal;
            for (Message piece(field->bytes); !piece.at_end();) {
                const auto part = piece.next();
                if (!part) return broken("a piece");
                if (part->number == 1 && part->wire == Message::Wire::bytes) text = part->bytes;
                if (part->number == 2 && part->wire == Message::Wire::fixed32) score = float_of_bits(part->value);
                if (part->number == 3 && part->wire == Message::Wire::varint) type = part->value;
            }
            if (text.empty() || type < kNormal || type > kByte || valid_utf8_prefix(text) != text.size())
                return broken(fmt::format("'{}' of type {}", printable(text), type));
            pieces.texts.push_back(std::move(text));
            pieces.scores.push_back(score);
            pieces.types.push_back(static_cast<int32_t>(type));
        } else if (field->number == kTrainerField && field->wire == Message::Wire::bytes) {
            for (Message trainer(field->bytes); !trainer.at_end();) {
                const auto part = trainer.next();
                if (!part) return broken("the trainer's record");
                if (part->number == kModelTypeField) model_type = part->value;
            }
        } else if (field->number == kNormalizerField && field->wire == Message::Wire::bytes) {
            for (Message normalizer(field->bytes); !normalizer.at_end();) {
                const auto part = normalizer.next();
                if (!part) return broken("the normalizer's record");
                if (part->number == kDummyPrefixField) pieces.adds_dummy_prefix = part->value != 0;
            }
        }
    }
    if (pieces.texts.empty()) return broken("everything");
    if (model_type != kBpe)
        return fail(ErrorKind::Unsupported, "{}: a model of type {} is unsupported; supported is {} (BPE)", file,
                    model_type, kBpe);
    pieces.texts.resize(size);
    pieces.scores.resize(size, -10000.0f);
    pieces.types.resize(size, kUnused);
    return pieces;
}

Result<Pieces> pieces_of_merges(const std::string& file, std::vector<std::string> texts,
                                std::span<const std::pair<std::string, std::string>> merges,
                                const std::set<std::string>& added) {
    Pieces pieces;
    pieces.types.assign(texts.size(), kNormal);
    pieces.scores.assign(texts.size(), 0.0f);
    std::unordered_map<std::string_view, uint32_t> ids;
    for (uint32_t id = 0; id < texts.size(); ++id) {
        if (texts[id].empty()) continue;
        if (is_byte_text(texts[id])) pieces.types[id] = kByte;
        if (!added.contains(texts[id])) ids.emplace(texts[id], id);
    }
    // A score belongs to a piece, however it is cut; so all merges that make it must stand together.
    std::vector<uint32_t> cuts(texts.size(), 0);
    std::string product;
    uint32_t rank = 0, previous = UINT32_MAX;
    for (size_t i = 0; i < merges.size(); ++i) {
        product = merges[i].first + merges[i].second;
        const auto found = ids.find(product);
        if (found == ids.end() || !ids.contains(merges[i].first) || !ids.contains(merges[i].second)) {
            if (added.contains(product)) continue;  // found before anything is merged
            return fail(ErrorKind::Format, "{}: merge {} of '{}' and '{}' has a part or a result that is no token",
                        file, i, printable(merges[i].first), printable(merges[i].second));
        }
        const uint32_t id = found->second;
        if (id != previous && cuts[id] > 0)
            return fail(ErrorKind::Unsupported,
                        "{}: merge {} makes '{}' again, with others in between: no scores of pieces say that", file, i,
                        printable(product));
        if (id != previous) pieces.scores[id] = -static_cast<float>(rank++);
        previous = id;
        ++cuts[id];
    }
    if (rank > 1u << 24)
        return fail(ErrorKind::Unsupported, "{}: {} pieces are more than scores tell apart", file, rank);
    // And every way to cut a piece into two must have its merge, for scores forbid none.
    for (uint32_t id = 0; id < texts.size(); ++id) {
        const std::string_view text = texts[id];
        if (text.empty() || pieces.types[id] == kByte || added.contains(texts[id])) continue;
        uint32_t possible = 0;
        for (size_t cut = 1; cut < text.size(); ++cut)
            if ((static_cast<unsigned char>(text[cut]) & 0xC0) != 0x80)
                possible += ids.contains(text.substr(0, cut)) && ids.contains(text.substr(cut)) ? 1 : 0;
        if (possible != cuts[id])
            return fail(ErrorKind::Unsupported,
                        "{}: token {} '{}' has {} merges, but could be cut in {} ways: no scores of pieces say that",
                        file, id, printable(text), cuts[id], possible);
    }
    pieces.texts = std::move(texts);
    return pieces;
}

}  // namespace riftjit::models::folder
