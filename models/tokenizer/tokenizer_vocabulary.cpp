#include "models/tokenizer/tokenizer_vocabulary.h"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <climits>

#include "host/utf8.h"

namespace riftjit::models {

namespace {

constexpr std::string_view kTokensKey = "tokenizer.ggml.tokens";
constexpr std::string_view kTypesKey = "tokenizer.ggml.token_type";
constexpr size_t kStandIns = 0x144;  // U+0100 and the 68 bytes that have to move

constexpr bool stands_for_itself(unsigned byte) {
    return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

constexpr std::array<uint16_t, 256> kByteToStandIn = [] {
    std::array<uint16_t, 256> table{};
    uint16_t next = 0x100;
    for (unsigned byte = 0; byte < 256; ++byte)
        table[byte] = stands_for_itself(byte) ? static_cast<uint16_t>(byte) : next++;
    return table;
}();

constexpr std::array<int16_t, kStandIns> kStandInToByte = [] {
    std::array<int16_t, kStandIns> table{};
    table.fill(-1);
    for (int16_t byte = 0; byte < 256; ++byte) table[kByteToStandIn[byte]] = byte;
    return table;
}();

// The byte that the stand-in at `position` means, and moves on; -1 if there is none.
int next_byte(const char*& position, const char* end) {
    const CodePoint code_point = decode_code_point(position, end);
    if (code_point.value >= kStandIns) return -1;
    position += code_point.length_bytes;
    return kStandInToByte[code_point.value];
}

// Appends the bytes of a plain token; a text with any other character in it stands for itself.
void append_bytes(std::string& bytes, std::string_view text) {
    const size_t before = bytes.size();
    const char* end = text.data() + text.size();
    for (const char* position = text.data(); position < end;) {
        const int byte = next_byte(position, end);
        if (byte < 0) {
            bytes.resize(before);
            bytes += text;
            return;
        }
        bytes += static_cast<char>(byte);
    }
}

void append_spaced(std::string& bytes, std::string_view text) {
    for (size_t mark = text.find(kSpaceMark); mark != std::string_view::npos; mark = text.find(kSpaceMark)) {
        bytes += text.substr(0, mark);
        bytes += ' ';
        text.remove_prefix(mark + kSpaceMark.size());
    }
    bytes += text;
}

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

// False: an escape that is none.
bool append_unescaped(std::string& bytes, std::string_view text) {
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\\') {
            bytes += text[i];
            continue;
        }
        if (++i == text.size()) return false;
        switch (text[i]) {
            case 't':
                bytes += '\t';
                break;
            case 'n':
                bytes += '\n';
                break;
            case 'r':
                bytes += '\r';
                break;
            case 'x': {
                const int high = i + 1 < text.size() ? hex_digit(text[i + 1]) : -1;
                const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
                if (high < 0 || low < 0) return false;
                bytes += static_cast<char>(high << 4 | low);
                i += 2;
                break;
            }
            default:  // \\ and \'
                bytes += text[i];
        }
    }
    return true;
}

uint64_t hash_of(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

}  // namespace

void append_stand_in(std::string& text, uint8_t byte) { append_utf8(text, kByteToStandIn[byte]); }

std::optional<TokenIndex::Duplicate> TokenIndex::build(const std::vector<std::string_view>& texts) {
    constexpr size_t kAhead = 16;
    texts_ = &texts;
    slots_.assign(std::bit_ceil(texts.size() + texts.size() / 2 + 2), {0, -1});
    std::array<uint64_t, kAhead> hashes{};
    for (size_t next = 0; next < texts.size() + kAhead; ++next) {
        if (next >= kAhead && !texts[next - kAhead].empty()) {
            const size_t id = next - kAhead;
            const uint64_t hash = hashes[id % kAhead];
            const auto tag = static_cast<uint32_t>(hash >> 32);
            size_t slot = slot_of(hash);
            for (; slots_[slot].id >= 0; slot = after(slot))
                if (slots_[slot].tag == tag && texts[slots_[slot].id] == texts[id])
                    return Duplicate{slots_[slot].id, static_cast<int32_t>(id)};
            slots_[slot] = {tag, static_cast<int32_t>(id)};
        }
        if (next < texts.size()) {
            hashes[next % kAhead] = hash_of(texts[next]);
            __builtin_prefetch(&slots_[slot_of(hashes[next % kAhead])]);
        }
    }
    return std::nullopt;
}

std::optional<int32_t> TokenIndex::find(std::string_view text) const {
    Search search = start(text);
    look_up(search);
    return finish(search);
}

TokenIndex::Search TokenIndex::start(std::string_view text) const {
    const uint64_t hash = hash_of(text);
    __builtin_prefetch(&slots_[slot_of(hash)]);
    return {text, hash, -1};
}

void TokenIndex::look_up(Search& search) const {
    const auto tag = static_cast<uint32_t>(search.hash >> 32);
    size_t slot = slot_of(search.hash);
    while (slots_[slot].id >= 0 && slots_[slot].tag != tag) slot = after(slot);
    search.candidate = slots_[slot].id;
    if (search.candidate >= 0) __builtin_prefetch(&(*texts_)[search.candidate]);
}

void TokenIndex::approach(const Search& search) const {
    if (search.candidate >= 0) __builtin_prefetch((*texts_)[search.candidate].data());
}

std::optional<int32_t> TokenIndex::finish(const Search& search) const {
    if (search.candidate < 0) return std::nullopt;
    if ((*texts_)[search.candidate] == search.text) return search.candidate;
    const auto tag = static_cast<uint32_t>(search.hash >> 32);  // two texts with one tag: look at all
    for (size_t slot = slot_of(search.hash); slots_[slot].id >= 0; slot = after(slot))
        if (slots_[slot].tag == tag && (*texts_)[slots_[slot].id] == search.text) return slots_[slot].id;
    return std::nullopt;
}

Result<std::unique_ptr<Vocabulary>> Vocabulary::read(const Gguf& file) {
    std::unique_ptr<Vocabulary> vocabulary(new Vocabulary);
    RIFTJIT_TRY(texts, file.strings(kTokensKey));
    if (!texts) return fail(ErrorKind::Format, "{}: missing key {}", printable(file.path().native()), kTokensKey);
    const GgufEntry& entry = *file.find(kTokensKey);
    if (texts->empty() || texts->size() > INT32_MAX)
        return fail(ErrorKind::Format, "{} has {} tokens; allowed are 1 to {}", file.place_of(entry), texts->size(),
                    INT32_MAX);
    vocabulary->texts_ = std::move(*texts);
    if (const auto duplicate = vocabulary->index_.build(vocabulary->texts_))
        return fail(ErrorKind::Format, "{}: tokens {} and {} are both '{}'", file.place_of(entry), duplicate->first,
                    duplicate->second, printable(vocabulary->texts_[duplicate->first]));
    RIFTJIT_TRY_VOID(vocabulary->read_types(file));
    return vocabulary;
}

Result<void> Vocabulary::read_types(const Gguf& file) {
    RIFTJIT_TRY(values, file.integers(kTypesKey));
    types_are_known_ = values.has_value();
    types_.assign(texts_.size(), TokenType::normal);
    if (!values) return {};
    const GgufEntry& entry = *file.find(kTypesKey);
    if (values->size() < texts_.size())
        return fail(ErrorKind::Format, "{} has {} entries for {} tokens", file.place_of(entry), values->size(),
                    texts_.size());
    for (size_t id = 0; id < texts_.size(); ++id) {
        const int64_t value = (*values)[id];
        if (value < 0 || value > static_cast<int64_t>(TokenType::byte))
            return fail(ErrorKind::Format, "{}: the type of token {} is {}; allowed are 0 to {}", file.place_of(entry),
                        id, value, static_cast<int>(TokenType::byte));
        types_[id] = static_cast<TokenType>(value);
    }
    return {};
}

bool Vocabulary::is_plain(int32_t id) const {
    switch (types_[id]) {
        case TokenType::undefined:
        case TokenType::normal:
        case TokenType::unused:
        case TokenType::byte:
            return true;
        case TokenType::unknown:
        case TokenType::control:
        case TokenType::user_defined:
            return false;
    }
    return false;
}

std::optional<int32_t> Vocabulary::find_plain(std::string_view text) const {
    const auto id = find(text);
    return id && is_plain(*id) ? id : std::nullopt;
}

void Vocabulary::find_byte_tokens(PieceForm form) {
    for (unsigned byte = 0; byte < 256; ++byte) {
        std::string text;
        if (form == PieceForm::stand_ins) {
            append_stand_in(text, static_cast<uint8_t>(byte));
        } else {
            text = fmt::format("<0x{:02X}>", byte);
        }
        byte_tokens_[byte] = find_plain(text).value_or(kNone);
    }
}

Result<void> Vocabulary::build_pieces(PieceForm form, const Gguf& file) {
    find_byte_tokens(form);
    std::vector<std::pair<int32_t, uint8_t>> bytes;  // ascending by id
    if (form == PieceForm::spaced || form == PieceForm::literal)
        for (unsigned byte = 0; byte < 256; ++byte)
            if (byte_tokens_[byte] != kNone) bytes.emplace_back(byte_tokens_[byte], static_cast<uint8_t>(byte));
    std::ranges::sort(bytes);
    size_t total_bytes = 0;
    for (const std::string_view text : texts_) total_bytes += text.size();
    piece_bytes_.reserve(total_bytes);
    piece_ends_.reserve(texts_.size());
    auto next_byte_token = bytes.begin();
    for (int32_t id = 0; id < static_cast<int32_t>(texts_.size()); ++id) {
        if (next_byte_token != bytes.end() && next_byte_token->first == id) {
            piece_bytes_ += static_cast<char>((next_byte_token++)->second);
        } else if (!is_plain(id) || form == PieceForm::literal) {
            piece_bytes_ += texts_[id];
        } else if (form == PieceForm::stand_ins) {
            append_bytes(piece_bytes_, texts_[id]);
        } else if (form == PieceForm::spaced) {
            append_spaced(piece_bytes_, texts_[id]);
        } else if (!append_unescaped(piece_bytes_, texts_[id])) {
            return fail(ErrorKind::Format,
                        "{}: token {} '{}' has an escape that is none; allowed are \\t, \\n, \\r, \\xNN",
                        file.place_of(*file.find(kTokensKey)), id, printable(texts_[id]));
        }
        const size_t begin = piece_ends_.empty() ? 0 : piece_ends_.back();
        longest_piece_ = std::max(longest_piece_, piece_bytes_.size() - begin);
        piece_ends_.push_back(piece_bytes_.size());
    }
    return {};
}

}  // namespace riftjit::models
