// Any bytes as RDNA instructions: each word is listed once, and what is read as an instruction encodes to its words.
//   build-fuzz/tests/fuzz/rdna_decode_fuzz build-fuzz/tests/fuzz/rdna_decode_corpus
#include <cstdint>
#include <cstring>
#include <vector>

#include "jit/rdna/encode/encoding.h"
#include "jit/rdna/text/listing.h"
#include "jit/rdna/text/text.h"

namespace {

using namespace riftjit;
using namespace riftjit::rdna;

void check_decoded(Target target, WaveSize wave, std::span<const uint32_t> words) {
    const Decoded decoded = decode(target, wave, words);
    if (!decoded.ok) {
        check(!reason(target, wave, decoded).empty(), "a refusal says why");
        return;
    }
    const auto encoded = encode(target, wave, decoded.instruction);
    check(encoded.has_value(), "what was decoded can be encoded");
    check(std::ranges::equal(encoded->span(), words.first(encoded->count)), "the same words are written again");
    // Several encodings may have one text, and LLVM's spelling of some cannot be read; it must not crash.
    static_cast<void>(parse(target, wave, print(target, wave, decoded.instruction)));
}

void check_listing(Target target, WaveSize wave, std::span<const uint32_t> words) {
    const std::vector<ListedInstruction> listing = list_instructions(target, wave, words, 0);
    size_t count = 0;
    for (const ListedInstruction& line : listing) count += line.words.size();
    check(count == words.size(), "every word is listed once");
    check(words.empty() || !format_listing(listing).empty(), "the listing has text");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 1) return 0;
    const Target target = all_targets()[(data[0] & 0x7F) % all_targets().size()].target;
    const WaveSize wave = (data[0] & 0x80) != 0 ? WaveSize::wave64 : WaveSize::wave32;
    std::vector<uint32_t> words((size - 1) / sizeof(uint32_t));
    if (!words.empty()) std::memcpy(words.data(), data + 1, words.size() * sizeof(uint32_t));
    for (size_t at = 0; at < words.size(); ++at) check_decoded(target, wave, std::span(words).subspan(at));
    check_listing(target, wave, words);
    return 0;
}
