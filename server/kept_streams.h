// Streams that outlive their clients: what a streamed request with the header X-Conversation-Id is answered is kept, so
// that a page that was loaded anew, or lost its connection, goes on reading where it was. The paths are llama-server's:
// GET /v1/stream?conv_id=ID&from=N reads it from a byte on, while it is written too; DELETE /v1/stream?conv_id=ID ends
// and forgets it; POST /v1/streams/lookup tells of {"conversation_ids": [...]}, but of no id that is not asked for.
#pragma once

#include <atomic>
#include <condition_variable>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "server/errors.h"
#include "server/http.h"

namespace riftjit::server {

class KeptStream {
public:
    using Clock = std::chrono::steady_clock;
    static constexpr size_t kMostBytes = 4 << 20;  // of the end of a stream; what stands before them is forgotten

    explicit KeptStream(std::string id);

    void begin();                         // from now on it is written
    void append(std::string_view bytes);  // nothing where it was ended
    void finish();
    void cancel();  // and finish
    bool has_begun() const;
    bool is_cancelled() const;
    std::optional<Clock::time_point> finished_at() const;

    enum class Read : uint8_t { some, none, end, forgotten };
    // Bytes from `offset` on, waited for as long as `most`; none: nothing came.
    Read read(uint64_t offset, std::string& bytes, std::chrono::milliseconds most);

    const std::string& id() const { return id_; }
    Json json() const;  // as lookup tells it

private:
    const std::string id_;
    const int64_t started_;  // seconds, as all clocks have them
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::string bytes_;
    uint64_t forgotten_ = 0;  // bytes before these
    bool has_begun_ = false, is_cancelled_ = false;
    std::optional<Clock::time_point> finished_at_;
    int64_t completed_ = 0;  // seconds
};

class KeptStreams {
public:
    using Pointer = std::shared_ptr<KeptStream>;
    static constexpr size_t kMost = 256;               // streams, of which some are still written
    static constexpr std::chrono::seconds kKept{300};  // after the last byte

    ~KeptStreams() { stop(); }

    // A new one in place of another of its id, which ends; null: the request asks for none. Fails on an id that is too
    // long, and where too many are written.
    Outcome<Pointer> begin(const HttpRequest& request);
    // Has the reply's stream written by a thread of its own; the reply reads it.
    HttpReply keep(const Pointer& stream, HttpReply reply);
    void forget(const Pointer& stream);  // and ends it
    std::optional<HttpReply> own_reply(const HttpRequest& request, const std::string& path);
    void stop();  // ends all

private:
    Pointer find(const std::string& id) const;
    void forget_old();
    HttpReply read(const HttpRequest& request) const;
    HttpReply lookup(const HttpRequest& request) const;

    struct Writing {
        Pointer stream;
        std::shared_ptr<std::atomic<bool>> is_over;
        std::thread thread;
    };
    mutable std::mutex mutex_;
    std::map<std::string, Pointer> streams_;
    std::list<Writing> writing_;
};

}  // namespace riftjit::server
