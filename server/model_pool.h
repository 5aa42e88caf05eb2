// Several models by name, of which some are loaded at a time; or one that is unloaded while nobody asks.
//
// A thread loads and unloads, one after the other, in the order in which models were asked for. Where there is no room
// the one that was used least recently goes, once nothing runs on it. Requests name models of the list, and no files.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "server/models.h"
#include "server/served_model.h"

namespace riftjit::server {

struct PoolModel {
    std::string name;
    std::vector<std::string> aliases;
    uint64_t bytes = 0;  // that it takes, as far as that is known before it is loaded; 0: not known
    bool loads_at_start = false;
    std::string identity;  // a list that is read again keeps what has the same
    std::function<Result<std::unique_ptr<ServedModel>>()> open;
};

struct PoolOptions {
    uint32_t most_loaded = 0;                        // 0: no limit
    uint64_t most_bytes = 0;                         // of weights and caches; 0: no limit
    bool loads_on_demand = true;                     // else POST /models/load does, alone
    bool is_router = true;                           // false: one model, whose own routes answer all
    std::optional<std::chrono::seconds> idle_limit;  // unloads what nobody asked for so long
    std::chrono::milliseconds delay{0};              // of each load and each POST, so that queues can be tried out
    std::string version;
    std::function<Result<std::vector<PoolModel>>()> list;  // read anew on request; null: it stays as it is
};

enum class ModelStatus : uint8_t { unloaded, loading, loaded };
const char* name(ModelStatus status);

class ModelPool : public Models {
public:
    ModelPool(PoolOptions options, std::vector<PoolModel> models);
    ~ModelPool() override;  // as stop(), and unloads all

    std::optional<HttpReply> own_reply(const HttpRequest& request, const std::string& path) override;
    Outcome<ModelLease> model_for(const HttpRequest& request, const std::string& path) override;
    void stop() override;

    // Of a name of the list; 404 otherwise. Both return at once.
    Outcome<void> load(const std::string& name);
    Outcome<void> unload(const std::string& name);
    Outcome<void> reload_list();

    struct Listed {
        std::string name;
        std::vector<std::string> aliases;
        ModelStatus status;
        std::string error;  // of the last try to load it
        uint64_t bytes;
        ModelLease model;  // of a loaded one
    };
    std::vector<Listed> listed();
    const PoolOptions& options() const { return options_; }

private:
    using Clock = std::chrono::steady_clock;

    struct Entry {
        PoolModel model;
        ModelStatus status = ModelStatus::unloaded;
        std::unique_ptr<ServedModel> served;
        uint32_t users = 0, waiting = 0;
        bool is_wanted = false;     // waits to be loaded
        bool is_asked_for = false;  // by load(), so that it is loaded though nobody waits
        bool is_leaving = false;    // is to be unloaded
        bool is_listed = true;
        uint64_t tries = 0, used_at = 0;
        std::string error;
        std::optional<std::chrono::seconds> kept_for;  // after its last use; below 0: for ever
        Clock::time_point idle_since = Clock::now();
        std::map<std::string, std::deque<HttpReply>>
            asleep;  // what one model says while it is unloaded, the last again
    };
    using EntryPointer = std::shared_ptr<Entry>;

    EntryPointer find(const std::string& name) const;
    Outcome<EntryPointer> named_by(const HttpRequest& request, const std::string& path, const Json& body) const;
    enum class Lease : uint8_t { use, look };  // a look makes a model no more recent
    ModelLease lease(const EntryPointer& entry, Lease kind);
    void want(const EntryPointer& entry);
    void run();
    bool act(std::unique_lock<std::mutex>& lock);
    void load_next(std::unique_lock<std::mutex>& lock, const EntryPointer& entry);
    void unload_now(std::unique_lock<std::mutex>& lock, const EntryPointer& entry);
    bool has_room_for(const Entry& entry) const;
    EntryPointer least_recent() const;
    std::optional<Clock::time_point> expires_at(const Entry& entry) const;
    std::optional<HttpReply> asleep_reply(const HttpRequest& request, const std::string& path);

    const PoolOptions options_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<EntryPointer> entries_;
    std::deque<EntryPointer> queue_;
    uint64_t clock_ = 0;
    bool is_stopping_ = false;
    std::thread thread_;
};

// The replies of a pool with several models (pool_api.cpp).
std::optional<HttpReply> pool_reply(ModelPool& pool, const HttpRequest& request, const std::string& path);

}  // namespace riftjit::server
