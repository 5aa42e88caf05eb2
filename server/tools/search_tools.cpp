// file_glob_search and grep_search.
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "host/utf8.h"
#include "server/tools/glob.h"
#include "server/tools/line_pattern.h"
#include "server/tools/text_files.h"
#include "server/tools/tool.h"
#include "server/tools/walk.h"

namespace riftjit::server {

namespace {

constexpr int64_t kMostFound = 100, kMostContext = 20;
constexpr size_t kMostShownLine = 400, kMostGrepText = 64 << 10;
constexpr std::chrono::seconds kMostGrepTime{20};

constexpr const char* kPatternsText =
    " Patterns: *, ?, [a-z], {a,b} and ** for any folders; one without / is of names at any depth. Folders that "
    "programs "
    "make (.git, node_modules, build, ...) are not gone into.";

// "include" and "exclude".
struct PathFilter {
    std::optional<Glob> included, excluded;
    bool takes(std::string_view path) const {
        return (!included || included->matches(path)) && (!excluded || !excluded->matches(path));
    }
};

Outcome<PathFilter> read_filter(Fields& fields) {
    PathFilter filter;
    for (const auto& [name, target] : {std::pair{"include", &filter.included}, {"exclude", &filter.excluded}}) {
        const std::string pattern = fields.text(name).value_or("");
        if (pattern.empty()) continue;
        auto glob = Glob::parse(pattern);
        if (!glob) return refuse(400, "\"{}\": {}", name, glob.error().message);
        *target = std::move(*glob);
    }
    return filter;
}

std::string walk_note(const Walk& walk) {
    return walk.is_cut ? "[there is more: not all folders could be read, or not in time]\n" : "";
}

Outcome<Json> glob_search(const ToolCall& call) {
    Fields fields(call.parameters);
    const std::string given = required_text(fields, "path"), type = fields.text("type").value_or("file");
    RIFTJIT_ASK(filter, read_filter(fields));
    const int64_t levels = fields.integer("max_depth", 0, INT32_MAX).value_or(0);
    const int64_t limit = std::min(kMostFound, fields.integer("limit", 1, INT32_MAX).value_or(kMostFound));
    RIFTJIT_ASK_VOID(fields.check());
    if (type != "file" && type != "dir" && type != "all")
        return tool_error(fmt::format("invalid type: {} (expected file, dir or all)", type));
    RIFTJIT_ASK(base, path_of(call, given));
    const auto walk = walk_folder(base, levels, call.is_wanted);
    if (!walk) return tool_error(walk.error().message);
    std::string text;
    Json entries = Json::array();
    size_t total = 0;
    for (const WalkEntry& entry : walk->entries) {
        const bool is_of_type = type == "all" || (type == "dir") == entry.is_folder;
        if (!is_of_type || !filter.takes(entry.path) || ++total > size_t(limit)) continue;
        text += entry.path + (entry.is_folder ? "/\n" : "\n");
        entries.push_back({{"path", entry.path}, {"type", entry.is_folder ? "dir" : "file"}});
    }
    text += fmt::format("\n---\nTotal matches: {}\n", total);
    if (total > size_t(limit)) text += fmt::format("[the first {} of them; a narrower pattern shows others]\n", limit);
    text += walk_note(*walk);
    return Json{{"plain_text_response", std::move(text)}, {"entries", std::move(entries)}, {"base", base}};
}

struct GrepFile {
    std::string path, shown;
};

struct GrepOptions {
    PathFilter filter;
    bool has_numbers = false;
    int64_t context = 0;
};

class Grep {
public:
    Grep(LinePattern pattern, GrepOptions options) : pattern_(std::move(pattern)), options_(std::move(options)) {}

    // False: nothing more is to be looked at. Fails where the expression does.
    Result<bool> look_into(const GrepFile& file) {
        const auto text = read_text_file(file.path);
        if (!text) return ++skipped_, true;
        std::vector<std::string_view> lines;
        for (std::string_view rest = *text; !rest.empty();) {
            const size_t end = std::min(rest.find('\n'), rest.size());
            lines.push_back(rest.substr(0, end));
            rest.remove_prefix(std::min(rest.size(), end + 1));
        }
        for (size_t i = 0; i < lines.size(); ++i) {
            RIFTJIT_TRY(is_in, pattern_.is_in(lines[i]));
            if (!is_in) continue;
            if (total_ == size_t(kMostFound) || text_.size() > kMostGrepText) return is_cut_ = true, false;
            ++total_;
            show(file.shown, lines, i);
        }
        return true;
    }
    std::string report(bool is_late) {
        text_ += fmt::format("\n---\nTotal matches: {}\n", total_);
        if (is_cut_) text_ += "[there are more; a narrower path or pattern shows others]\n";
        if (is_late) text_ += fmt::format("[not all files were looked at: {} s are over]\n", kMostGrepTime.count());
        if (skipped_ > 0) text_ += fmt::format("[{} files are no text, too long, or may not be read]\n", skipped_);
        return std::move(text_);
    }

private:
    void show(const std::string& name, const std::vector<std::string_view>& lines, size_t found) {
        const auto context = size_t(options_.context);
        const size_t begin = found - std::min(found, context), end = std::min(lines.size(), found + context + 1);
        for (size_t i = begin; i < end; ++i) {
            const char mark = i == found ? ':' : '-';
            std::string_view line = lines[i];
            const bool is_long = line.size() > kMostShownLine;
            if (is_long) line = line.substr(0, kMostShownLine);
            text_ += name + mark;
            if (options_.has_numbers || context > 0) text_ += fmt::format("{}{}", i + 1, mark);
            text_ += replace_invalid(line) + (is_long ? "...\n" : "\n");
        }
        if (context > 0) text_ += "--\n";
    }

