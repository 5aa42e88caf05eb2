// /tools and /cors-proxy over HTTP: what is listed and called, by whom, and that neither keeps the server.
#include <arpa/inet.h>
#include <sys/socket.h>

#include <algorithm>
#include <thread>

#include "host/file_descriptor.h"
#include "server/agent_api.h"
#include "server/origins.h"
#include "tests/server/test_server.h"

namespace riftjit::server {
namespace agent_test {

std::shared_ptr<Toolbox> test_toolbox(bool has_server) {
    std::vector<McpServerConfig> servers;
    if (has_server) {
        McpServerConfig config;
        config.name = "t";
        config.command = "python3";
        config.arguments = {std::string(RIFTJIT_SOURCE_DIR) + "/tests/server/mcp/echo_server.py"};
        servers.push_back(std::move(config));
    }
    auto toolbox = std::make_shared<Toolbox>(*chosen_tools({"all"}), std::move(servers),
                                             [](const std::string& line) { ADD_FAILURE() << line; });
    toolbox->start();
    return toolbox;
}

ServerOptions agent_options(bool has_server = false) {
    ServerOptions options;
    options.toolbox = test_toolbox(has_server);
    options.hands_on = true;
    options.cors_origins = "localhost";
    return options;
}

class Agent : public testing::Test {
protected:
    static void SetUpTestSuite() {
        running_ = std::make_unique<RunningServer>(1, ServiceOptions{}, agent_options(true));
    }
    static void TearDownTestSuite() { running_.reset(); }

    static Reply call(const std::string& tool, const Json& parameters) {
        return post(*running_, "/tools", {{"tool", tool}, {"params", parameters}});
    }
    static Reply call_with(const httplib::Headers& headers, const Json& body) {
        auto client = running_->client();
        return reply_of(client.Post("/tools", headers, json_text(body), "application/json"));
    }

