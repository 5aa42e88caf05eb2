#include "server/kept_streams.h"

#include <algorithm>
#include <charconv>

#include "host/json_text.h"
#include "server/service.h"

namespace riftjit::server {

namespace {

constexpr size_t kMostIdBytes = 512;
constexpr std::chrono::milliseconds kLookForReader{200};

class KeptWriter : public HttpWriter {
public:
    explicit KeptWriter(KeptStream& stream) : stream_(stream) {}
    bool write(std::string_view bytes) override {
        stream_.append(bytes);
        return is_open();
    }
    bool is_open() const override { return !stream_.is_cancelled(); }

private:
    KeptStream& stream_;
};

std::function<void(HttpWriter&)> reader_of(KeptStreams::Pointer stream, uint64_t offset) {
    return [stream = std::move(stream), offset](HttpWriter& writer) mutable {
        std::string bytes;
        while (writer.is_open()) {
            const auto read = stream->read(offset, bytes, kLookForReader);
            if (read == KeptStream::Read::none) continue;
            if (read != KeptStream::Read::some || !writer.write(bytes)) return;
            offset += bytes.size();
        }
    };
}

std::string query_value(const HttpRequest& request, const char* name) {
    const auto it = request.query.find(name);
    return it == request.query.end() ? std::string() : it->second;
}

}  // namespace

KeptStream::KeptStream(std::string id) : id_(std::move(id)), started_(seconds_now()) {}

void KeptStream::begin() {
    const std::lock_guard lock(mutex_);
    has_begun_ = true;
}

void KeptStream::append(std::string_view bytes) {
    {
        const std::lock_guard lock(mutex_);
        if (finished_at_) return;
        bytes_ += bytes;
        if (bytes_.size() > kMostBytes) {
            // Half at a time, so that not every piece moves all that is kept.
            const size_t dropped = bytes_.size() - kMostBytes / 2;
            bytes_.erase(0, dropped);
            forgotten_ += dropped;
        }
    }
    changed_.notify_all();
}

void KeptStream::finish() {
    {
        const std::lock_guard lock(mutex_);
        if (finished_at_) return;
        finished_at_ = Clock::now();
        completed_ = seconds_now();
    }
    changed_.notify_all();
}

void KeptStream::cancel() {
    {
        const std::lock_guard lock(mutex_);
        is_cancelled_ = true;
    }
    finish();
}

bool KeptStream::has_begun() const {
    const std::lock_guard lock(mutex_);
    return has_begun_;
}

bool KeptStream::is_cancelled() const {
    const std::lock_guard lock(mutex_);
    return is_cancelled_;
}

std::optional<KeptStream::Clock::time_point> KeptStream::finished_at() const {
    const std::lock_guard lock(mutex_);
    return finished_at_;
}

KeptStream::Read KeptStream::read(uint64_t offset, std::string& bytes, std::chrono::milliseconds most) {
    std::unique_lock lock(mutex_);
    const auto has_more = [&] { return offset < forgotten_ + bytes_.size(); };
    changed_.wait_for(lock, most, [&] { return has_more() || finished_at_; });
    if (offset < forgotten_) return Read::forgotten;
    if (!has_more()) return finished_at_ ? Read::end : Read::none;
    bytes = bytes_.substr(offset - forgotten_);
    return Read::some;
}

Json KeptStream::json() const {
    const std::lock_guard lock(mutex_);
    return {{"conversation_id", id_},
            {"is_done", finished_at_.has_value()},
            {"total_bytes", forgotten_ + bytes_.size()},
            {"started_at", started_},
            {"completed_at", completed_}};
}

Outcome<KeptStreams::Pointer> KeptStreams::begin(const HttpRequest& request) {
    const std::string* id = request.header("x-conversation-id");
    if (request.method != "POST" || id == nullptr || id->empty()) return nullptr;
    const Json body = parse_json<Json>(request.body);
    if (!body.is_object() || body.value("stream", Json()) != true) return nullptr;
    if (id->size() > kMostIdBytes)
        return refuse(400, "X-Conversation-Id: {} bytes; up to {} are kept", id->size(), kMostIdBytes);
    const std::lock_guard lock(mutex_);
    forget_old();
    Pointer& place = streams_[*id];
    if (place != nullptr) place->cancel();
    place = std::make_shared<KeptStream>(*id);
    const Pointer begun = place;
    if (streams_.size() <= kMost) return begun;
    streams_.erase(*id);
    return refuse(503, "{} kept streams are still written; end one (DELETE /v1/stream)", kMost);
}

// Those whose time is over, and where there are too many the oldest of those that are done. Under the lock.
void KeptStreams::forget_old() {
    const auto now = KeptStream::Clock::now();
    std::erase_if(streams_, [&](const auto& entry) {
        const auto finished = entry.second->finished_at();
        return finished && now - *finished > kKept;
    });
    while (streams_.size() >= kMost) {
        auto oldest = streams_.end();
        for (auto it = streams_.begin(); it != streams_.end(); ++it)
            if (it->second->finished_at() &&
                (oldest == streams_.end() || *it->second->finished_at() < *oldest->second->finished_at()))
                oldest = it;
        if (oldest == streams_.end()) break;
        streams_.erase(oldest);
    }
    std::erase_if(writing_, [](Writing& writing) {
        if (*writing.is_over) writing.thread.join();
        return !writing.thread.joinable();
    });
}

HttpReply KeptStreams::keep(const Pointer& stream, HttpReply reply) {
    stream->begin();
    auto write = std::exchange(reply.stream, reader_of(stream, 0));
    const auto is_over = std::make_shared<std::atomic<bool>>(false);
    const std::lock_guard lock(mutex_);
    writing_.push_back({stream, is_over, std::thread([stream, is_over, write = std::move(write)]() mutable {
                            KeptWriter writer(*stream);
                            try {
                                write(writer);
                            } catch (const std::exception&) {
                                // As where a client reads: the stream ends there.
                            }
                            write = nullptr;  // and with it what it holds: the model, the answers
                            stream->finish();
                            *is_over = true;
                        })});
    return reply;
}

void KeptStreams::forget(const Pointer& stream) {
    stream->cancel();
    const std::lock_guard lock(mutex_);
    if (const auto it = streams_.find(stream->id()); it != streams_.end() && it->second == stream) streams_.erase(it);
}

KeptStreams::Pointer KeptStreams::find(const std::string& id) const {
    const std::lock_guard lock(mutex_);
    const auto it = streams_.find(id);
    return it == streams_.end() ? nullptr : it->second;
}

std::optional<HttpReply> KeptStreams::own_reply(const HttpRequest& request, const std::string& path) {
    if (path == "/v1/streams/lookup" && request.method == "POST") return lookup(request);
    if (path != "/v1/stream" || (request.method != "GET" && request.method != "DELETE")) return std::nullopt;
    if (query_value(request, "conv_id").empty()) return error_reply({400, "\"conv_id\": is missing"});
    if (request.method == "GET") return read(request);
    if (const Pointer stream = find(query_value(request, "conv_id"))) forget(stream);
    return HttpReply{.status = 204};
}

HttpReply KeptStreams::read(const HttpRequest& request) const {
    const Pointer stream = find(query_value(request, "conv_id"));
    if (stream == nullptr) return error_reply({404, "Stream not found or expired"});
    if (!stream->has_begun()) return error_reply({503, "Loading model"});
    const std::string from = query_value(request, "from");
    uint64_t offset = 0;
    const auto [end, error] = std::from_chars(from.data(), from.data() + from.size(), offset);
    if (!from.empty() && (error != std::errc() || end != from.data() + from.size()))
        return error_reply({400, "\"from\": expected the number of a byte"});
    std::string ignored;
    if (stream->read(offset, ignored, std::chrono::milliseconds(0)) == KeptStream::Read::forgotten)
        return error_reply({400, fmt::format("\"from\": byte {} is not kept any more", offset)});
    return {.type = "text/event-stream",
            .headers = {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}},
            .stream = reader_of(stream, offset)};
}

HttpReply KeptStreams::lookup(const HttpRequest& request) const {
    const auto body = parse_body(request.body);
    if (!body) return error_reply(body.error());
    Fields fields(*body);
    const auto ids = fields.texts("conversation_ids").value_or(std::vector<std::string>());
    if (const auto checked = fields.check(); !checked) return error_reply(checked.error());
    Json found = Json::array();
    const std::lock_guard lock(mutex_);
    // Clients put the model behind a conversation: "ID::MODEL".
    for (const auto& [id, stream] : streams_)
        if (std::ranges::any_of(ids, [&](const std::string& asked) {
                return !asked.empty() && (id == asked || id.starts_with(asked + "::"));
            }))
            found.push_back(stream->json());
    return json_reply(found);
}

void KeptStreams::stop() {
    std::list<Writing> writing;
    {
        const std::lock_guard lock(mutex_);
        for (const auto& [id, stream] : streams_) stream->cancel();
        streams_.clear();
        writing.swap(writing_);
    }
    for (Writing& each : writing) {
        each.stream->cancel();
        each.thread.join();
    }
}

}  // namespace riftjit::server
