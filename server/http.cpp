#include "server/http.h"

#include "host/module.h"

namespace riftjit::server {

Result<std::unique_ptr<HttpServer>> listen(HttpOptions options) {
    RIFTJIT_TRY(module, load_module("http"));
    return static_cast<const HttpModule*>(module)->listen(std::move(options));
}

}  // namespace riftjit::server
