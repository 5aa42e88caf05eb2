// The page that `GET /` shows: a chat with the model.
#pragma once

#include <string_view>

namespace riftjit::server {

std::string_view chat_page();

}  // namespace riftjit::server
