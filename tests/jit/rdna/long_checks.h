// How much the tests over random input try. The environment asks for more than what each build can afford:
//   RIFTJIT_RDNA_WORDS=500000       random words per chip and wave size
//   RIFTJIT_RANDOM_ENCODINGS=200000 random instructions per generation
//   RIFTJIT_RDNA_MUTATIONS=10000    damaged files, texts and streams per target; best under sanitizers
//   RIFTJIT_RDNA_SEED=1             other random numbers than those of every day
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace riftjit::rdna::test {

inline size_t asked_count(const char* variable, size_t otherwise) {
    const char* asked = std::getenv(variable);
    return asked == nullptr ? otherwise : std::strtoul(asked, nullptr, 10);
}
inline uint32_t asked_seed(uint32_t everyday) {
    return everyday + 1000003 * static_cast<uint32_t>(asked_count("RIFTJIT_RDNA_SEED", 0));
}

}  // namespace riftjit::rdna::test
