// GET and POST /tools.
#include <algorithm>
#include <filesystem>

#include "host/json_text.h"
#include "server/agent_api.h"
#include "server/answers.h"
#include "server/apis.h"

namespace riftjit::server {

namespace {

Json tool_json(const Tool& tool) {
    return {
        {"display_name", tool.title},
        {"tool", tool.name},
        {"type", tool.kind},
        {"permissions", {{"write", tool.writes}}},
        {"supports_stream", tool.streams},
        {"definition",
         {{"type", "function"},
          {"function", {{"name", tool.name}, {"description", tool.description}, {"parameters", tool.parameters}}}}}};
}

// llama-server runs tools in containers and on other machines. Here they run on this one, which a request that asks for
// another must not be answered with; what it names wrong is told in that server's words and with its status.
ApiError refused_runtime(const std::string& given) {
    const size_t colon = given.find(':');
    const std::string scheme = given.substr(0, colon), target = colon == given.npos ? "" : given.substr(colon + 1);
    const auto is_plain = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
    };
    const bool is_option = target.empty() || target[0] == '-';
    if (scheme == "ssh")
        return is_option || target.find_first_of(" \t") != target.npos
                   ? ApiError{500, "invalid ssh target"}
                   : ApiError{501, "X-Tool-Runtime: tools run on the server's own machine alone"};
    if (scheme == "docker-container" || scheme == "podman-container")
        return is_option || !std::ranges::all_of(target, [&](char c) { return is_plain(c) || c == '-'; })
                   ? ApiError{500, "invalid container id"}
                   : ApiError{501, "X-Tool-Runtime: tools run on the server's own machine alone"};
    return {500, "unknown tool runtime"};
}

// Where relative paths begin: X-Tool-Cwd, or the folder in which the server was started.
Outcome<std::string> folder_of_call(const HttpRequest& request) {
    std::error_code error;
    const std::filesystem::path here = std::filesystem::current_path(error);
    if (error) return refuse(500, "the folder in which the server was started is gone");
    const std::string* given = request.header("x-tool-cwd");
    const std::string folder = given == nullptr ? here.string() : (here / *given).lexically_normal().string();
    if (!std::filesystem::is_directory(folder, error)) return refuse(400, "X-Tool-Cwd: there is no folder {}", folder);
    return folder;
}

struct ReadCall {
    const Tool* tool = nullptr;
    Json parameters;
    std::string folder;
    bool streams = false;
};

Outcome<ReadCall> read_call(const Toolbox& toolbox, const HttpRequest& request) {
    RIFTJIT_ASK(body, parse_body(request.body));
    Fields fields(body);
    const std::string name = required_text(fields, "tool");
    const Json* parameters = fields.object("params");
    ReadCall call;
    fields.read("stream", call.streams);
    RIFTJIT_ASK_VOID(fields.check());
    call.tool = toolbox.find(name);
    if (call.tool == nullptr) return refuse(404, "unknown tool \"{}\"", name.substr(0, 200));
    if (call.streams && !call.tool->streams) return refuse(404, "tool \"{}\" does not support stream = true", name);
    if (const std::string* runtime = request.header("x-tool-runtime"))
        return std::unexpected(refused_runtime(*runtime));
    call.parameters = parameters == nullptr ? Json::object() : *parameters;
    RIFTJIT_ASK(folder, folder_of_call(request));
    call.folder = std::move(folder);
    return call;
}

void run_streamed(const Toolbox& toolbox, const ReadCall& call, HttpWriter& writer) {
    const auto say = [&](std::string_view part) { return writer.write(server_event({{"chunk", part}})); };
    const auto is_wanted = [&] { return writer.is_open() && !toolbox.is_stopping(); };
    const auto result = call.tool->run({call.parameters, call.folder, is_wanted, say});
    Json end = {{"done", true}};
    if (!result)
        end["error"] = result.error().message;
    else if (const auto error = result->find("error"); error != result->end())
        end["error"] = *error;
    writer.write(server_event(end));
}

}  // namespace

HttpReply list_tools(const Toolbox& toolbox) {
    Json list = Json::array();
    for (const Tool& tool : toolbox.tools()) list.push_back(tool_json(tool));
    return json_reply(list);
}

HttpReply call_tool(const std::shared_ptr<Toolbox>& toolbox, const HttpRequest& request) {
    auto call = read_call(*toolbox, request);
    if (!call) return error_reply(call.error());
    if (call->streams) {
        HttpReply reply;
        reply.type = "text/event-stream";
        reply.headers = {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}};
        reply.stream = [toolbox, call = std::move(*call)](HttpWriter& writer) { run_streamed(*toolbox, call, writer); };
        return reply;
    }
    const auto is_wanted = [&] { return !request.is_abandoned() && !toolbox->is_stopping(); };
    return reply_of(call->tool->run({call->parameters, call->folder, is_wanted, nullptr}));
}

}  // namespace riftjit::server
