// HTTP as the APIs see it: a request with its whole body, and a reply that is a body or a stream.
//
// Implemented by libriftjit-http.so, which alone is linked with cpp-httplib, and with it OpenSSL: to load them would
// cost every start of the program 20 ms.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/result.h"

namespace riftjit::server {

class HttpRequest {
public:
    virtual ~HttpRequest() = default;
    virtual bool is_abandoned() const = 0;  // nobody waits for the reply any more

    // Null where there is none.
    const std::string* header(const std::string& lower_case_name) const {
        const auto it = headers.find(lower_case_name);
        return it == headers.end() ? nullptr : &it->second;
    }

    std::string method, path, body;
    std::map<std::string, std::string> query, headers;  // names of headers in lower case; the last of several
};

class HttpWriter {
public:
    virtual ~HttpWriter() = default;
    virtual bool write(std::string_view bytes) = 0;  // false: the client left
    virtual bool is_open() const = 0;
};

struct HttpReply {
    int status = 200;
    std::string body;
    std::string type = "application/json; charset=utf-8";
    std::vector<std::pair<std::string, std::string>> headers;
    std::function<void(HttpWriter&)> stream;  // in place of the body; called once
};

struct HttpOptions {
    std::vector<std::string> hosts{"127.0.0.1"};  // addresses, all at one port; what ends with .sock is a socket's file
    uint16_t port = 8080;                         // 0: any that is free
    uint32_t threads = 512;                       // connections at a time, of each address
    uint64_t body_limit = 0;                      // bytes
    std::chrono::seconds timeout{3600};           // of a client that sends or takes nothing
    // Before a body is read: true if the request is answered, with an error, by what `reply` then is.
    std::function<bool(const HttpRequest&, HttpReply& reply)> refuses;
    std::function<HttpReply(const HttpRequest&)> handle;  // from many threads; may throw
    std::function<HttpReply(int status)> refusal;         // of what is no proper request, or a fault of our own
};

class HttpServer {
public:
    virtual ~HttpServer() = default;  // as stop()
    virtual uint16_t port() const = 0;
    virtual void stop() = 0;  // takes no more requests, and waits for replies on their way
};

// A request of ours to another server.
struct OutgoingRequest {
    std::string method;
    std::string server;  // "http://HOST:PORT" or "https://..."
    std::string target;  // path and query
    std::vector<std::pair<std::string, std::string>> headers;
    std::string body;
    std::chrono::seconds timeout{600};  // between two pieces of the reply
};

class HttpModule {
public:
    virtual ~HttpModule() = default;
    virtual Result<std::unique_ptr<HttpServer>> listen(HttpOptions options) const = 0;
    virtual Result<HttpReply> fetch(OutgoingRequest request, std::function<bool()> is_wanted) const = 0;
};

Result<std::unique_ptr<HttpServer>> listen(HttpOptions options);

// The other server's reply as soon as its head is there; a body becomes a stream, which hands on what comes as it
// comes. Follows no redirection. Fails where there is no reply, or nobody wants one any more, which is asked all along.
Result<HttpReply> fetch(OutgoingRequest request, std::function<bool()> is_wanted);

}  // namespace riftjit::server
