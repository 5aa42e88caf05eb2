// Answers on their way to a client: collected, or as a stream of events.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "server/service.h"

namespace riftjit::server {

// One answer as far as it has come.
struct Collected {
    std::string text;
    std::vector<int32_t> ids;
    std::vector<engine::ServingEvent::Token> tokens;
    engine::FinishReason finish = engine::FinishReason::interrupted;
    std::string stop_word;
    engine::ServingTimings timings;
    bool is_truncated = false;

    void add(const engine::ServingEvent& event);
};

// All of them, to their ends. Fails where one does, and when the client left.
Outcome<std::vector<Collected>> collect(std::vector<engine::Scheduler::Answer> answers, const HttpRequest& request);

// What a stream says.
struct StreamFormat {
    virtual ~StreamFormat() = default;
    virtual std::string begin() { return {}; }
    virtual std::string event(size_t answer, const engine::ServingEvent& event) = 0;
    virtual std::string end() { return {}; }
    virtual std::string error(const ApiError& error);  // in place of what is left
    virtual std::string ping() { return ":\n\n"; }     // where nothing else is to be said
    virtual const char* type() const { return "text/event-stream"; }
};

HttpReply stream(std::vector<engine::Scheduler::Answer> answers, std::shared_ptr<StreamFormat> format,
                 int64_t ping_seconds);

// "data: {...}\n\n", with "event: NAME\n" before it where there is a name.
std::string server_event(const Json& data, const char* name = nullptr);

}  // namespace riftjit::server
