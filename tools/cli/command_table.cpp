#include "tools/cli/command_table.h"

#include <algorithm>

#include "jit/isa.h"
#include "jit/rdna/table/target.h"
#include "sim/network/description.h"
#include "tools/cli/arguments.h"
#include "tools/cli/options.h"
#include "tools/rdna/emulate_command.h"

namespace riftjit::tools {

namespace {

// Values that are too many to be listed in place of a name in --help.
std::vector<std::string> named_values(const std::string& value) {
    if (value == "GFX") return split(rdna::target_names(), ',');
    if (value == "TARGET" || value == "TARGETS") return split(rdna::target_names() + "," + isa_names(), ',');
    if (value == "DEVICE") {
        std::vector<std::string> devices = {"cpu", "hip"};
        for (const rdna::TargetInfo& chip : rdna::all_targets())
            devices.push_back(fmt::format("emulate:{}", chip.name));
        return devices;
    }
    if (value == "ISA") return split(isa_names(), ',');
    if (value == "ISAS") return split("all," + isa_names(), ',');
    if (value == "CHECKS") return split("all,none," + check_names(), ',');
    return {};
}

CommandEntry::Flag describe(const CLI::Option& option) {
    CommandEntry::Flag flag;
    for (const std::string& name : option.get_snames()) flag.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) {
        for (const std::string_view spelling : dash_spellings("--" + name)) flag.names.emplace_back(spelling);
    }
    for (const std::string& name : option.get_lnames()) flag.names.push_back("--" + name);
    if (option.get_type_size() != 0) flag.value = option.get_type_name();
    const auto choices = split(flag.value, '|');
    const bool is_list =
        choices.size() > 1 && std::none_of(choices.begin(), choices.end(),
                                           [](const std::string& choice) { return choice.empty() || choice == "N"; });
    flag.values = is_list ? choices : named_values(flag.value);
    for (std::string& each : flag.values) each.erase(0, each.find_first_not_of(' '));
    flag.takes_list = flag.value == "CHECKS" || flag.value == "ISAS" || flag.value == "TARGETS";
    flag.help = option.get_description();
    const size_t colon = flag.help.find(": ");
    const bool repeats_name =
        colon != std::string::npos && flag.help.starts_with('-') &&
        std::find(flag.names.begin(), flag.names.end(), flag.help.substr(0, colon)) != flag.names.end();
    if (repeats_name) flag.help.erase(0, colon + 2);
    flag.initial = option.get_default_str();
    flag.group = option.get_group();
    return flag;
}

void add(const CLI::App& app, const std::string& name, std::vector<CommandEntry>& table) {
    CommandEntry entry{.name = name, .help = app.get_description(), .footer = app.get_footer()};
    for (const CLI::Option* option : app.get_options()) {
        if (!option->get_group().empty() && !option->get_lnames().empty()) entry.flags.push_back(describe(*option));
    }
    entry.takes_kernel = app.get_option_no_throw("KERNEL") != nullptr;
    if (app.get_option_no_throw("network") != nullptr) {
        entry.operands = sim::builtin_network_names();
        entry.operand_ending = ".toml";
    }
    const auto visible = app.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
    for (const CLI::App* command : visible) entry.subcommands.push_back(command->get_name());
    table.push_back(std::move(entry));
    for (const CLI::App* command : visible)
        add(*command, name.empty() ? command->get_name() : name + " " + command->get_name(), table);
}

}  // namespace

std::vector<CommandEntry> command_table(const CLI::App& app) {
    std::vector<CommandEntry> table;
    add(app, "", table);
    return table;
}

}  // namespace riftjit::tools
