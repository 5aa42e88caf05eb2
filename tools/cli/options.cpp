#include "tools/cli/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "jit/formats/cache_format.h"

namespace riftjit::tools {

namespace {

std::string last_name(const std::string& names) { return names.substr(names.rfind(',') + 1); }

}  // namespace

[[noreturn]] void refuse(const std::string& flag, const std::string& why) {
    throw CLI::ValidationError(fmt::format("error while handling argument \"{}\": {}", flag, why),
                               CLI::ExitCodes::ValidationError);
}

std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts;
    for (size_t begin = 0; begin <= text.size();) {
        const size_t end = std::min(text.find(separator, begin), text.size());
        parts.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return parts;
}

uint64_t parse_count(const std::string& flag, const std::string& text, uint64_t high) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
    const std::string_view suffix(end, static_cast<size_t>(text.data() + text.size() - end));
    const double factor = suffix.empty()                   ? 1
                          : suffix == "k" || suffix == "K" ? 1e3
                          : suffix == "M"                  ? 1e6
                          : suffix == "G"                  ? 1e9
                                                           : 0;
    if (error != std::errc() || factor == 0 || value * factor != std::floor(value * factor))
        refuse(flag,
               fmt::format("expected a whole number, with k, M or G for thousands, millions or billions, got \"{}\"",
                           text));
    if (value * factor < 1 || value * factor > static_cast<double>(high))
        refuse(flag, fmt::format("{} is out of range, expected 1 to {}", text, high));
    return static_cast<uint64_t>(value * factor);
}

uint64_t parse_unsigned(const std::string& flag, const std::string& text) {
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
        refuse(flag, fmt::format("expected a whole number from 0 to 2^64 - 1, got \"{}\"", text));
    return value;
}

int64_t parse_integer(const std::string& flag, const std::string& text, int64_t low, int64_t high) {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc::result_out_of_range ||
        (error == std::errc{} && end == text.data() + text.size() && (value < low || value > high)))
        refuse(flag, fmt::format("{} is out of range, expected an integer from {} to {}", text, low, high));
    if (error != std::errc{} || end != text.data() + text.size())
        refuse(flag, fmt::format("expected an integer, got \"{}\"", text));
    return value;
}

double parse_number(const std::string& flag, const std::string& text, double low, double high) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc::invalid_argument || end != text.data() + text.size())
        refuse(flag, fmt::format("expected a number, got \"{}\"", text));
    if (error != std::errc{} || !std::isfinite(value) || value < low || value > high)
        refuse(flag, fmt::format("{} is out of range, expected a number from {} to {}", text, low, high));
    return value;
}

CLI::Option* add_integer(CLI::App& app, const std::string& names, int64_t& target, int64_t low, int64_t high,
                         const std::string& help) {
    const std::string flag = last_name(names);
    return app
        .add_option_function<std::string>(
            names,
            [&target, flag, low, high](const std::string& text) { target = parse_integer(flag, text, low, high); },
            help)
        ->type_name("N")
        ->default_str(std::to_string(target));
}

CLI::Option* add_number(CLI::App& app, const std::string& names, double& target, double low, double high,
                        const std::string& help) {
    const std::string flag = last_name(names);
    return app
        .add_option_function<std::string>(
            names,
            [&target, flag, low, high](const std::string& text) { target = parse_number(flag, text, low, high); }, help)
        ->type_name("X")
        ->default_str(fmt::format("{}", target));
}

std::vector<std::string> cache_type_list() {
    std::vector<std::string> names;
    for (const DType type : kCacheTypes) names.emplace_back(name(type));
    return names;
}

CLI::Option* add_choice(CLI::App& app, const std::string& names, std::string& target, std::vector<std::string> allowed,
                        const std::string& help) {
    const std::string flag = last_name(names);
    return app
        .add_option_function<std::string>(
            names,
            [&target, flag, allowed](const std::string& text) {
                if (std::find(allowed.begin(), allowed.end(), text) == allowed.end())
                    refuse(flag,
                           fmt::format("\"{}\" is not known, expected one of {}", text, fmt::join(allowed, ", ")));
                target = text;
            },
            help)
        ->type_name(fmt::format("{}", fmt::join(allowed, "|")))
        ->default_str(target);
}

