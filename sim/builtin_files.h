// The files of share/sim, built into the program: "models/iaf_psc_exp.toml", "networks/brunel.toml".
#pragma once

#include <string_view>
#include <vector>

namespace riftjit::sim {

struct BuiltinFile {
    std::string_view path, text;
};
const std::vector<BuiltinFile>& builtin_files();  // by path

}  // namespace riftjit::sim
