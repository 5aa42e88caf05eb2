#include "tools/cli/device_options.h"

#include "tools/cli/options.h"

namespace riftjit::tools {

void add_device_option(CLI::App& app, const std::string& group, engine::DeviceChoice& choice) {
    CLI::Option* option = app.add_option_function<std::string>(
                                 "--device",
                                 [&choice](const std::string& text) {
                                     const auto parsed = engine::parse_device(text);
                                     if (!parsed) refuse("--device", parsed.error().message);
                                     const auto checks = choice.checks;  // a flag of its own, in any order
                                     choice = *parsed;
                                     choice.checks = checks;
                                 },
                                 "-dev: what the model runs on: the processor, a GPU through HIP, or the software "
                                 "machine in place of a GPU: "
                                 "cpu, hip, hip:N or emulate:TARGET; see riftjit devices")
                              ->type_name("DEVICE")
                              ->default_str("cpu");
    if (!group.empty()) option->group(group);
}

void add_check_option(CLI::App& app, const std::string& group, engine::DeviceChoice& choice) {
    CLI::Option* option =
        app.add_option_function<std::string>(
               "--check",
               [&choice](const std::string& text) {
                   if (text != "all" && text != "none")
                       refuse("--check", fmt::format("\"{}\" is not known, expected one of all, none", text));
                   choice.checks = text == "all" ? runtime::MachineChecks::all : runtime::MachineChecks::none;
               },
               "of --device emulate: a finding ends the run; none is some ten times as fast, and takes -t threads")
            ->type_name("all|none")
            ->default_str("all");
    if (!group.empty()) option->group(group);
}

Result<void> check_device_flags(const CLI::App& app, const engine::DeviceChoice& choice) {
    if (app.count("--check") != 0 && choice.kind != engine::DeviceChoice::Kind::emulate)
        return fail(ErrorKind::Usage, "--check changes nothing with --device {}, only with emulate:TARGET",
                    engine::name(choice));
    return {};
}

Target parse_target(const std::string& flag, const std::string& text) {
    if (const auto isa = isa_from_name(text)) return *isa;
    if (const auto target = target_from_name(text);
        target && (target->architecture == Architecture::x86_64 || rdna::target_from_name(text)))
        return *target;
    refuse(flag, fmt::format("\"{}\" is not known, expected one of {} or {}", text, rdna::target_names(), isa_names()));
}

}  // namespace riftjit::tools
