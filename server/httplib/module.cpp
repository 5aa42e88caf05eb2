// cpp-httplib's server behind server/http.h, with connections of our own: it shall be known when a client leaves, and a
// body that nobody reads shall not be taken for the next request.
#include <httplib.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>

#include "server/http.h"
#include "server/httplib/fetch.h"

namespace riftjit::server {
namespace {

constexpr std::chrono::seconds kIdleConnection{75};
// From a request's first byte to its last, if the timeout allows as much.
constexpr std::chrono::seconds kWholeRequest{300};

int wait_for(int socket, short events, std::chrono::milliseconds most) {
    pollfd waiting{socket, events, 0};
    int count = 0;
    do count = poll(&waiting, 1, int(std::min<int64_t>(most.count(), INT_MAX)));
    while (count < 0 && errno == EINTR);
    return count <= 0 ? count : waiting.revents;
}

bool has_left(int socket) { return (wait_for(socket, POLLRDHUP, std::chrono::milliseconds(0)) & ~POLLIN) != 0; }

class Connection : public httplib::Stream {
public:
    Connection(int socket, std::chrono::seconds timeout, const std::atomic<bool>& is_stopping)
        : socket_(socket), timeout_(timeout), is_stopping_(is_stopping) {}

    void begin_request() { deadline_ = std::chrono::steady_clock::now() + std::min(kWholeRequest, timeout_); }
    bool has_bytes() const { return begin_ != end_; }

    bool is_readable() const override { return has_bytes() || wait_for(socket_, POLLIN, timeout_) > 0; }
    bool is_writable() const override { return !has_left(socket_) && becomes_writable(); }
    ssize_t read(char* target, size_t size) override {
        if (!has_bytes()) {
            const auto left =
                std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - std::chrono::steady_clock::now());
            if (left.count() <= 0 || wait_for(socket_, POLLIN, left) <= 0) return -1;
            const ssize_t count = recv(socket_, buffer_, sizeof buffer_, 0);
            if (count <= 0) return count;
            begin_ = 0, end_ = size_t(count);
        }
        const size_t count = std::min(size, end_ - begin_);
        std::memcpy(target, buffer_ + begin_, count);
        begin_ += count;
        return ssize_t(count);
    }
    ssize_t write(const char* bytes, size_t size) override {
        for (size_t done = 0; done < size;) {
            const ssize_t count = send(socket_, bytes + done, size - done, MSG_NOSIGNAL | MSG_DONTWAIT);
            if (count > 0) done += size_t(count);
            if (count >= 0 || errno == EINTR) continue;
            if (errno != EAGAIN || !becomes_writable()) return -1;
        }
        return ssize_t(size);
    }
    void get_remote_ip_and_port(std::string&, int&) const override {}
    void get_local_ip_and_port(std::string&, int&) const override {}
    socket_t socket() const override { return socket_; }

private:
    // A client that takes nothing keeps no server from stopping.
    bool becomes_writable() const {
        constexpr std::chrono::milliseconds kLook{200};
        const auto until = std::chrono::steady_clock::now() + timeout_;
        while (true) {
            const int found = wait_for(socket_, POLLOUT, kLook);
            if (found != 0) return found > 0 && (found & POLLOUT) != 0;
            if (is_stopping_ || std::chrono::steady_clock::now() >= until) return false;
        }
    }

    int socket_;
    std::chrono::seconds timeout_;
    const std::atomic<bool>& is_stopping_;
    std::chrono::steady_clock::time_point deadline_;
    char buffer_[16384];
    size_t begin_ = 0, end_ = 0;
};

// What this thread serves.
thread_local int served_socket = -1;
thread_local bool closes_connection = false;

// A thread for each connection, as long as there are no more than so many.
class Threads : public httplib::TaskQueue {
public:
    explicit Threads(uint32_t most) : most_(most) {}

