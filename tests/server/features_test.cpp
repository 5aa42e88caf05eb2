// Forced calls, slots in files, several models by name, sockets of files, readers that do not read.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/server/pool_server.h"

namespace riftjit::server {
namespace features_test {

using namespace std::chrono_literals;

std::string temporary(const std::string& name) {
    return testing::TempDir() + "riftjit-" + name + "-" + std::to_string(getpid());
}

ServiceOptions calling_service() {
    ServiceOptions options;
    options.chat_template = *models::ChatTemplate::parse(kCallingTemplate);
    return options;
}

Json choice_tool(const char* name) {
    return {{"type", "function"},
            {"function",
             {{"name", name},
              {"parameters",
               {{"type", "object"},
                {"properties", {{"way", {{"enum", {"left", "right"}}}}, {"far", {{"type", "boolean"}}}}},
                {"required", {"way", "far"}}}}}}};
}

Json call_request(Json tool_choice) {
    return {{"messages", Json::array({{{"role", "user"}, {"content", "Go on"}}})},
            {"tools", {choice_tool("walk"), choice_tool("drive")}},
            {"tool_choice", std::move(tool_choice)},
            {"parallel_tool_calls", false},
            {"temperature", 1.0},
            {"max_tokens", 200}};
}

TEST(ForcedCalls, AreWhatTheAnswerIs) {
    RunningServer running(2, calling_service());
    for (uint32_t seed = 0; seed < 6; ++seed) {
        Json request = call_request(seed % 2 == 0 ? Json("required")
                                                  : Json{{"type", "function"}, {"function", {{"name", "drive"}}}});
        request["seed"] = seed;
        const Reply reply = post(running, "/v1/chat/completions", request);
        ASSERT_EQ(reply.status, 200) << reply.text;
        const Json& choice = reply.json["choices"][0];
        EXPECT_EQ(choice["finish_reason"], "tool_calls") << reply.text;
        ASSERT_EQ(choice["message"]["tool_calls"].size(), 1u) << reply.text;
        EXPECT_EQ(choice["message"]["content"], nullptr);
        const Json& function = choice["message"]["tool_calls"][0]["function"];
        EXPECT_TRUE(function["name"] == "drive" || (seed % 2 == 0 && function["name"] == "walk")) << reply.text;
        const Json arguments = parse_json<Json>(function["arguments"].get<std::string>());
        EXPECT_TRUE(arguments["way"] == "left" || arguments["way"] == "right") << reply.text;
        EXPECT_TRUE(arguments["far"].is_boolean()) << reply.text;

        request["stream"] = true;
        size_t calls = 0;
        for (const Json& event : events_of(post(running, "/v1/chat/completions", request).text))
            calls += event["choices"][0]["delta"].value("tool_calls", Json::array()).size();
        EXPECT_EQ(calls, 1u);
    }
    const Reply claude = post(
        running, "/v1/messages",
        {{"messages", Json::array({{{"role", "user"}, {"content", "Go on"}}})},
         {"max_tokens", 200},
         {"tools", Json::array({{{"name", "walk"}, {"input_schema", choice_tool("walk")["function"]["parameters"]}}})},
         {"tool_choice", {{"type", "tool"}, {"name", "walk"}, {"disable_parallel_tool_use", true}}}});
    ASSERT_EQ(claude.status, 200) << claude.text;
    EXPECT_EQ(claude.json["stop_reason"], "tool_use") << claude.text;
}

TEST(ForcedCalls, AreRefusedWhereTheyCannotBe) {
    RunningServer running(1, calling_service());
    expect_error(
        post(running, "/v1/chat/completions", call_request({{"type", "function"}, {"function", {{"name", "fly"}}}})),
        400, "invalid_request_error", "tool_choice");
    Json both = call_request("required");
    both["grammar"] = "root ::= \"a\"";
    expect_error(post(running, "/v1/chat/completions", both), 400, "invalid_request_error", "contradict");
    RunningServer plain(1);
    expect_error(post(plain, "/v1/chat/completions", call_request("required")), 501, "not_supported_error",
                 "how they are written");
}

ServiceOptions service_with_slot_files(const std::string& folder) {
    ServiceOptions options;
    options.slot_files =
        SlotFiles{folder, {}, [](const std::string& path, const SlotFiles::Fill& fill) -> Result<uint64_t> {
                      std::ofstream file(path, std::ios::binary);
                      uint64_t bytes = 0;
                      RIFTJIT_TRY_VOID(fill([&](std::span<const std::byte> piece) -> Result<void> {
                          file.write(reinterpret_cast<const char*>(piece.data()), std::streamsize(piece.size()));
                          bytes += piece.size();
                          return {};
                      }));
                      return bytes;
                  }};
    return options;
}

TEST(SlotFilesOverHttp, AreSavedAndRestoredByName) {
    const std::string folder = temporary("slots");
    std::filesystem::create_directories(folder);
    RunningServer running(2, service_with_slot_files(folder));
    const Json request = {
        {"prompt", "Once upon a time there was a cat"}, {"n_predict", 6}, {"temperature", 0}, {"id_slot", 1}};
    const Json first = post(running, "/completion", request).json;
    const Reply saved = post(running, "/slots/1?action=save", {{"filename", "cat.bin"}});
    ASSERT_EQ(saved.status, 200) << saved.text;
    EXPECT_EQ(saved.json["n_saved"], uint64_t(first["timings"]["prompt_n"]) + 5);
    EXPECT_EQ(saved.json["n_written"], std::filesystem::file_size(folder + "/cat.bin"));
    const Reply restored = post(running, "/slots/0?action=restore", {{"filename", "cat.bin"}});
    ASSERT_EQ(restored.status, 200) << restored.text;
    EXPECT_EQ(restored.json["n_restored"], saved.json["n_saved"]);
    EXPECT_EQ(restored.json["n_read"], saved.json["n_written"]);
    Json again = request;
    again["id_slot"] = 0;
    const Json second = post(running, "/completion", again).json;
    EXPECT_EQ(second["timings"]["prompt_n"], 1);
    EXPECT_EQ(second["content"], first["content"]);
    for (const char* name : {"", "../cat.bin", "/etc/passwd", ".hidden", "a/b", "a\nb", "c:d"})
        for (const char* action : {"save", "restore"})
            expect_error(post(running, std::string("/slots/1?action=") + action, {{"filename", name}}), 400,
                         "invalid_request_error", "Invalid filename");
    expect_error(post(running, "/slots/1?action=restore", {{"filename", "none.bin"}}), 400, "invalid_request_error",
                 "none.bin");
    std::ofstream(folder + "/odd.bin") << "nothing of that kind";
    expect_error(post(running, "/slots/1?action=restore", {{"filename", "odd.bin"}}), 400, "invalid_request_error",
                 "odd.bin");
    std::filesystem::remove_all(folder);
    RunningServer without(1);
    expect_error(post(without, "/slots/0?action=save", {{"filename", "cat.bin"}}), 501, "not_supported_error",
                 "--slot-save-path");
}

// ---- several models
// --------------------------------------------------------------------------------------------------

std::vector<PoolModel> three_models() {
    std::vector<PoolModel> models;
    for (const char* name : {"a", "b", "c"}) models.push_back(storyteller(name));
    return models;
}

Json short_request(const char* model) {
    return {{"model", model}, {"prompt", "Once upon"}, {"n_predict", 3}, {"temperature", 0}};
}

TEST(SeveralModels, AreLoadedByNameAndTheLeastRecentGoes) {
    PoolServer server({.most_loaded = 2, .version = "test"}, three_models());
    EXPECT_EQ(server.look("/props").json["role"], "router");
    EXPECT_EQ(server.look("/models").json["data"].size(), 3u);
    EXPECT_EQ(server.status("a"), "unloaded");
    EXPECT_EQ(server.look("/api/ps").json["models"].size(), 0u);
    const Reply first = server.ask("/completion", short_request("a"));
    ASSERT_EQ(first.status, 200) << first.text;
    EXPECT_EQ(first.json["model"], "a");
    EXPECT_EQ(server.ask("/completion", short_request("b-alias")).json["content"], first.json["content"]);
    EXPECT_EQ(server.look("/api/ps").json["models"].size(), 2u);
    EXPECT_EQ(server.ask("/completion", short_request("a")).status, 200);  // so that b is the least recent
    EXPECT_EQ(server.ask("/completion", short_request("c")).status, 200);
    EXPECT_EQ(server.status("a"), "loaded");
    EXPECT_EQ(server.status("b"), "unloaded");
    EXPECT_EQ(server.status("c"), "loaded");
    expect_error(server.ask("/completion", short_request("../a.gguf")), 404, "not_found_error", "not found");
    expect_error(server.ask("/completion", {{"prompt", "a"}}), 400, "invalid_request_error", "\"model\"");
    EXPECT_EQ(server.ask("/api/show", {{"model", "d"}}).json["error"], "model 'd' not found");
    EXPECT_EQ(server.look("/api/tags").json["models"].size(), 3u);
}

TEST(SeveralModels, AreLoadedAndUnloadedOnRequest) {
    PoolServer server({.loads_on_demand = false}, three_models());
    expect_error(server.ask("/completion", short_request("a")), 400, "invalid_request_error", "not loaded");
    EXPECT_EQ(server.ask("/models/load", {{"model", "a"}}).json, (Json{{"success", true}}));
    EXPECT_TRUE(server.becomes("a", "loaded"));
    EXPECT_EQ(server.ask("/completion", short_request("a")).status, 200);
    EXPECT_EQ(server.ask("/models/unload", {{"model", "a"}}).status, 200);
    EXPECT_TRUE(server.becomes("a", "unloaded"));
    expect_error(server.ask("/models/unload", {{"model", "a"}}), 400, "invalid_request_error", "not loaded");
    expect_error(server.ask("/models/load", {{"model", "x"}}), 404, "not_found_error", "not found");
}

TEST(SeveralModels, WaitForOneThatIsAtWork) {
    PoolServer server({.most_loaded = 1}, three_models());
    std::thread busy([&] {
        const Reply reply =
            server.ask("/completion", {{"model", "a"}, {"prompt", "Once"}, {"n_predict", 300}, {"ignore_eos", true}});
        EXPECT_EQ(reply.json["tokens_predicted"], 300) << reply.text;
    });
    EXPECT_TRUE(server.becomes("a", "loaded"));
    EXPECT_EQ(server.ask("/completion", short_request("b")).status, 200);
    busy.join();
    EXPECT_EQ(server.status("a"), "unloaded");
    EXPECT_EQ(server.status("b"), "loaded");
}

TEST(SeveralModels, StayWhereAClientThatWaitedForAnotherLeft) {
    PoolServer server({.most_loaded = 1, .delay = 700ms}, three_models());
    EXPECT_EQ(server.ask("/completion", short_request("a")).status, 200);
    std::thread busy([&] { EXPECT_EQ(server.ask("/completion", short_request("a")).status, 200); });
    std::this_thread::sleep_for(200ms);  // it uses the model that long at least
    httplib::Client hasty("127.0.0.1", server.port());
    hasty.set_read_timeout(0, 100'000);
    EXPECT_FALSE(hasty.Post("/completion", json_text(short_request("b")), "application/json"));
    busy.join();
    std::this_thread::sleep_for(500ms);  // more than it takes to see that nobody waits
    EXPECT_EQ(server.status("a"), "loaded");
    EXPECT_EQ(server.status("b"), "unloaded");
}

TEST(SeveralModels, ShareTheMemoryThatTheyMayTake) {
    uint64_t bytes = 0;
    {
        PoolServer server({}, three_models());
        EXPECT_EQ(server.ask("/completion", short_request("a")).status, 200);
        bytes = server.look("/api/ps").json["models"][0]["size"];
    }
    EXPECT_GT(bytes, 1u << 20);
    std::vector<PoolModel> models = three_models();
    for (PoolModel& model : models) model.bytes = bytes;  // as the sizes of files tell
    PoolServer server({.most_bytes = 2 * bytes + bytes / 2}, std::move(models));
    for (const char* name : {"a", "b", "a", "c"}) EXPECT_EQ(server.ask("/completion", short_request(name)).status, 200);
    EXPECT_EQ(server.status("a"), "loaded");
    EXPECT_EQ(server.status("b"), "unloaded") << "it was used least recently";
    EXPECT_EQ(server.status("c"), "loaded");
    // One that is larger than all that there is has it alone.
    std::vector<PoolModel> large = three_models();
    for (PoolModel& model : large) model.bytes = bytes;
    PoolServer small({.most_bytes = bytes / 2}, std::move(large));
    for (const char* name : {"a", "b"}) EXPECT_EQ(small.ask("/completion", short_request(name)).status, 200);
    EXPECT_EQ(small.status("a"), "unloaded");
    EXPECT_EQ(small.status("b"), "loaded");
}

TEST(SeveralModels, GoAsOllamasClientsSay) {
    PoolServer server({}, three_models());
    Json request = {
        {"model", "a"}, {"prompt", "Once"}, {"stream", false}, {"options", {{"num_predict", 2}}}, {"keep_alive", "1s"}};
    EXPECT_EQ(server.ask("/api/generate", request).status, 200);
    EXPECT_EQ(server.status("a"), "loaded");
    EXPECT_TRUE(server.becomes("a", "unloaded"));
    request["keep_alive"] = -1;
    EXPECT_EQ(server.ask("/api/generate", request).status, 200);
    const Reply gone = server.ask("/api/generate", {{"model", "a"}, {"keep_alive", 0}});
    EXPECT_EQ(gone.json["done_reason"], "unload");
    EXPECT_TRUE(server.becomes("a", "unloaded"));
}

TEST(SeveralModels, TellWhyOneIsNotLoaded) {
    std::vector<PoolModel> models = three_models();
    models[1].open = []() -> Result<std::unique_ptr<ServedModel>> { return fail(ErrorKind::Format, "b.gguf: is odd"); };
    PoolServer server({}, std::move(models));
    expect_error(server.ask("/completion", short_request("b")), 500, "server_error", "b.gguf: is odd");
    EXPECT_EQ(server.ask("/completion", short_request("a")).status, 200);
}

TEST(Sleep, UnloadsAnIdleModelAndWakesIt) {
    std::vector<PoolModel> models;
    models.push_back(storyteller("a"));
    models[0].loads_at_start = true;
    PoolServer server({.is_router = false, .idle_limit = 1s}, std::move(models));
    const auto is_asleep = [&] { return server.look("/props").json["is_sleeping"] == true; };
    EXPECT_EQ(server.ask("/completion", short_request("a")).status, 200);
    EXPECT_FALSE(is_asleep());
    // Looks keep no model awake.
    for (int i = 0; i < 600 && !is_asleep(); ++i) std::this_thread::sleep_for(50ms);
    EXPECT_TRUE(is_asleep());
    EXPECT_EQ(server.look("/health").status, 200);
    EXPECT_EQ(server.look("/models").json["data"][0]["id"], "a");
    EXPECT_TRUE(is_asleep());
    EXPECT_EQ(server.ask("/completion", short_request("a")).status, 200);
    EXPECT_FALSE(is_asleep());
}

// ---- connections
// -----------------------------------------------------------------------------------------------------

std::string over_socket(const std::string& path, const std::string& request) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
    std::string reply;
    if (connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
        EXPECT_EQ(send(socket, request.data(), request.size(), 0), ssize_t(request.size()));
        char bytes[4096];
        for (ssize_t count; (count = recv(socket, bytes, sizeof bytes, 0)) > 0;) reply.append(bytes, size_t(count));
    }
    close(socket);
    return reply;
}

TEST(Addresses, ASocketsFileAndSeveralAtOnePort) {
    const std::string path = temporary("server") + ".sock";
    ServerOptions options;
    options.hosts = {"127.0.0.1", "127.0.0.2", path};
    {
        RunningServer running(1, {}, options);
        EXPECT_EQ(get(running, "/health").status, 200);
        httplib::Client other("127.0.0.2", running.server().port());
        EXPECT_EQ(reply_of(other.Get("/health")).status, 200);
        const std::string reply = over_socket(path, "GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        EXPECT_TRUE(reply.starts_with("HTTP/1.1 200")) << reply;
        options.port = 0;
        options.hosts = {path};
        const auto second = Server::start(options);
        ASSERT_FALSE(second);
        EXPECT_NE(second.error().message.find("somebody listens there"), std::string::npos);
    }
    EXPECT_FALSE(std::filesystem::exists(path));
    std::ofstream(path) << "a file of somebody's";
    const auto refused = Server::start(options);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("is no socket"), std::string::npos);
    std::filesystem::remove(path);
}

// A client that reads nothing of what it asked for: long events, so that few fill what the system keeps for it.
class SilentClient {
public:
    explicit SilentClient(RunningServer& running) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
        const int small = 4096;
        setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(running.server().port());
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
        const std::string body = R"({"prompt":"Once","n_predict":900,"ignore_eos":true,"stream":true,"n_probs":600})";
        const std::string request = fmt::format(
            "POST /completion HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
            body.size(), body);
        EXPECT_EQ(send(socket_, request.data(), request.size(), 0), ssize_t(request.size()));
    }
    ~SilentClient() { leave(); }
    void leave() {
        if (socket_ >= 0) close(std::exchange(socket_, -1));
    }

private:
    int socket_;
};

bool deferred_become(RunningServer& running, uint32_t count) {
    for (int i = 0; i < 1200; ++i) {
        if (running.scheduler().totals().deferred == count) return true;
        std::this_thread::sleep_for(50ms);
    }
    return false;
}

TEST(SlowClients, HoldUpNobody) {
    RunningServer running(1);
    SilentClient silent(running);
    EXPECT_TRUE(deferred_become(running, 1));
    EXPECT_EQ(running.scheduler().totals().processing, 0u);
    EXPECT_LT(running.scheduler().totals().steps, 900u);
    EXPECT_EQ(post(running, "/completion", short_request("")).status, 200);  // in the only slot
    silent.leave();
    EXPECT_TRUE(deferred_become(running, 0));
}

TEST(SlowClients, KeepNoServerFromStopping) {
    auto running = std::make_unique<RunningServer>(1);
    const SilentClient silent(*running);
    EXPECT_TRUE(deferred_become(*running, 1));
    const auto begin = std::chrono::steady_clock::now();
    running.reset();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 30s);
}

}  // namespace features_test
}  // namespace riftjit::server
