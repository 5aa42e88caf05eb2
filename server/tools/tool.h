// Tools that the server itself runs where its operator allowed them: what a model may call, and how.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "server/errors.h"
#include "server/fields.h"

namespace riftjit::server {

struct ToolCall {
    const Json& parameters;           // an object
    std::string folder;               // absolute: where relative paths begin
    std::function<bool()> is_wanted;  // false: nobody waits for what comes of it
    // Takes output as it comes; false: nobody waits any more. Null: all of it belongs in the result.
    std::function<bool(std::string_view)> say;
};

struct Tool {
    std::string name;
    std::string title;            // for people
    std::string kind = "server";  // or "mcp"
    bool writes = false;          // changes files, or runs programs that may
    bool streams = false;         // says what comes as it comes
    std::string description;      // for models, as are the parameters: a JSON schema of an object
    Json parameters;
    // What the model reads: {"plain_text_response": text}, {"result", ...}, or {"error": line} where the tool could not
    // do it. Fails, with a status of HTTP, where the call itself is wrong.
    std::function<Outcome<Json>(const ToolCall&)> run;
};

// All that come with the program, in the order in which they are listed.
std::vector<Tool> file_tools();    // read_file, write_file, edit_file
std::vector<Tool> search_tools();  // file_glob_search, grep_search
std::vector<Tool> system_tools();  // exec_shell_command, get_info
std::vector<Tool> builtin_tools();

// The text of a member that has to be there.
std::string required_text(Fields& fields, const char* name);
// An absolute path of a file that a call names. Fails where it is empty or has a NUL byte.
Outcome<std::string> path_of(const ToolCall& call, const std::string& given);

// {"error": line}
Json tool_error(const std::string& line);

// A parameter of a schema.
Json parameter(const char* type, std::string description);
Json parameters(Json properties, std::vector<std::string> required);

}  // namespace riftjit::server
