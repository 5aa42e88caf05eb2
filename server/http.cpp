#include "server/http.h"

#include "host/module.h"

namespace riftjit::server {

Result<std::unique_ptr<HttpServer>> listen(HttpOptions options) {
    RIFTJIT_TRY(module, load_module("http"));
    return static_cast<const HttpModule*>(module)->listen(std::move(options));
}

Result<HttpReply> fetch(OutgoingRequest request, std::function<bool()> is_wanted) {
    RIFTJIT_TRY(module, load_module("http"));
    return static_cast<const HttpModule*>(module)->fetch(std::move(request), std::move(is_wanted));
}

}  // namespace riftjit::server
