#include "server/model_pool.h"

#include <algorithm>
#include <charconv>

#include "host/json_text.h"
#include "host/utf8.h"
#include "server/apis.h"

namespace riftjit::server {

namespace {

constexpr std::chrono::milliseconds kLookForClient{200};

// As Ollama's clients say how long a model is to stay: seconds, or "5m", "1h30m", "-1"; nullopt: nothing of that kind.
std::optional<std::chrono::seconds> keep_alive_of(const Json& body) {
    const auto it = body.is_object() ? body.find("keep_alive") : body.end();
    if (!body.is_object() || it == body.end()) return std::nullopt;
    static constexpr double kLongest = 1e9;
    const auto seconds_of = [](double value) {
        return std::chrono::seconds(value < 0 ? -1 : int64_t(std::min(value, kLongest)));
    };
    if (it->is_number()) return seconds_of(it->get<double>());
    if (!it->is_string()) return std::nullopt;
    std::string_view text = it->get_ref<const std::string&>();
    const bool is_endless = text.starts_with('-');
    if (is_endless) text.remove_prefix(1);
    double sum = 0;
    bool has_any = false;
    while (!text.empty()) {
        double value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error != std::errc()) return std::nullopt;
        text.remove_prefix(size_t(end - text.data()));
        constexpr std::pair<std::string_view, double> kUnits[] = {{"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9},
                                                                  {"h", 3600},  {"m", 60},    {"s", 1}};
        double unit = 1;
        for (const auto& [letters, seconds] : kUnits) {
            if (!text.starts_with(letters)) continue;
            unit = seconds;
            text.remove_prefix(letters.size());
            break;
        }
        sum += value * unit;
        has_any = true;
    }
    if (!has_any) return std::nullopt;
    return seconds_of(is_endless ? -1 : sum);
}

std::string without_tag(const std::string& name) {
    constexpr std::string_view kLatest = ":latest";
    return name.ends_with(kLatest) ? name.substr(0, name.size() - kLatest.size()) : name;
}

// What one model says of itself while it is unloaded, without being loaded for that.
constexpr const char* kAsleep[] = {"/props",   "/models",   "/v1/models", "/slots",
                                   "/metrics", "/api/tags", "/api/ps",    "/lora-adapters"};

struct AsleepRequest : HttpRequest {
    explicit AsleepRequest(const char* of_path) { method = "GET", path = of_path; }
    bool is_abandoned() const override { return false; }
};

HttpReply reply_asleep(const Service& service, const char* path) {
    const AsleepRequest request(path);
    HttpReply reply = find_route("GET", path).route->handler(service, request);
    if (std::string_view(path) != "/props") return reply;
    Json props = parse_json<Json>(reply.body);
    props["is_sleeping"] = true;
    return json_reply(props, reply.status);
}

}  // namespace

const char* name(ModelStatus status) {
    switch (status) {
        case ModelStatus::unloaded:
            return "unloaded";
        case ModelStatus::loading:
            return "loading";
        case ModelStatus::loaded:
            return "loaded";
    }
    return "?";
}

ModelPool::ModelPool(PoolOptions options, std::vector<PoolModel> models) : options_(std::move(options)) {
    for (PoolModel& model : models) {
        auto entry = std::make_shared<Entry>();
        entry->model = std::move(model);
        entry->is_asked_for = entry->model.loads_at_start;
        entries_.push_back(entry);
        if (entry->is_asked_for) want(entry);
    }
    thread_ = std::thread([this] { run(); });
}

ModelPool::~ModelPool() {
    ModelPool::stop();
    thread_.join();
}

void ModelPool::stop() {
    {
        const std::lock_guard lock(mutex_);
        is_stopping_ = true;
        for (const EntryPointer& entry : entries_)
            if (entry->served) entry->served->scheduler->stop();
    }
    changed_.notify_all();
}

ModelPool::EntryPointer ModelPool::find(const std::string& name) const {
    const std::string plain = without_tag(name);
    for (const EntryPointer& entry : entries_) {
        const auto is_it = [&](const std::string& own) {
            return own == name || own == plain || without_tag(own) == name;
        };
        if (entry->is_listed && (is_it(entry->model.name) || std::ranges::any_of(entry->model.aliases, is_it)))
            return entry;
    }
    return nullptr;
}

Outcome<ModelPool::EntryPointer> ModelPool::named_by(const HttpRequest& request, const std::string& path,
                                                     const Json& body) const {
    if (!options_.is_router) return entries_.front();
    std::string wanted;
    if (const auto it = request.query.find("model"); it != request.query.end()) wanted = it->second;
    for (const char* member : {"name", "model"})
        if (body.is_object() && body.contains(member) && body[member].is_string())
            wanted = body[member].get<std::string>();
    if (wanted.empty() && std::ranges::count(entries_, true, &Entry::is_listed) == 1)
        return *std::ranges::find(entries_, true, &Entry::is_listed);
    if (wanted.empty()) return refuse(400, "\"model\": is missing; GET /models lists those that there are");
    const EntryPointer entry = find(wanted);
    if (entry == nullptr)
        return refuse(404, "model '{}' not found{}", replace_invalid(wanted.substr(0, 200)),
                      path.starts_with("/api/") ? "" : "; GET /models lists those that there are");
    return entry;
}

// Under the lock; the entry is loaded.
ModelLease ModelPool::lease(const EntryPointer& entry, Lease kind) {
    ++entry->users;
    if (kind == Lease::use) entry->used_at = ++clock_;
    return {entry->served->service.get(), [this, entry, kind](const Service*) {
                {
                    const std::lock_guard lock(mutex_);
                    --entry->users;
                    if (kind == Lease::use) entry->idle_since = Clock::now();
                }
                changed_.notify_all();
            }};
}

void ModelPool::want(const EntryPointer& entry) {
    if (std::exchange(entry->is_wanted, true)) return;
    queue_.push_back(entry);
    changed_.notify_all();
}

Outcome<ModelLease> ModelPool::model_for(const HttpRequest& request, const std::string& path) {
    const Json body = request.body.empty() ? Json() : parse_json<Json>(request.body);
    std::unique_lock lock(mutex_);
    RIFTJIT_ASK(named, named_by(request, path, body));
    const EntryPointer entry = named;
    if (const auto kept_for = keep_alive_of(body)) entry->kept_for = kept_for;
    if (!options_.loads_on_demand && entry->status == ModelStatus::unloaded && !entry->is_wanted)
        return refuse(400, "model '{}' is not loaded (POST /models/load; --no-models-autoload)", entry->model.name);
    const uint64_t tries = entry->tries;
    ++entry->waiting;
    const auto is_ready = [&] { return entry->status == ModelStatus::loaded && !entry->is_leaving; };
    std::optional<ApiError> error;
    while (!is_ready() && !error) {
        if (is_stopping_) {
            error = ApiError{503, "the server is stopping"};
        } else if (entry->tries != tries && !entry->error.empty()) {
            error = ApiError{500, fmt::format("model '{}': {}", entry->model.name, entry->error)};
        } else {
            if (entry->status == ModelStatus::unloaded) want(entry);
            changed_.wait_for(lock, kLookForClient);
            lock.unlock();
            const bool has_left = request.is_abandoned();
            lock.lock();
            if (has_left) error = ApiError{400, "the client left"};
        }
    }
    --entry->waiting;
    changed_.notify_all();
    if (error) return std::unexpected(std::move(*error));
    const bool is_use = request.method == "POST";
    auto leased = lease(entry, is_use ? Lease::use : Lease::look);
    lock.unlock();
    if (is_use) std::this_thread::sleep_for(options_.delay);
    return leased;
}

Outcome<void> ModelPool::load(const std::string& name) {
    const std::lock_guard lock(mutex_);
    const EntryPointer entry = find(name);
    if (entry == nullptr) return refuse(404, "model '{}' not found", replace_invalid(name.substr(0, 200)));
    if (entry->status == ModelStatus::loaded && !entry->is_leaving) return {};
    entry->is_asked_for = true;
    want(entry);
    return {};
}

Outcome<void> ModelPool::unload(const std::string& name) {
    const std::lock_guard lock(mutex_);
    const EntryPointer entry = find(name);
    if (entry == nullptr) return refuse(404, "model '{}' not found", replace_invalid(name.substr(0, 200)));
    if (entry->status == ModelStatus::unloaded && !entry->is_wanted)
        return refuse(400, "model '{}' is not loaded", entry->model.name);
    entry->is_asked_for = false;
    entry->is_leaving = entry->status != ModelStatus::unloaded;
    changed_.notify_all();
    return {};
}

Outcome<void> ModelPool::reload_list() {
    if (!options_.list) return {};
    auto models = options_.list();
    if (!models) return std::unexpected(api_error(models.error()));
    const std::lock_guard lock(mutex_);
    std::vector<EntryPointer> entries;
    for (PoolModel& model : *models) {
        const auto same = std::ranges::find_if(entries_, [&](const EntryPointer& entry) {
            return entry->model.name == model.name && entry->model.identity == model.identity;
        });
        if (same != entries_.end()) {
            entries.push_back(*same);
            continue;
        }
        auto entry = std::make_shared<Entry>();
        entry->model = std::move(model);
        entries.push_back(std::move(entry));
    }
    // Those that are no longer listed go when nothing runs on them.
    for (const EntryPointer& entry : entries_) {
        if (std::ranges::find(entries, entry) != entries.end()) continue;
        entry->is_listed = false;
        entry->is_leaving = true;
        if (entry->status != ModelStatus::unloaded || entry->is_wanted) entries.push_back(entry);
    }
    entries_ = std::move(entries);
    changed_.notify_all();
    return {};
}

std::vector<ModelPool::Listed> ModelPool::listed() {
    const std::lock_guard lock(mutex_);
    std::vector<Listed> all;
    for (const EntryPointer& entry : entries_) {
        if (!entry->is_listed) continue;
        Listed listed{entry->model.name, entry->model.aliases, entry->status,
                      entry->error,      entry->model.bytes,   nullptr};
        if (entry->status == ModelStatus::loaded) listed.model = lease(entry, Lease::look);
        all.push_back(std::move(listed));
    }
    return all;
}

std::optional<HttpReply> ModelPool::own_reply(const HttpRequest& request, const std::string& path) {
    return options_.is_router ? pool_reply(*this, request, path) : asleep_reply(request, path);
}

std::optional<HttpReply> ModelPool::asleep_reply(const HttpRequest& request, const std::string& path) {
    if (request.method != "GET" && request.method != "HEAD") return std::nullopt;
    const std::lock_guard lock(mutex_);
    Entry& entry = *entries_.front();
    if (entry.status != ModelStatus::unloaded || entry.asleep.empty()) return std::nullopt;
    if (path == "/health" || path == "/v1/health") return json_reply({{"status", "ok"}});
    const auto said = entry.asleep.find(path);
    if (said == entry.asleep.end()) return std::nullopt;
    HttpReply reply = said->second.front();
    if (said->second.size() > 1) said->second.pop_front();
    return reply;
}

bool ModelPool::has_room_for(const Entry& entry) const {
    uint64_t count = 0, bytes = entry.model.bytes;
    for (const EntryPointer& other : entries_) {
        if (other->status != ModelStatus::loaded) continue;
        ++count;
        bytes += other->model.bytes;
    }
    if (options_.most_loaded != 0 && count >= options_.most_loaded) return false;
    return options_.most_bytes == 0 || bytes <= options_.most_bytes || count == 0;
}

// Of those that nobody uses; null: there is none.
ModelPool::EntryPointer ModelPool::least_recent() const {
    EntryPointer least;
    for (const EntryPointer& entry : entries_)
        if (entry->status == ModelStatus::loaded && entry->users == 0 && entry->waiting == 0 &&
            (!least || entry->used_at < least->used_at))
            least = entry;
    return least;
}

std::optional<ModelPool::Clock::time_point> ModelPool::expires_at(const Entry& entry) const {
    if (entry.status != ModelStatus::loaded || entry.users != 0 || entry.waiting != 0) return std::nullopt;
    const auto limit = entry.kept_for ? entry.kept_for : options_.idle_limit;
    if (!limit || limit->count() < 0) return std::nullopt;
    return entry.idle_since + *limit;
}

void ModelPool::run() {
    std::unique_lock lock(mutex_);
    while (!is_stopping_) {
        if (act(lock)) continue;
        std::optional<Clock::time_point> next;
        for (const EntryPointer& entry : entries_)
            if (const auto at = expires_at(*entry); at && (!next || *at < *next)) next = at;
        if (next)
            changed_.wait_until(lock, *next);
        else
            changed_.wait(lock);
    }
    for (const EntryPointer& entry : entries_) {
        changed_.wait(lock, [&] { return entry->users == 0; });
        entry->served.reset();
    }
}

// One thing that is to be done; false: there is none.
bool ModelPool::act(std::unique_lock<std::mutex>& lock) {
    for (const EntryPointer& entry : entries_) {
        const auto expires = expires_at(*entry);
        const bool goes = entry->is_leaving || (expires && *expires <= Clock::now());
        if (!goes || entry->status != ModelStatus::loaded || entry->users != 0) continue;
        unload_now(lock, entry);
        return true;
    }
    if (queue_.empty()) return false;
    const EntryPointer entry = queue_.front();
    const bool is_wanted = entry->is_listed && (entry->waiting != 0 || entry->is_asked_for);
    if (!is_wanted || entry->status != ModelStatus::unloaded) {
        queue_.pop_front();
        entry->is_wanted = false;
        return true;
    }
    if (!has_room_for(*entry)) {
        const EntryPointer least = least_recent();
        if (!least) return false;
        unload_now(lock, least);
        return true;
    }
    queue_.pop_front();
    entry->is_wanted = false;
    load_next(lock, entry);
    return true;
}

void ModelPool::load_next(std::unique_lock<std::mutex>& lock, const EntryPointer& entry) {
    entry->status = ModelStatus::loading;
    entry->is_asked_for = entry->is_leaving = false;
    entry->asleep.clear();
    changed_.notify_all();
    lock.unlock();
    std::this_thread::sleep_for(options_.delay);
    auto opened = entry->model.open();
    lock.lock();
    ++entry->tries;
    if (opened) {
        entry->served = std::move(*opened);
        entry->status = ModelStatus::loaded;
        entry->error.clear();
        const engine::Engine& engine = *entry->served->engine;
        entry->model.bytes = engine.device_model->weights.bytes + engine.sequences->kv_bytes();
        entry->used_at = ++clock_;
        entry->idle_since = Clock::now();
        if (is_stopping_) entry->served->scheduler->stop();
    } else {
        entry->status = ModelStatus::unloaded;
        entry->error = opened.error().message;
    }
    changed_.notify_all();
}

void ModelPool::unload_now(std::unique_lock<std::mutex>& lock, const EntryPointer& entry) {
    if (!options_.is_router)
        for (const char* path : kAsleep)
            // Twice: what is told since the last look is told once.
            for (int i = 0; i < 2; ++i) entry->asleep[path].push_back(reply_asleep(*entry->served->service, path));
    entry->status = ModelStatus::unloaded;
    entry->is_leaving = false;
    auto served = std::move(entry->served);
    lock.unlock();
    served.reset();
    lock.lock();
    changed_.notify_all();
}

}  // namespace riftjit::server
