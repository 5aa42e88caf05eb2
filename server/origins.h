// Which pages a browser may send requests for, by the origin that it tells.
#pragma once

#include <string>
#include <string_view>

#include "server/http.h"

namespace riftjit::server {

// A page of this machine, at any port.
bool is_local_origin(std::string_view origin);
// In a list divided by commas, in which * is any and localhost is_local_origin().
bool is_listed_origin(std::string_view list, std::string_view origin);

// Whether a request that acts on this machine comes from a page that may have it act, or from no browser. A page of
// another place can send one without asking, as a form does, or have its own name lead to this address; so the origin
// has to be listed where there is one, and the host has to be this machine's name, an address, or listed.
bool is_trusted_caller(std::string_view list, const HttpRequest& request);

}  // namespace riftjit::server
