// Any bytes as RDNA assembly: a line per target, or a whole file; refused with a reason or accepted, never a crash, and
// what is accepted prints and reads back as itself.
//   build-fuzz/tests/fuzz/rdna_text_fuzz build-fuzz/tests/fuzz/rdna_text_corpus
#include <cstdint>
#include <cstdlib>
#include <string>

#include "jit/rdna/assembly_file.h"
#include "jit/rdna/encoding.h"
#include "jit/rdna/text.h"

using namespace riftjit::rdna;

namespace {

void check_line(Target target, WaveSize wave, std::string_view line) {
    const auto parsed = parse(target, wave, line);
    if (!parsed) {
        if (parsed.error().message.empty()) std::abort();
        return;
    }
    if (!parsed->label.empty()) return;
    const auto again = parse(target, wave, print(target, wave, parsed->instruction));
    if (!again) std::abort();
    const auto first = encode(target, wave, parsed->instruction), second = encode(target, wave, again->instruction);
    if (!first || !second || first->words != second->words) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 1) return 0;
    const Target target = all_targets()[data[0] % all_targets().size()].target;
    const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
    if ((data[0] & 0x80) == 0) {
        check_line(target, WaveSize::wave32, text);
        check_line(target, WaveSize::wave64, text);
        return 0;
    }
    const auto assembled = assemble(text, "fuzz", target);
    if (!assembled && !assembled.error().message.starts_with("fuzz")) std::abort();  // every refusal says where
    return 0;
}
