#include "server/httplib/fetch.h"

#include <httplib.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace riftjit::server {
namespace {

constexpr std::chrono::milliseconds kLookAtFetch{100};
constexpr std::chrono::seconds kConnecting{20};
constexpr size_t kMostWaiting = 4 << 20;  // bytes of a body that nobody took yet

// The library's client blocks, in looking up a name and in connecting without a way to end it: a thread of its own runs
// it, which nobody waits for, and this holds what came.
class Fetch : public std::enable_shared_from_this<Fetch> {
public:
    explicit Fetch(OutgoingRequest request) : client_(request.server), outgoing_(std::move(request)) {
        client_.set_connection_timeout(kConnecting);
        client_.set_read_timeout(outgoing_.timeout);
        client_.set_write_timeout(outgoing_.timeout);
        client_.set_decompress(false);
    }
    void begin() {
        std::thread([self = shared_from_this()] { self->run(); }).detach();
    }
    // stop() waits as long as the client connects, which nobody here shall.
    void leave() {
        if (is_left_.exchange(true) || is_over_) return;
        std::thread([self = shared_from_this()] { self->client_.stop(); }).detach();
    }

    Result<HttpReply> wait_for_head(const std::function<bool()>& is_wanted) {
        std::unique_lock lock(mutex_);
        while (!has_head_ && !is_over_) {
            if (!is_wanted()) return fail(ErrorKind::Interrupted, "nobody waits for the reply any more");
            changed_.wait_for(lock, kLookAtFetch);
        }
        if (!has_head_) return fail(ErrorKind::Io, "{}: {}", outgoing_.server, httplib::to_string(error_));
        return head_;
    }
    // Whether there will be a body.
    bool has_body(const std::function<bool()>& is_wanted) {
        std::unique_lock lock(mutex_);
        if (!is_empty_) return true;
        while (!is_over_ && is_wanted()) changed_.wait_for(lock, kLookAtFetch);
        return false;
    }
    void hand_on(HttpWriter& writer, const std::function<bool()>& is_wanted) {
        std::unique_lock lock(mutex_);
        while (true) {
            if (pieces_.empty() && is_over_) return;
            if (pieces_.empty()) {
                if (!is_wanted() || !writer.is_open()) return leave();
                changed_.wait_for(lock, kLookAtFetch);
                continue;
            }
            const std::string piece = std::move(pieces_.front());
            pieces_.pop_front();
            waiting_ -= piece.size();
            changed_.notify_all();
            lock.unlock();
            if (!is_wanted() || !writer.write(piece)) return leave();
            lock.lock();
        }
    }

private:
    void run() {
        httplib::Request request;
        request.method = outgoing_.method;
        request.path = outgoing_.target;
        request.body = std::move(outgoing_.body);
        for (const auto& [name, value] : outgoing_.headers) request.headers.emplace(name, value);
        request.response_handler = [this](const httplib::Response& response) { return take_head(response); };
        request.content_receiver = [this](const char* bytes, size_t size, uint64_t, uint64_t) {
            return take_piece({bytes, size});
        };
        httplib::Response response;
        httplib::Error error = httplib::Error::Success;
        const bool is_whole = client_.send(request, response, error);
        const std::lock_guard lock(mutex_);
        if (is_whole && !has_head_) set_head(response);  // where no body follows
        error_ = error;
        is_over_ = true;
        changed_.notify_all();
    }

    bool take_head(const httplib::Response& response) {
        const std::lock_guard lock(mutex_);
        set_head(response);
        changed_.notify_all();
        return !is_left_;
    }

    void set_head(const httplib::Response& response) {
        head_.status = response.status;
        head_.type = response.get_header_value("Content-Type");
        if (head_.type.empty()) head_.type = "application/octet-stream";
        for (const auto& [name, value] : response.headers) head_.headers.emplace_back(name, value);
        is_empty_ = response.status == 204 || response.status == 304 || outgoing_.method == "HEAD" ||
                    response.get_header_value("Content-Length") == "0";
        has_head_ = true;
    }

    bool take_piece(std::string_view bytes) {
        std::unique_lock lock(mutex_);
        while (waiting_ > kMostWaiting && !is_left_) changed_.wait_for(lock, kLookAtFetch);
        if (is_left_) return false;
        waiting_ += bytes.size();
        pieces_.emplace_back(bytes);
        changed_.notify_all();
        return true;
    }

    httplib::Client client_;
    OutgoingRequest outgoing_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::string> pieces_;
    size_t waiting_ = 0;
    HttpReply head_;
    bool has_head_ = false, is_empty_ = false;
    std::atomic<bool> is_over_ = false;
    httplib::Error error_ = httplib::Error::Success;
    std::atomic<bool> is_left_ = false;
};

}  // namespace

Result<HttpReply> fetch_reply(OutgoingRequest request, std::function<bool()> is_wanted) {
    const auto fetch = std::make_shared<Fetch>(std::move(request));
    fetch->begin();
    // The last of those who want the reply leaves it.
    const std::shared_ptr<Fetch> wanted(fetch.get(), [fetch](Fetch*) { fetch->leave(); });
    auto reply = wanted->wait_for_head(is_wanted);
    if (!reply || !wanted->has_body(is_wanted)) return reply;
    reply->stream = [wanted, is_wanted = std::move(is_wanted)](HttpWriter& writer) {
        wanted->hand_on(writer, is_wanted);
    };
    return reply;
}

}  // namespace riftjit::server
