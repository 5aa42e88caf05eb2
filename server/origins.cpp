#include "server/origins.h"

#include <algorithm>

namespace riftjit::server {

namespace {

// "localhost:8080", "192.168.1.5", "[::1]:80": no name that somebody else's server of names could lead here.
bool is_address(std::string_view host) {
    if (host.starts_with('[')) return true;
    host = host.substr(0, host.find(':'));
    return host == "localhost" || host.find_first_not_of("0123456789.") == host.npos;
}

}  // namespace

bool is_local_origin(std::string_view origin) {
    for (const std::string_view host : {"http://localhost", "https://localhost", "http://127.0.0.1",
                                        "https://127.0.0.1", "http://[::1]", "https://[::1]"}) {
        if (!origin.starts_with(host)) continue;
        const std::string_view rest = origin.substr(host.size());
        if (rest.empty() || (rest[0] == ':' && rest.find_first_not_of("0123456789", 1) == rest.npos)) return true;
    }
    return false;
}

bool is_listed_origin(std::string_view list, std::string_view origin) {
    if (list == "*") return true;
    while (true) {
        const size_t comma = std::min(list.find(','), list.size());
        const std::string_view item = list.substr(0, comma);
        if (item == origin || (item == "localhost" && is_local_origin(origin))) return true;
        if (comma == list.size()) return false;
        list.remove_prefix(comma + 1);
    }
}

bool is_trusted_caller(std::string_view list, const HttpRequest& request) {
    const std::string* host = request.header("host");
    if (const std::string* origin = request.header("origin")) {
        const bool is_own_page =
            host != nullptr && is_address(*host) && (*origin == "http://" + *host || *origin == "https://" + *host);
        return is_own_page || is_listed_origin(list, *origin);
    }
    const std::string* site = request.header("sec-fetch-site");
    if (site != nullptr && *site != "same-origin" && *site != "none") return false;
    return host == nullptr || is_address(*host) || is_listed_origin(list, "http://" + *host) ||
           is_listed_origin(list, "https://" + *host);
}

}  // namespace riftjit::server