    void enqueue(std::function<void()> work) override {
        const std::lock_guard lock(mutex_);
        waiting_.push_back(std::move(work));
        if (idle_ < waiting_.size() && threads_.size() < most_) threads_.emplace_back([this] { run(); });
        changed_.notify_one();
    }
    void shutdown() override {
        {
            const std::lock_guard lock(mutex_);
            is_over_ = true;
        }
        changed_.notify_all();
        for (std::thread& thread : threads_) thread.join();
    }

private:
    void run() {
        std::unique_lock lock(mutex_);
        while (true) {
            ++idle_;
            changed_.wait(lock, [this] { return !waiting_.empty() || is_over_; });
            --idle_;
            if (waiting_.empty()) return;
            const auto work = std::move(waiting_.front());
            waiting_.pop_front();
            lock.unlock();
            work();
            lock.lock();
        }
    }

    const uint32_t most_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> waiting_;
    std::vector<std::thread> threads_;
    size_t idle_ = 0;
    bool is_over_ = false;
};

class Request : public HttpRequest {
public:
    explicit Request(const httplib::Request& given) : socket_(served_socket) {
        method = given.method;
        path = given.path;
        for (const auto& [name, value] : given.params) query[name] = value;
        for (const auto& [name, value] : given.headers) {
            std::string lower = name;
            for (char& c : lower)
                if (c >= 'A' && c <= 'Z') c = char(c - 'A' + 'a');
            headers[lower] = value;
        }
    }
    bool is_abandoned() const override { return has_left(socket_); }

private:
    int socket_;
};

class Writer : public HttpWriter {
public:
    explicit Writer(httplib::DataSink& sink) : sink_(sink) {}
    bool write(std::string_view bytes) override {
        is_open_ = is_open_ && sink_.is_writable() && sink_.write(bytes.data(), bytes.size());
        return is_open_;
    }
    bool is_open() const override { return is_open_ && !has_left(served_socket); }

private:
    httplib::DataSink& sink_;
    bool is_open_ = true;
};

void put(HttpReply reply, httplib::Response& response) {
    response.status = reply.status;
    for (const auto& [name, value] : reply.headers) response.set_header(name, value);
    if (!reply.stream) {
        if (!reply.body.empty()) response.set_content(reply.body, reply.type);
        return;
    }
    response.set_chunked_content_provider(reply.type,
                                          [stream = std::move(reply.stream)](size_t, httplib::DataSink& sink) {
                                              Writer writer(sink);
                                              stream(writer);
                                              if (!writer.is_open()) closes_connection = true;
                                              sink.done();
                                              return true;
                                          });
}

class Listener : public httplib::Server {
public:
    explicit Listener(HttpOptions options) : options_(std::move(options)) {
        new_task_queue = [this] { return new Threads(options_.threads); };
        set_payload_max_length(options_.body_limit);
        set_tcp_nodelay(true);
        set_socket_options([this](socket_t socket) {
            const int yes = 1;
            setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
            listening_ = socket;
        });
        set_pre_routing_handler(
            [this](const httplib::Request& request, httplib::Response& response) { return begin(request, response); });
        const auto with_body = [this](const httplib::Request& request, httplib::Response& response,
                                      const httplib::ContentReader& reader) { read(request, response, reader); };
        Post(".*", with_body);
        Put(".*", with_body);
        Patch(".*", with_body);
        Delete(".*", with_body);
        set_exception_handler([this](const httplib::Request&, httplib::Response& response, std::exception_ptr) {
            put(options_.refusal(500), response);
        });
        set_error_handler(HandlerWithResponse([this](const httplib::Request&, httplib::Response& response) {
            if (!response.body.empty() || response.content_provider_) return HandlerResponse::Unhandled;
            closes_connection = true;
            put(options_.refusal(response.status), response);
            return HandlerResponse::Handled;
        }));
    }

