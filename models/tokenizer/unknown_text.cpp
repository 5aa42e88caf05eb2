#include "models/tokenizer/unknown_text.h"

namespace riftjit::models {

Result<UnknownText> UnknownText::read(const EncoderSource& source) {
    UnknownText result;
    result.vocabulary_ = &source.vocabulary;
    unsigned missing = 0, first_missing = 0;
    for (unsigned byte = 256; byte-- > 0;)
        if (source.vocabulary.byte_token(static_cast<uint8_t>(byte)) == Vocabulary::kNone) {
            ++missing;
            first_missing = byte;
        }
    const GgufEntry& tokens = *source.file.find("tokenizer.ggml.tokens");
    if (missing > 0 && missing < 256)
        return fail(ErrorKind::Format,
                    "{}: {} of the 256 byte tokens are missing, the first is <0x{:02X}>; allowed are all or none",
                    source.file.place_of(tokens), missing, first_missing);
    result.has_bytes_ = missing == 0;
    if (!result.has_bytes_ && !source.special_ids.unknown)
        return fail(ErrorKind::Format,
                    "{}: the byte tokens <0x00> to <0xFF> are missing, and tokenizer.ggml.unknown_token_id is not set: "
                    "text without a token would have no id",
                    source.file.place_of(tokens));
    result.unknown_ = source.special_ids.unknown.value_or(Vocabulary::kNone);
    return result;
}

}  // namespace riftjit::models