    LinePattern pattern_;
    const GrepOptions options_;
    std::string text_;
    size_t total_ = 0, skipped_ = 0;
    bool is_cut_ = false;
};

// One file, or those of a folder that the filter takes.
Result<std::vector<GrepFile>> files_to_grep(const std::string& path, const std::string& given, const PathFilter& filter,
                                            const std::function<bool()>& is_wanted) {
    std::error_code error;
    if (!std::filesystem::exists(path, error)) return fail(ErrorKind::Io, "{}: there is none", path);
    if (!std::filesystem::is_directory(path, error)) {
        RIFTJIT_TRY_VOID(read_text_file(path));  // says what is wrong with it
        return std::vector<GrepFile>{{path, given}};
    }
    RIFTJIT_TRY(walk, walk_folder(path, 0, is_wanted));
    std::vector<GrepFile> files;
    for (const WalkEntry& entry : walk.entries)
        if (!entry.is_folder && filter.takes(entry.path))
            files.push_back({(std::filesystem::path(path) / entry.path).string(), entry.path});
    return files;
}

Outcome<Json> grep_search(const ToolCall& call) {
    Fields fields(call.parameters);
    const std::string given = required_text(fields, "path"), wanted = required_text(fields, "pattern");
    GrepOptions options;
    RIFTJIT_ASK(filter, read_filter(fields));
    options.filter = std::move(filter);
    bool is_literal = false, ignores_case = false;
    fields.read("return_line_numbers", options.has_numbers);
    fields.read("literal", is_literal);
    fields.read("ignore_case", ignores_case);
    options.context = std::min(kMostContext, fields.integer("context_lines", 0, INT32_MAX).value_or(0));
    RIFTJIT_ASK_VOID(fields.check());
    RIFTJIT_ASK(path, path_of(call, given));
    auto pattern =
        LinePattern::compile(wanted, is_literal ? LinePattern::Syntax::text : LinePattern::Syntax::expression,
                             ignores_case ? LinePattern::Case::does_not : LinePattern::Case::matters);
    if (!pattern) return tool_error(pattern.error().message);
    const auto files = files_to_grep(path, given, options.filter, call.is_wanted);
    if (!files) return tool_error(files.error().message);
    Grep grep(std::move(*pattern), std::move(options));
    const auto until = std::chrono::steady_clock::now() + kMostGrepTime;
    bool is_late = false;
    for (const GrepFile& file : *files) {
        is_late = std::chrono::steady_clock::now() >= until || (call.is_wanted && !call.is_wanted());
        if (is_late) break;
        const auto goes_on = grep.look_into(file);
        if (!goes_on) return tool_error(goes_on.error().message);
        if (!*goes_on) break;
    }
    return Json{{"plain_text_response", grep.report(is_late)}};
}

}  // namespace

std::vector<Tool> search_tools() {
    const Json include = parameter("string", "Pattern of paths to take (default: all)"),
               exclude = parameter("string", "Pattern of paths to leave out");
    return {
        {.name = "file_glob_search",
         .title = "Find files",
         .description =
             std::string("List files below a folder, and folders, by a pattern of their paths.") + kPatternsText,
         .parameters = parameters(
             {{"path", parameter("string", "Folder to look in")},
              {"include", include},
              {"exclude", exclude},
              {"type", parameter("string", "What to list: file (default), dir or all")},
              {"max_depth", parameter("integer", "Levels of folders to look in, 1: the folder alone (default 0: all)")},
              {"limit", parameter("integer", fmt::format("Most results, up to {} (default)", kMostFound))}},
             {"path"}),
         .run = glob_search},
        {.name = "grep_search",
         .title = "Search in files",
         .description =
             std::string("List lines that hold a pattern, in a file or in the files below a folder.") + kPatternsText,
         .parameters = parameters(
             {{"path", parameter("string", "File or folder to look in")},
              {"pattern", parameter("string", "Regular expression (PCRE), or text where literal is true")},
              {"include", include},
              {"exclude", exclude},
              {"return_line_numbers", parameter("boolean", "Show the numbers of lines")},
              {"literal", parameter("boolean", "The pattern is a text and no expression")},
              {"ignore_case", parameter("boolean", "Capital letters and small ones are the same")},
              {"context_lines", parameter("integer", "Lines to show before and behind each that was found")}},
             {"path", "pattern"}),
         .run = grep_search}};
}

}  // namespace riftjit::server
