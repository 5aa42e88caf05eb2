// read_file, write_file and edit_file.
#include <algorithm>

#include "server/tools/text_edits.h"
#include "server/tools/text_files.h"
#include "server/tools/tool.h"

namespace riftjit::server {

namespace {

constexpr size_t kMostReadText = 64 << 10;

Outcome<Json> read_file(const ToolCall& call) {
    Fields fields(call.parameters);
    const std::string given = required_text(fields, "path");
    LineRange range;
    fields.read("start_line", range.first, 1, INT64_MAX);
    fields.read("end_line", range.last, -1, INT64_MAX);
    fields.read("append_loc", range.has_numbers);
    RIFTJIT_ASK_VOID(fields.check());
    if (range.last == -1) range.last = INT64_MAX;
    RIFTJIT_ASK(path, path_of(call, given));
    if (range.last < range.first)
        return tool_error(fmt::format("end_line {} is before start_line {}", range.last, range.first));
    auto lines = read_lines(path, range, kMostReadText, call.is_wanted);
    if (!lines) return tool_error(lines.error().message);
    if (lines->last == 0 && range.first > 1)
        return tool_error(fmt::format("{}: has {} lines, none of them {}", path, lines->lines_seen, range.first));
    if (lines->is_cut)
        lines->text +=
            fmt::format("{}[cut behind line {}: no more than {} bytes at a time; go on with start_line {}]\n",
                        lines->text.ends_with('\n') ? "" : "\n", lines->last, kMostReadText, lines->last + 1);
    return Json{{"plain_text_response", std::move(lines->text)}};
}

Outcome<Json> write_file(const ToolCall& call) {
    Fields fields(call.parameters);
    const std::string given = required_text(fields, "path"), content = required_text(fields, "content");
    RIFTJIT_ASK_VOID(fields.check());
    RIFTJIT_ASK(path, path_of(call, given));
    if (const auto written = write_text_file(path, content); !written) return tool_error(written.error().message);
    return Json{{"result", "file written successfully"}, {"path", path}, {"bytes", content.size()}};
}

Outcome<std::vector<TextEdit>> read_edits(Fields& fields) {
    const Json* list = fields.array("edits");
    RIFTJIT_ASK_VOID(fields.check());
    if (list == nullptr || list->empty()) return refuse(400, "\"edits\": expected an array with an edit in it");
    std::vector<TextEdit> edits;
    for (const Json& each : *list) {
        const std::string place = fmt::format("edits[{}]", edits.size());
        if (!each.is_object()) return refuse(400, "\"{}\": expected an object", place);
        Fields edit(each, place + ".");
        edits.push_back({required_text(edit, "old_text"), required_text(edit, "new_text")});
        RIFTJIT_ASK_VOID(edit.check());
    }
    return edits;
}

Outcome<Json> edit_file(const ToolCall& call) {
    Fields fields(call.parameters);
    const std::string given = required_text(fields, "path");
    RIFTJIT_ASK(edits, read_edits(fields));
    RIFTJIT_ASK(path, path_of(call, given));
    const auto text = read_text_file(path);
    if (!text) return tool_error(text.error().message);
    const auto edited = apply_edits(*text, edits);
    if (!edited) return tool_error(fmt::format("{}: {}", path, edited.error().message));
    if (const auto written = write_text_file(path, *edited); !written) return tool_error(written.error().message);
    return Json{{"result", "file edited successfully"}, {"path", path}, {"edits_applied", edits.size()}};
}

Tool edit_tool() {
    const Json edit = parameters(
        {{"old_text", parameter("string", "Text as it stands in the file; it must occur there exactly once")},
         {"new_text", parameter("string", "Text to put in its place")}},
        {"old_text", "new_text"});
    return {
        .name = "edit_file",
        .title = "Edit file",
        .writes = true,
        .description =
            "Replace texts in a file. All edits are of the file as it is before the call, must each be "
            "found exactly once, and must not overlap; either all are done or none.",
        .parameters = parameters({{"path", parameter("string", "Path of the file")},
                                  {"edits", {{"type", "array"}, {"description", "What to replace"}, {"items", edit}}}},
                                 {"path", "edits"}),
        .run = edit_file};
}

}  // namespace

std::vector<Tool> file_tools() {
    return {{.name = "read_file",
             .title = "Read file",
             .description = fmt::format("Read a text file, or lines of it; up to {} bytes at a time.", kMostReadText),
             .parameters = parameters({{"path", parameter("string", "Path of the file")},
                                       {"start_line", parameter("integer", "First line, counted from 1 (default 1)")},
                                       {"end_line", parameter("integer", "Last line (default: the file's)")},
                                       {"append_loc", parameter("boolean", "Begin each line with its number")}},
                                      {"path"}),
             .run = read_file},
            {.name = "write_file",
             .title = "Write file",
             .writes = true,
             .description = "Write a text file. One that exists is replaced; folders that are missing are made.",
             .parameters = parameters({{"path", parameter("string", "Path of the file")},
                                       {"content", parameter("string", "The whole text of it")}},
                                      {"path", "content"}),
             .run = write_file},
            edit_tool()};
}

}  // namespace riftjit::server
