// Text from files made fit for one line of a terminal.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace riftjit::models {

std::string escaped(std::string_view text);  // unprintable bytes as \xNN, never cut
std::string printable_path(const std::filesystem::path& path);

}  // namespace riftjit::models