    // The library knows no sockets of files.
    bool bind_to_file(const std::string& path) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path.copy(address.sun_path, sizeof address.sun_path - 1);
        listening_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (listening_ < 0 || bind(listening_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
            return false;
        svr_sock_ = listening_;
        return true;
    }

    // The library's own backlog is 5.
    void lengthen_backlog() const { ::listen(listening_, SOMAXCONN); }
    void leave() {
        is_stopping_ = true;
        stop();
    }

private:
    // Whatever has no body is answered here. What has one that is not read ends its connection.
    HandlerResponse begin(const httplib::Request& given, httplib::Response& response) {
        const std::string length = given.get_header_value("Content-Length");
        const bool is_chunked = given.has_header("Transfer-Encoding");
        const bool has_body = is_chunked || (!length.empty() && length != "0");
        const Request request(given);
        const auto refuse = [&](HttpReply reply) {
            closes_connection |= has_body;
            put(std::move(reply), response);
            return HandlerResponse::Handled;
        };
        const std::string encoding = given.get_header_value("Content-Encoding");
        const bool is_number = length.find_first_not_of("0123456789") == length.npos && length.size() < 19;
        if (!is_number || (is_chunked && !length.empty())) return refuse(options_.refusal(400));
        if (has_body && ((!encoding.empty() && encoding != "identity") || given.is_multipart_form_data()))
            return refuse(options_.refusal(415));
        HttpReply reply;
        if (options_.refuses && options_.refuses(request, reply)) return refuse(std::move(reply));
        if (!length.empty() && std::stoull(length) > options_.body_limit) return refuse(options_.refusal(413));
        const bool may_have_body =
            given.method == "POST" || given.method == "PUT" || given.method == "PATCH" || given.method == "DELETE";
        if (has_body && may_have_body) return HandlerResponse::Unhandled;
        closes_connection |= has_body;
        put(options_.handle(request), response);
        return HandlerResponse::Handled;
    }

    void read(const httplib::Request& given, httplib::Response& response, const httplib::ContentReader& reader) {
        Request request(given);
        bool is_too_long = false;
        const bool is_read = reader([&](const char* bytes, size_t size) {
            is_too_long = request.body.size() + size > options_.body_limit;
            if (!is_too_long) request.body.append(bytes, size);
            return !is_too_long;
        });
        if (!is_read) {
            closes_connection = true;
            return put(options_.refusal(is_too_long ? 413 : 400), response);
        }
        put(options_.handle(request), response);
    }

    bool process_and_close_socket(socket_t socket) override {
        served_socket = socket;
        closes_connection = false;
        const int yes = 1;
        setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        Connection connection(socket, options_.timeout, is_stopping_);
        while (!closes_connection && is_request_coming(connection)) {
            connection.begin_request();
            bool is_closed = false;
            if (!process_request(connection, is_stopping_, is_closed, nullptr) || is_closed) break;
        }
        shutdown(socket, SHUT_RDWR);
        close(socket);
        return true;
    }

    bool is_request_coming(const Connection& connection) const {
        if (connection.has_bytes()) return true;
        const auto until = std::chrono::steady_clock::now() + std::min(kIdleConnection, options_.timeout);
        while (!is_stopping_ && std::chrono::steady_clock::now() < until)
            if (const int found = wait_for(connection.socket(), POLLIN, std::chrono::milliseconds(100)); found != 0)
                return found > 0 && (found & POLLIN) != 0;
        return false;
    }

    HttpOptions options_;
    int listening_ = -1;
    std::atomic<bool> is_stopping_ = false;
};

// An address, or a file of this machine's that stands for one.
bool is_socket_file(const std::string& host) { return host.ends_with(".sock"); }

// A listener's thread.
class Listening {
public:
    static Result<std::unique_ptr<Listening>> start(const HttpOptions& options, const std::string& host,
                                                    uint16_t wanted) {
        auto listener = std::make_unique<Listener>(options);
        int port = wanted;
        errno = 0;
        if (is_socket_file(host)) {
            if (host.size() >= sizeof(sockaddr_un::sun_path))
                return fail(ErrorKind::Io, "{}: a socket's path has less than {} bytes", host,
                            sizeof(sockaddr_un::sun_path));
            RIFTJIT_TRY_VOID(remove_dead_socket(host));
            port = listener->bind_to_file(host) ? 0 : -1;
        } else if (port == 0) {
            port = listener->bind_to_any_port(host);
        } else if (!listener->bind_to_port(host, port)) {
            port = -1;
        }
        if (port < 0)
            return fail(ErrorKind::Io, "{}{} cannot be listened to: {}", host,
                        is_socket_file(host) ? "" : fmt::format(":{}", wanted),
                        errno != 0 ? std::strerror(errno) : "the address is unknown or in use");
        listener->lengthen_backlog();
        return std::unique_ptr<Listening>(
            new Listening(std::move(listener), is_socket_file(host) ? host : "", uint16_t(port)));
    }
    ~Listening() { stop(); }
    uint16_t port() const { return port_; }
    void stop() {
        if (!thread_.joinable()) return;
        while (!listener_->is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        listener_->leave();
        thread_.join();
        if (!file_.empty()) unlink(file_.c_str());
    }

private:
    Listening(std::unique_ptr<Listener> listener, std::string file, uint16_t port)
        : listener_(std::move(listener)), file_(std::move(file)), port_(port) {
        thread_ = std::thread([this] { listener_->listen_after_bind(); });
    }

    // One that a server left behind; what somebody still listens at stays, and so does any other file.
    static Result<void> remove_dead_socket(const std::string& path) {
        struct stat status{};
        if (lstat(path.c_str(), &status) != 0) return {};
        if (!S_ISSOCK(status.st_mode)) return fail(ErrorKind::Io, "{}: exists and is no socket", path);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path.copy(address.sun_path, sizeof address.sun_path - 1);
        const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const bool is_alive =
            socket >= 0 && connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
        if (socket >= 0) close(socket);
        if (is_alive) return fail(ErrorKind::Io, "{}: somebody listens there", path);
        if (unlink(path.c_str()) != 0) return fail(ErrorKind::Io, "{}: {}", path, std::strerror(errno));
        return {};
    }

    std::unique_ptr<Listener> listener_;
    std::string file_;
    uint16_t port_;
    std::thread thread_;
};

class Running : public HttpServer {
public:
    static Result<std::unique_ptr<HttpServer>> start(const HttpOptions& options) {
        auto running = std::make_unique<Running>();
        uint16_t port = options.port;
        for (const std::string& host : options.hosts) {
            RIFTJIT_TRY(listening, Listening::start(options, host, port));
            if (listening->port() != 0) port = listening->port();
            running->listening_.push_back(std::move(listening));
        }
        running->port_ = port;
        return std::unique_ptr<HttpServer>(std::move(running));
    }
    ~Running() override { Running::stop(); }
    uint16_t port() const override { return port_; }
    void stop() override { listening_.clear(); }

private:
    std::vector<std::unique_ptr<Listening>> listening_;
    uint16_t port_ = 0;
};

class Httplib : public HttpModule {
public:
    Result<std::unique_ptr<HttpServer>> listen(HttpOptions options) const override { return Running::start(options); }
    Result<HttpReply> fetch(OutgoingRequest request, std::function<bool()> is_wanted) const override {
        return fetch_reply(std::move(request), std::move(is_wanted));
    }
};

}  // namespace
}  // namespace riftjit::server

extern "C" [[gnu::visibility("default")]] const void* riftjit_module(const char* interface,
                                                                     riftjit::InternalErrorHandler handler) {
    static const riftjit::server::Httplib module;
    if (std::string_view(interface) != RIFTJIT_MODULE_INTERFACE) return nullptr;
    riftjit::set_internal_error_handler(handler);
    return static_cast<const riftjit::server::HttpModule*>(&module);
}