    static std::unique_ptr<RunningServer> running_;
};
std::unique_ptr<RunningServer> Agent::running_;

TEST_F(Agent, ListsToolsAsModelsAreToldOfThem) {
    const Reply reply = get(*running_, "/tools");
    ASSERT_EQ(reply.status, 200) << reply.text;
    std::vector<std::string> names;
    for (const Json& tool : reply.json) {
        names.push_back(tool["tool"]);
        EXPECT_EQ(tool["definition"]["type"], "function");
        EXPECT_EQ(tool["definition"]["function"]["name"], tool["tool"]);
        EXPECT_EQ(tool["definition"]["function"]["parameters"]["type"], "object");
        EXPECT_TRUE(tool["definition"]["function"]["parameters"]["properties"].is_object());
        EXPECT_TRUE(tool["permissions"]["write"].is_boolean());
        EXPECT_EQ(tool["type"], names.back().starts_with("t_") ? "mcp" : "server");
    }
    EXPECT_EQ(names.size(), 13u);
    EXPECT_NE(std::ranges::find(names, "t_echo"), names.end());
    // A request for a chat takes them as they are.
    Json tools = Json::array();
    for (const Json& tool : reply.json) tools.push_back(tool["definition"]);
    const Json message = {{"role", "user"}, {"content", "Hi"}};
    EXPECT_EQ(post(*running_, "/v1/chat/completions",
                   {{"messages", Json::array({message})}, {"tools", tools}, {"max_tokens", 2}})
                  .status,
              200);
}

TEST_F(Agent, CallsTools) {
    EXPECT_EQ(call("t_echo", {{"message", "a"}}).json, (Json{{"plain_text_response", "echo: a"}}));
    EXPECT_EQ(call("t_fails", Json::object()).json, (Json{{"error", "it did not work"}}));
    const Reply info = call_with({{"X-Tool-Cwd", "/"}}, {{"tool", "get_info"}});
    EXPECT_TRUE(info.json["plain_text_response"].get<std::string>().ends_with("working directory: /\n")) << info.text;
    // The model cannot say where it is.
    const Reply given = call_with({{"X-Tool-Cwd", "/usr"}}, {{"tool", "get_info"}, {"params", {{"cwd", "/"}}}});
    EXPECT_TRUE(given.json["plain_text_response"].get<std::string>().ends_with("directory: /usr\n")) << given.text;
}

TEST_F(Agent, StreamsWhatACommandWrites) {
    const Reply reply =
        post(*running_, "/tools",
             {{"tool", "exec_shell_command"}, {"params", {{"command", "echo a; exit 2"}}}, {"stream", true}});
    EXPECT_TRUE(reply.type.starts_with("text/event-stream")) << reply.type;
    const auto events = events_of(reply.text);
    std::string text;
    for (const Json& event : events) text += event.value("chunk", "");
    EXPECT_EQ(text, "a\n\n[exit code: 2]");
    EXPECT_EQ(events.back(), (Json{{"done", true}}));
    const Reply wrong =
        post(*running_, "/tools", {{"tool", "exec_shell_command"}, {"params", Json::object()}, {"stream", true}});
    EXPECT_EQ(events_of(wrong.text).back(), (Json{{"done", true}, {"error", "\"command\" is missing"}}));
}

TEST_F(Agent, RefusesCallsThatAreNone) {
    expect_error(call("nothing", Json::object()), 404, "not_found_error", "unknown tool \"nothing\"");
    expect_error(post(*running_, "/tools", {{"tool", "read_file"}, {"stream", true}}), 404, "not_found_error",
                 "does not support stream");
    expect_error(post(*running_, "/tools", Json::object()), 400, "invalid_request_error", "\"tool\" is missing");
    expect_error(post(*running_, "/tools", {{"tool", "read_file"}, {"params", "x"}}), 400, "invalid_request_error",
                 "\"params\": expected an object");
    expect_error(post_text(*running_, "/tools", "[1"), 400, "invalid_request_error", "the body");
    expect_error(call("read_file", Json::object()), 400, "invalid_request_error", "\"path\" is missing");
    expect_error(call_with({{"X-Tool-Cwd", "/no/folder"}}, {{"tool", "get_info"}}), 400, "invalid_request_error",
                 "there is no folder /no/folder");
    const std::pair<const char*, std::pair<int, const char*>> runtimes[] = {
        {"fake:x", {500, "unknown tool runtime"}},
        {"ssh:-oProxyCommand=x", {500, "invalid ssh target"}},
        {"docker-container:--privileged", {500, "invalid container id"}},
        {"podman-container:a b", {500, "invalid container id"}},
        {"ssh:host", {501, "own machine alone"}},
        {"docker-container:ab12", {501, "own machine alone"}}};
    for (const auto& [runtime, expected] : runtimes)
        expect_error(call_with({{"X-Tool-Runtime", runtime}}, {{"tool", "get_info"}}), expected.first,
                     expected.first == 500 ? "server_error" : "not_supported_error", expected.second);
    auto client = running_->client();
    expect_error(reply_of(client.Delete("/tools")), 405, "invalid_request_error", "DELETE does not go");
}

// What another place's page can have a browser send: a form without asking, its own name for this address.
TEST_F(Agent, ActsForNoOtherPlacesPage) {
    const Json body = {{"tool", "get_info"}};
    const std::string port = std::to_string(running_->server().port());
    for (const httplib::Headers& headers :
         {httplib::Headers{{"Origin", "http://evil.example"}}, httplib::Headers{{"Origin", "null"}},
          httplib::Headers{{"Host", "evil.example:" + port}},
          httplib::Headers{{"Host", "evil.example:" + port}, {"Origin", "http://evil.example:" + port}},
          httplib::Headers{{"Host", "127.0.0.1.evil.example"}}, httplib::Headers{{"Sec-Fetch-Site", "cross-site"}}}) {
        expect_error(call_with(headers, body), 403, "permission_error", "--cors-origins");
        auto client = running_->client();
        expect_error(reply_of(client.Get("/cors-proxy?url=http://127.0.0.1:" + port + "/health", headers)), 403,
                     "permission_error", "--cors-origins");
    }
    for (const httplib::Headers& headers :
         {httplib::Headers{}, httplib::Headers{{"Origin", "http://localhost:3000"}},
          httplib::Headers{{"Origin", "http://127.0.0.1:" + port}}, httplib::Headers{{"Host", "localhost:" + port}},
          httplib::Headers{{"Host", "192.168.1.5:80"}, {"Origin", "http://192.168.1.5:80"}},
          httplib::Headers{{"Sec-Fetch-Site", "same-origin"}}})
        EXPECT_EQ(call_with(headers, body).status, 200);
}

TEST_F(Agent, HandsRequestsOn) {
    httplib::Server target;
    httplib::Headers seen;
    std::string seen_body;
    target.Get("/page", [&](const httplib::Request& request, httplib::Response& response) {
        seen = request.headers;
        response.set_header("Mcp-Session-Id", "s1");
        response.set_header("Set-Cookie", "a=b");
        response.set_header("Access-Control-Allow-Origin", "https://its.own");
        response.set_content("query " + request.get_param_value("q"), "text/html");
    });
    target.Post("/empty", [&](const httplib::Request& request, httplib::Response& response) {
        seen_body = request.body;
        response.status = 204;
    });
    target.Get("/stream", [](const httplib::Request&, httplib::Response& response) {
        response.set_chunked_content_provider("text/event-stream", [](size_t, httplib::DataSink& sink) {
            sink.write("data: 1\n\n", 9);
            sink.write("data: 2\n\n", 9);
            sink.done();
            return true;
        });
    });
    target.Get("/away", [](const httplib::Request&, httplib::Response& response) { response.set_redirect("/page"); });
    const int port = target.bind_to_any_port("127.0.0.1");
    std::thread thread([&] { target.listen_after_bind(); });
    while (!target.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const std::string url = "/cors-proxy?url=http%3A%2F%2F127.0.0.1%3A" + std::to_string(port);
    auto client = running_->client();
    const auto page =
        client.Get(url + "/page%3Fq%3D1%26r%3D2", {{"Authorization", "Bearer ours"},
                                                   {"Cookie", "ours"},
                                                   {"X-Llama-Server-Proxy-Header-Authorization", "Bearer theirs"},
                                                   {"X-Llama-Server-Proxy-Header-Accept", "text/event-stream"},
                                                   {"X-Llama-Server-Proxy-Header-Transfer-Encoding", "chunked"},
                                                   {"X-Llama-Server-Proxy-Header-Host", "other.example"}});
    ASSERT_TRUE(page);
    EXPECT_EQ(page->status, 200);
    EXPECT_EQ(page->body, "query 1");
    EXPECT_EQ(page->get_header_value("Content-Type"), "text/html");
    EXPECT_EQ(page->get_header_value("Mcp-Session-Id"), "s1");
    EXPECT_FALSE(page->has_header("Set-Cookie"));
    EXPECT_FALSE(page->has_header("Access-Control-Allow-Origin"));
    EXPECT_EQ(page->get_header_value("Content-Security-Policy"), "sandbox");
    EXPECT_EQ(seen.find("Authorization")->second, "Bearer theirs");
    EXPECT_EQ(seen.count("Authorization"), 1u);
    EXPECT_EQ(seen.find("Accept")->second, "text/event-stream");
    EXPECT_EQ(seen.count("Cookie"), 0u);
    EXPECT_EQ(seen.count("Transfer-Encoding"), 0u);
    EXPECT_EQ(seen.find("Host")->second, "127.0.0.1:" + std::to_string(port));
    const auto empty = client.Post(url + "/empty", "{\"a\":1}", "application/json");
    ASSERT_TRUE(empty);
    EXPECT_EQ(empty->status, 204);
    EXPECT_EQ(empty->body, "");
    EXPECT_EQ(seen_body, "{\"a\":1}");
    EXPECT_EQ(client.Get(url + "/stream")->body, "data: 1\n\ndata: 2\n\n");
    EXPECT_EQ(client.Get(url + "/away")->status, 302) << "no redirection is followed";
    EXPECT_EQ(client.Get(url + "/none")->status, 404);
    target.stop();
    thread.join();
    expect_error(reply_of(client.Get(url + "/page")), 502, "invalid_request_error", "was not answered");
}

TEST_F(Agent, HandsOnToAddressesOfHttpAlone) {
    for (const auto& [url, why] : std::initializer_list<std::pair<const char*, const char*>>{
             {"", "\"url\" is missing"},
             {"?url=", "expected http:// or https://"},
             {"?url=file:///etc/passwd", "expected http:// or https://"},
             {"?url=http://", "has no host"},
             {"?url=http:///x", "has no host"},
             {"?url=http://user:word@127.0.0.1/", "names and passwords"},
             {"?url=http://127.0.0.1/%0d%0aX: y", "a blank or a control character"},
             {"?url=http://127.0.0.1/a%20b", "a blank or a control character"}}) {
        auto client = running_->client();
        expect_error(reply_of(client.Get(std::string("/cors-proxy") + url)), 400, "invalid_request_error", why);
    }
}

TEST(AgentRoutes, AreOffUnlessAskedFor) {
    RunningServer running(1);
    expect_error(get(running, "/tools"), 403, "permission_error", "--tools");
    expect_error(post(running, "/tools", {{"tool", "get_info"}}), 403, "permission_error", "--tools");
    expect_error(get(running, "/cors-proxy?url=http://127.0.0.1/"), 403, "permission_error", "--ui-mcp-proxy");
}

TEST(AgentRoutes, AskForTheKeyWhereThereIsOne) {
    ServerOptions options = agent_options();
    options.api_keys = {"secret"};
    RunningServer running(1, {}, options);
    expect_error(post(running, "/tools", {{"tool", "get_info"}}), 401, "authentication_error", "");
    auto client = running.client();
    // Who knows the key is no page of another place.
    EXPECT_EQ(client.Get("/tools", {{"Authorization", "Bearer secret"}, {"Host", "box.example"}})->status, 200);
}

// Calls that run, and a stream that is handed on and has no end.
TEST(AgentRoutes, KeepNoServerFromStopping) {
    httplib::Server target;
    std::atomic<bool> is_over = false;
    target.Get("/endless", [&](const httplib::Request&, httplib::Response& response) {
        response.set_chunked_content_provider("text/event-stream", [&](size_t, httplib::DataSink& sink) {
            sink.write(": here\n\n", 8);
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            return !is_over;
        });
    });
    const int port = target.bind_to_any_port("127.0.0.1");
    std::thread thread([&] { target.listen_after_bind(); });
    // One that is full, and so does not even let anybody connect.
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    const FileDescriptor full(socket(AF_INET, SOCK_STREAM, 0));
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    ASSERT_TRUE(::bind(full.get(), any, length) == 0 && ::listen(full.get(), 0) == 0);
    getsockname(full.get(), any, &length);
    std::vector<FileDescriptor> fillers;
    for (int i = 0; i < 4; ++i) {
        fillers.emplace_back(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
        (void)::connect(fillers.back().get(), any, length);
    }
    auto running = std::make_unique<RunningServer>(1, ServiceOptions{}, agent_options(true));
    std::vector<std::thread> clients;
    const auto ask = [&](auto request) {
        clients.emplace_back(
            [client = std::make_shared<httplib::Client>(running->client()), request] { request(*client); });
    };
    ask([](httplib::Client& client) {
        client.Post("/tools", R"({"tool": "exec_shell_command", "params": {"command": "sleep 50", "timeout": 60}})",
                    "application/json");
    });
    ask([](httplib::Client& client) {
        client.Post("/tools",
                    R"({"tool": "exec_shell_command", "params": {"command": "yes", "timeout": 60}, "stream": true})",
                    "application/json");
    });
    ask([](httplib::Client& client) {
        client.Post("/tools", R"({"tool": "t_sleep", "params": {"seconds": 50}})", "application/json");
    });
    ask([port](httplib::Client& client) {
        client.Get("/cors-proxy?url=http://127.0.0.1:" + std::to_string(port) + "/endless");
    });
    ask([port = ntohs(address.sin_port)](httplib::Client& client) {
        client.Get("/cors-proxy?url=http://127.0.0.1:" + std::to_string(port) + "/");
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
    const auto begun = std::chrono::steady_clock::now();
    running.reset();
    EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(8)) << "what runs lasts longer";
    for (std::thread& client : clients) client.join();
    is_over = true;
    target.stop();
    thread.join();
}

TEST(ChosenTools, AreThoseOfTheirNames) {
    EXPECT_EQ(chosen_tools({"grep_search", "read_file"})->size(), 2u);
    EXPECT_EQ(chosen_tools({})->size(), 0u);
    EXPECT_EQ(chosen_tools({"read_file", "all"})->size(), builtin_tools().size());
    EXPECT_EQ(chosen_tools({"rm"}).error().message,
              "there is no tool \"rm\": all, read_file, write_file, edit_file, file_glob_search, grep_search, "
              "exec_shell_command, get_info");
}

TEST(Origins, AreListedByNameOrAsThoseOfThisMachine) {
    EXPECT_TRUE(is_listed_origin("*", "http://any"));
    EXPECT_TRUE(is_listed_origin("http://a,localhost", "http://[::1]:80"));
    EXPECT_TRUE(is_listed_origin("http://a,http://b", "http://b"));
    for (const char* origin : {"http://localhost.evil.com", "http://notlocalhost", "http://localhost:80x", "null", ""})
        EXPECT_FALSE(is_listed_origin("localhost", origin)) << origin;
    EXPECT_FALSE(is_listed_origin("", "http://a"));
}

}  // namespace agent_test
}  // namespace riftjit::server
