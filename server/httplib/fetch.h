// cpp-httplib's client behind fetch() of server/http.h.
#pragma once

#include "server/http.h"

namespace riftjit::server {

Result<HttpReply> fetch_reply(OutgoingRequest request, std::function<bool()> is_wanted);

}  // namespace riftjit::server
