// Any bytes as RDNA assembly: a line per target, or a whole file; refused with a reason or accepted, never a crash, and
// what is accepted can be encoded and, where its text is read again, prints the same.
//   build-fuzz/tests/fuzz/rdna_text_fuzz build-fuzz/tests/fuzz/rdna_text_corpus
#include <cstdint>
#include <cstdlib>
#include <string>

#include "jit/rdna/assembly/assembly_file.h"
#include "jit/rdna/encode/encoding.h"
#include "jit/rdna/text/text.h"

using namespace riftjit::rdna;

namespace {

void check_line(Target target, WaveSize wave, std::string_view line) {
    const auto parsed = parse(target, wave, line);
    if (!parsed) {
        if (parsed.error().message.empty()) std::abort();
        return;
    }
    if (!parsed->label.empty()) return;
    // LLVM's spelling is not one to one: on gfx10 `v_min3_u16 v0, 4.0, v1, v2` prints its constant as 0x4400, which
    // both read as a literal. What is read again must say the same, though. text_random_test.cpp compares the bytes.
    const std::string text = print(target, wave, parsed->instruction);
    const auto again = parse(target, wave, text);
    if (again && print(target, wave, again->instruction) != text) std::abort();
    if (!encode(target, wave, parsed->instruction)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 1) return 0;
    const Target target = all_targets()[(data[0] & 0x7F) % all_targets().size()].target;
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
