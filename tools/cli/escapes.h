// Escapes in texts of the command line, as llama.cpp reads them.
#pragma once

#include <string>
#include <string_view>

namespace riftjit::tools {

std::string process_escapes(std::string_view text);  // \n \t \r \" \' \\ \xHH; any other stays as it is

}  // namespace riftjit::tools
