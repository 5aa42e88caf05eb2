#include "engine/text_stream.h"

namespace riftjit::engine {

std::string TextStream::finish() {
    std::string tail;
    if (!words_.is_found()) tail = words_.push(utf8_.finish());
    tail += words_.finish();
    std::string text = show(tail);
    return text += replace_invalid(shown_.finish());
}

}  // namespace riftjit::engine
