#include "engine/text_stream.h"

namespace riftjit::engine {

std::string TextStream::finish() {
    if (words_.is_found()) return {};
    const std::string tail = words_.push(utf8_.finish());
    return tail + words_.finish();
}

}  // namespace riftjit::engine