CLI::Validator file_name() {
    return CLI::Validator([](const std::string& text) { return text.empty() ? "expected a name, got \"\"" : ""; }, "");
}

void let_last_count(CLI::App& command) {
    for (CLI::Option* option : command.get_options()) {
        const bool has_one_value = option->get_items_expected_max() == 1;
        if (has_one_value && option->get_multi_option_policy() == CLI::MultiOptionPolicy::Throw)
            option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    }
}

std::vector<std::string> given_repeatedly(const CLI::App& command) {
    std::vector<std::string> warnings;
    for (const CLI::Option* option : command.get_options()) {
        const bool is_single = option->get_items_expected_max() == 1 &&
                               option->get_multi_option_policy() == CLI::MultiOptionPolicy::TakeLast;
        if (is_single && option->count() > 1)
            warnings.push_back(
                fmt::format("{} is given {} times; the last one counts", option->get_name(), option->count()));
    }
    return warnings;
}

namespace {

const std::vector<std::string> kCacheModes = {"rw", "ro", "off", "require"};

}  // namespace

Result<std::string> cache_mode_of_environment() {
    const char* text = std::getenv("RIFTJIT_CACHE");
    if (text == nullptr || *text == '\0') return "rw";
    if (std::ranges::find(kCacheModes, text) != kCacheModes.end()) return text;
    return fail(ErrorKind::Usage, "RIFTJIT_CACHE: \"{}\" is not known, expected one of {}", text,
                fmt::join(kCacheModes, ", "));
}

void add_machine_choice(CLI::App& app, const std::string& group, MachineChoice& choice) {
    const auto mode = cache_mode_of_environment();
    choice.cache_mode = mode.value_or("rw");
    if (!mode)  // once this command is chosen: others need no cache
        app.parse_complete_callback(
            [why = mode.error().message] { throw CLI::ValidationError(why, CLI::ExitCodes::ValidationError); });
    app.add_option_function<std::string>(
           "--max-isa",
           [&choice](const std::string& level) {
               choice.max_isa = isa_from_name(level);
               if (!choice.max_isa)
                   refuse("--max-isa", fmt::format("\"{}\" is not known, expected one of {}", level, isa_names()));
           },
           "take the strongest level up to this one (RIFTJIT_ISA, default: the fastest here): " + isa_names())
        ->type_name("ISA")
        ->group(group);
    app.add_option("--cache-dir", choice.cache_directory,
                   "where kernels are kept (RIFTJIT_CACHE_DIR, default: ~/.cache/riftjit)")
        ->type_name("DIR")
        ->check(file_name())
        ->group(group);
    add_choice(app, "--cache-mode", choice.cache_mode, kCacheModes,
               "require: exit 4 rather than generate a kernel (RIFTJIT_CACHE)")
        ->default_str("rw")
        ->group(group);
}

void add_kernel_choice(CLI::App& app, const std::string& group, KernelChoice& choice) {
    add_machine_choice(app, group, choice);
    add_choice(app, "--activations", choice.activations, {"i13", "i8"},
               "what quantised weights are multiplied by: codes of 13 bits (the results of every device and level) or, "
               "with more noise and less work, of 8")
        ->group(group);
    app.add_flag("--no-tune", choice.leaves_levels_untried,
                 "read prompts at the usual level, where others give the same bits and might be faster on this machine "
                 "(RIFTJIT_TUNE=off)")
        ->group(group);
    app.add_option("--passes", choice.passes, "graph passes: all, none, NAME,NAME or -NAME,-NAME")
        ->type_name("LIST")
        ->capture_default_str()
        ->group(group);
}

}  // namespace riftjit::tools
