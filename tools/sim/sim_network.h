// `riftjit sim NETWORK`: a network file, or one of the networks that come with the program.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/cli/options.h"
#include "tools/cli/reporter.h"
#include "tools/sim/sim_text.h"

namespace riftjit::tools {

struct NetworkRunOptions {
    std::string network;                        // a file, or the name of a built-in one
    std::optional<int64_t> steps;               // in place of the duration
    std::optional<std::string> duration, step;  // "1 s"; unset: the file's
    std::optional<uint64_t> seed;
    std::optional<double> scale;
    std::string compat;                 // "nest", "brian2"; empty: the file's
    std::vector<std::string> settings;  // "population.E.size=100"
    int64_t threads = 0;                // 0: physical cores
    std::string precision = "f64";
    std::string discard = "0 ms";       // left out of rates and intervals
    std::string record, record_format;  // format empty: by the file's name
    std::string record_network;         // a file of SONATA's layout
    std::vector<std::string> plots;
    std::string plot_kind;  // empty: by the file's name
    std::string save, resume;
    std::optional<std::string> save_interval;
    SimPrints prints = SimPrints::table;
    bool force = false, check = false, print_plan = false, dump_isa = false, print_network = false;
    MachineChoice machine;
};
Result<int> run_network(const NetworkRunOptions& options, Reporter& reporter);

}  // namespace riftjit::tools
