#include "server/answers.h"

#include "host/json_text.h"

namespace riftjit::server {

namespace {

using Answers = std::vector<engine::Scheduler::Answer>;

// How long it may take to see that a client left.
constexpr std::chrono::milliseconds kLook{200};

// Events of all answers as they come, until each had its last. `handle` may end it by returning false, and so may
// `idle`, which is called whenever nothing came for a while.
template <class Handle, class Idle>
void follow(Answers& answers, const Handle& handle, const Idle& idle) {
    std::vector<bool> is_done(answers.size());
    for (size_t left = answers.size(); left > 0;) {
        bool has_come = false;
        for (size_t i = 0; i < answers.size(); ++i) {
            if (is_done[i]) continue;
            const auto patience = left == 1 ? kLook : std::chrono::milliseconds(1);
            const auto event = answers[i].wait(patience);
            if (!event) continue;
            has_come = true;
            if (event->is_last()) is_done[i] = true, --left;
            if (!handle(i, *event)) return;
        }
        if (!has_come && !idle()) return;
    }
}

}  // namespace

void Collected::add(const engine::ServingEvent& event) {
    text += event.text;
    if (event.token) {
        tokens.push_back(*event.token);
        if (!event.token->is_end) ids.push_back(event.token->id);
    }
    timings = event.timings;
    is_truncated = event.is_truncated;
    if (!event.finish) return;
    finish = *event.finish;
    stop_word = event.stop_word;
}

Outcome<std::vector<Collected>> collect(Answers answers, const HttpRequest& request) {
    std::vector<Collected> collected(answers.size());
    std::optional<ApiError> error;
    const auto is_wanted = [&] {
        if (request.is_abandoned()) error = ApiError{400, "the client left"};
        return !error;
    };
    follow(
        answers,
        [&](size_t i, const engine::ServingEvent& event) {
            if (event.error) error = api_error(*event.error);
            if (event.finish == engine::FinishReason::interrupted) error = ApiError{503, "the server is stopping"};
            collected[i].add(event);
            // Where tokens come quickly nothing is ever waited for.
            return collected[i].ids.size() % 16 != 0 ? !error : is_wanted();
        },
        is_wanted);
    if (error) return std::unexpected(std::move(*error));
    return collected;
}

std::string StreamFormat::error(const ApiError& error) { return server_event(error_object(error)); }

HttpReply stream(Answers answers, std::shared_ptr<StreamFormat> format, int64_t ping_seconds) {
    HttpReply reply;
    reply.type = format->type();
    reply.headers = {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}};
    auto shared = std::make_shared<Answers>(std::move(answers));
    reply.stream = [shared, format = std::move(format), ping_seconds](HttpWriter& writer) {
        Answers answers = std::move(*shared);  // gone when this returns: what still runs is cancelled
        using Clock = std::chrono::steady_clock;
        auto said = Clock::now();
        const auto say = [&](const std::string& bytes) {
            if (bytes.empty()) return writer.is_open();
            said = Clock::now();
            return writer.write(bytes);
        };
        bool is_whole = say(format->begin());
        if (!is_whole) return;
        follow(
            answers,
            [&](size_t i, const engine::ServingEvent& event) {
                if (event.error) {
                    is_whole = false;
                    say(format->error(api_error(*event.error)));
                } else if (event.finish == engine::FinishReason::interrupted) {
                    is_whole = false;
                    say(format->error({503, "the server is stopping"}));
                } else {
                    is_whole = say(format->event(i, event));
                }
                return is_whole;
            },
            [&] {
                const bool is_silent = ping_seconds >= 0 && Clock::now() - said >= std::chrono::seconds(ping_seconds);
                return is_whole = is_silent ? say(format->ping()) : writer.is_open();
            });
        if (is_whole) say(format->end());
    };
    return reply;
}

std::string server_event(const Json& data, const char* name) {
    std::string event = name == nullptr ? std::string() : fmt::format("event: {}\n", name);
    return event += "data: " + json_text(data) + "\n\n";
}

}  // namespace riftjit::server
