// What tests of damaged input share.
#pragma once

#include <random>
#include <string>
#include <string_view>

#include "tests/jit/rdna/long_checks.h"

namespace riftjit::rdna::test {

inline size_t mutation_count(size_t otherwise) { return asked_count("RIFTJIT_RDNA_MUTATIONS", otherwise); }

inline size_t below(std::mt19937& random, size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random); }

// One to four edits: a piece cut out, a byte changed, a bit of syntax or a stretch of `donor` put in.
inline std::string mutated_text(std::string text, std::string_view donor, std::mt19937& random) {
    static constexpr std::string_view kPieces[] = {
        "[",  "]",  "(", ")",  "|",       ",",        ":",    "-",    "0x", "99999999999999999999",
        "\"", "::", "v", "s[", "offset:", "op_sel:[", "neg(", "\xff", " ",  "\n",
        ".",  "/*", "#", "'"};
    for (size_t edits = 1 + below(random, 4); edits > 0; --edits) {
        const size_t at = below(random, text.size() + 1), length = std::min(below(random, 4), text.size() - at);
        switch (below(random, 4)) {
            case 0:
                text.erase(at, length);
                break;
            case 1:
                text.insert(at, kPieces[below(random, std::size(kPieces))]);
                break;
            case 2:
                text.replace(at, length, std::string(1, static_cast<char>(below(random, 256))));
                break;
            default:
                text.insert(at, donor.substr(below(random, donor.size()), below(random, 20)));
        }
    }
    return text;
}

}  // namespace riftjit::rdna::test
