// A conversation's next answer, whichever API asks: requests in OpenAI's form, to which the others are translated, and
// answers split into thinking, content and calls of tools.
#pragma once

#include "engine/reply_parser.h"
#include "server/answers.h"

namespace riftjit::server {

struct ChatAsked {
    Asked asked;
    Service::ChatPrompt prompt;
    engine::ReplyOptions reply;
    size_t calls_at_most = SIZE_MAX;
};

// The body of /v1/chat/completions.
Outcome<ChatAsked> read_chat(const Service& service, const Json& body);
// How many tokens its prompt has.
Outcome<uint64_t> count_chat(const Service& service, const Json& body);

struct ChatAnswer {
    Collected collected;
    engine::Reply reply;

    const char* finish() const;  // "stop", "length", "tool_calls"
};
Outcome<std::vector<ChatAnswer>> answer_chat(const Service& service, const ChatAsked& asked,
                                             const HttpRequest& request);

// Streams of any API: what is new of each answer, split.
class ChatStream : public StreamFormat {
public:
    ChatStream(const Service& service, const ChatAsked& asked);
    std::string event(size_t answer, const engine::ServingEvent& event) final;

protected:
    virtual std::string say(size_t answer, const engine::Reply& news, const engine::ServingEvent& event) = 0;
    const char* finish(size_t answer, engine::FinishReason reason) const;

    const Service& service_;
    const ChatAsked asked_;

private:
    std::vector<engine::ReplyParser> parsers_;
    std::vector<size_t> calls_;  // so far
};

// Starts the answers and streams them.
Outcome<HttpReply> stream_chat(const Service& service, const ChatAsked& asked, std::shared_ptr<StreamFormat> format);

}  // namespace riftjit::server
