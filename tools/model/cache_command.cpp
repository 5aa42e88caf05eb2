#include "tools/model/cache_command.h"

#include <fmt/chrono.h>

#include <charconv>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "host/json_text.h"
#include "jit/cache/cache_admin.h"
#include "jit/cache/disk_cache.h"
#include "tools/cli/options.h"
#include "tools/cli/output.h"
#include "tools/cli/reporter.h"

namespace riftjit::tools {

namespace {

using nlohmann::ordered_json;

struct CacheOptions {
    std::string directory, max_bytes;
    bool json = false;
};

void write_json(const ordered_json& object) { write_output(json_text(object, 2) + "\n"); }

std::string human_bytes(uint64_t bytes) {
    if (bytes < 1024) return fmt::format("{} B", bytes);
    if (bytes < 1024 * 1024) return fmt::format("{:.1f} KiB", double(bytes) / 1024);
    return fmt::format("{:.1f} MiB", double(bytes) / (1024 * 1024));
}

std::string counted(uint64_t count, std::string_view one, std::string_view many) {
    return fmt::format("{} {}", count, count == 1 ? one : many);
}

// Some file systems keep times of years that no calendar has.
std::string utc_minute(int64_t seconds) {
    const std::time_t time = seconds;
    std::tm parts{};
    return gmtime_r(&time, &parts) == nullptr ? "out of range" : fmt::format("{:%Y-%m-%d %H:%M}", parts);
}

Result<int> show_totals(const CacheOptions& options) {
    RIFTJIT_TRY(admin, CacheAdmin::open(options.directory));
    RIFTJIT_TRY(totals, admin.totals());
    if (options.json) {
        ordered_json targets = ordered_json::object();
        for (const auto& [target, count] : totals.by_target)
            targets[target] = {{"entries", count.files}, {"bytes", count.bytes}};
        write_json(
            ordered_json{{"directory", admin.directory().string()},
                         {"entries", totals.entries.files},
                         {"bytes", totals.entries.bytes},
                         {"targets", std::move(targets)},
                         {"temporaries", {{"files", totals.temporaries.files}, {"bytes", totals.temporaries.bytes}}},
                         {"other_files", totals.other_files}});
        return kExitDone;
    }
    std::string text = fmt::format("directory    {}\nentries      {} ({})\n", one_line(admin.directory().string()),
                                   totals.entries.files, human_bytes(totals.entries.bytes));
    for (const auto& [target, count] : totals.by_target)
        text += fmt::format("  {:<20} {:>8}  {:>12}\n", target, count.files, human_bytes(count.bytes));
    text += fmt::format("temporaries  {} ({})\nother files  {}\n", totals.temporaries.files,
                        human_bytes(totals.temporaries.bytes), totals.other_files);
    write_output(text);
    return kExitDone;
}

Result<int> list_entries(const CacheOptions& options) {
    RIFTJIT_TRY(admin, CacheAdmin::open(options.directory));
    RIFTJIT_TRY(listings, admin.list());
    if (options.json) {
        ordered_json entries = ordered_json::array();
        for (const CacheListing& entry : listings)
            entries.push_back({{"kernel", entry.kernel},
                               {"target", entry.target},
                               {"key", entry.key},
                               {"bytes", entry.bytes},
                               {"last_used", entry.modified_s},
                               {"problem", entry.problem}});
        write_json(entries);
        return kExitDone;
    }
    std::string text =
        fmt::format("{:<32}  {:<20} {:>9}  {:<16}  {}\n", "KEY", "TARGET", "BYTES", "LAST USED (UTC)", "KERNEL");
    for (const CacheListing& entry : listings)
        text +=
            fmt::format("{:<32}  {:<20} {:>9}  {:<16}  {}\n", entry.key, entry.target, entry.bytes,
                        utc_minute(entry.modified_s), entry.problem.empty() ? entry.kernel : "(" + entry.problem + ")");
    write_output(text);
    return kExitDone;
}

ordered_json to_json(const std::vector<BadEntry>& bad) {
    ordered_json list = ordered_json::array();
    for (const BadEntry& entry : bad)
        list.push_back({{"file", entry.file}, {"reason", entry.reason}, {"text", entry.text}});
    return list;
}

Result<int> verify_entries(const CacheOptions& options) {
    RIFTJIT_TRY(admin, CacheAdmin::open(options.directory));
    RIFTJIT_TRY(verdict, admin.verify());
    if (options.json) {
        write_json(ordered_json{{"sound", verdict.sound}, {"bad", to_json(verdict.bad)}});
    } else {
        std::string text;
        for (const BadEntry& entry : verdict.bad)
            text += fmt::format("{}: {}: {}\n", one_line(entry.file), entry.reason, one_line(entry.text));
        write_output(text + fmt::format("{} sound, {} bad\n", verdict.sound, verdict.bad.size()));
    }
    return verdict.bad.empty() ? kExitDone : kExitError;
}

int show_removed(const CacheOptions& options, const Removed& removed) {
    if (options.json)
        write_json(ordered_json{{"removed_files", removed.files}, {"removed_bytes", removed.bytes}});
    else
        write_output(
            fmt::format("removed {} ({})\n", counted(removed.files, "file", "files"), human_bytes(removed.bytes)));
    return kExitDone;
}

Result<int> prune_entries(const CacheOptions& options) {
    uint64_t max_bytes = kCacheCapBytes;
    if (!options.max_bytes.empty()) {
        RIFTJIT_TRY(given, parse_bytes("--max-bytes", options.max_bytes));
        max_bytes = given;
    }
    RIFTJIT_TRY(admin, CacheAdmin::open(options.directory));
    RIFTJIT_TRY(removed, admin.prune(max_bytes));
    return show_removed(options, removed);
}

Result<int> clear_entries(const CacheOptions& options) {
    RIFTJIT_TRY(admin, CacheAdmin::open(options.directory));
    RIFTJIT_TRY(removed, admin.clear());
    return show_removed(options, removed);
}

struct Subcommand {
    const char *name, *help;
    Result<int> (*run)(const CacheOptions&);
};
constexpr Subcommand kSubcommands[] = {
    {"stat", "Count entries and bytes, by target", show_totals},
    {"ls", "List entries: key, target, size, last use, kernel", list_entries},
    {"verify", "Read and check every entry; exit 1 if one is bad", verify_entries},
    {"prune", "Remove the least recently used entries above a size", prune_entries},
    {"clear", "Remove all entries and temporary files", clear_entries},
};

constexpr const char* kCacheExamples =
    "Examples:\n"
    "  riftjit cache stat                           how much is kept, and where\n"
    "  riftjit cache verify --json                  for CI: exit 1 and the reasons if an entry is bad\n"
    "  riftjit cache prune --max-bytes 100M         keep the most recently used 100 MiB";

}  // namespace

Result<uint64_t> parse_bytes(std::string_view flag, std::string_view text) {
    constexpr std::string_view kUnits = "KMGT";
    double value = 0;
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
    const std::string_view unit(rest, size_t(end - rest));
    const size_t power = unit.empty() ? 0 : kUnits.find(unit[0]) + 1;
    const bool is_understood = error == std::errc{} && unit.size() <= 1 && (unit.empty() || power > 0) && value >= 0;
    for (size_t i = 0; i < power; ++i) value *= 1024;
    if (!is_understood || !(value < 9e18))
        return fail(ErrorKind::Usage, "{}: expected a size such as 4096, 64K, 100M or 2G, got \"{}\"", flag, text);
    return uint64_t(value);
}

void add_cache_command(CLI::App& app, Command& chosen) {
    CLI::App* cache = app.add_subcommand("cache", "Look after the cache of generated code");
    cache->footer(kCacheExamples);
    cache->require_subcommand(1);
    const auto options = std::make_shared<CacheOptions>();
    for (const Subcommand& subcommand : kSubcommands) {
        CLI::App* command = cache->add_subcommand(subcommand.name, subcommand.help);
        command
            ->add_option("--cache-dir", options->directory,
                         "Cache directory (default: $RIFTJIT_CACHE_DIR, $XDG_CACHE_HOME/riftjit, ~/.cache/riftjit)")
            ->check(file_name());
        command->add_flag("--json", options->json, "Print JSON");
        if (subcommand.run == prune_entries)
            command->add_option("--max-bytes", options->max_bytes, "What may stay: 4096, 64K, 100M, 2G (default: 1G)");
        on_chosen(*command, chosen, [options, run = subcommand.run] {
            const Result<int> code = run(*options);
            return code ? *code : report(code.error());
        });
    }
}

}  // namespace riftjit::tools
