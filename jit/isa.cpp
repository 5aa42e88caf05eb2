#include "jit/isa.h"

#include <array>

namespace riftjit {

namespace {
constexpr std::array kIsas = {Isa::avx2,        Isa::avx_vnni,    Isa::avx512,   Isa::avx512_vnni,
                              Isa::avx512_bf16, Isa::avx512_fp16, Isa::amx_bf16, Isa::amx_int8};
constexpr std::array<std::string_view, kIsas.size()> kIsaNames = {
    "avx2", "avx_vnni", "avx512", "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_bf16", "amx_int8"};
}  // namespace

std::string_view name(Isa isa) { return kIsaNames[static_cast<size_t>(isa)]; }

std::optional<Isa> isa_from_name(std::string_view name) {
    for (size_t i = 0; i < kIsaNames.size(); ++i)
        if (kIsaNames[i] == name) return kIsas[i];
    return std::nullopt;
}

std::span<const Isa> all_isas() { return kIsas; }

std::string isa_names() {
    std::string names;
    for (std::string_view name : kIsaNames) names.append(names.empty() ? "" : ", ").append(name);
    return names;
}

}  // namespace riftjit
