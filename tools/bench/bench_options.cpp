#include "tools/bench/bench_options.h"

#include <fmt/format.h>

#include <charconv>
#include <memory>

#include "host/cpus.h"
#include "jit/formats/cache_format.h"
#include "jit/isa.h"
#include "tools/cli/device_options.h"
#include "tools/cli/options.h"

namespace riftjit::tools {

namespace {

// One of "5", "1-9", "1-9+4", "512-2048*2".
void append_range(const std::string& flag, const std::string& range, uint32_t low, uint32_t high,
                  std::vector<uint32_t>& values) {
    const auto number = [&](const std::string& text) { return uint64_t(parse_integer(flag, text, low, high)); };
    const size_t dash = range.find('-', 1);  // a first one is a sign
    const uint64_t first = number(range.substr(0, dash));
    if (dash == std::string::npos) return values.push_back(uint32_t(first));
    const size_t sign = range.find_first_of("+*", dash);
    const uint64_t last = number(range.substr(dash + 1, sign == std::string::npos ? sign : sign - dash - 1));
    const bool multiplies = sign != std::string::npos && range[sign] == '*';
    const uint64_t step =
        sign == std::string::npos ? 1 : uint64_t(parse_integer(flag, range.substr(sign + 1), multiplies ? 2 : 1, high));
    if (last < first) refuse(flag, fmt::format("{}: the range ends before it begins", range));
    if (multiplies && first == 0) refuse(flag, fmt::format("{}: a product from 0 never grows", range));
    for (uint64_t value = first; value <= last; value = multiplies ? value * step : value + step)
        values.push_back(uint32_t(value));
}

// Options with lists: the first use replaces the default, later ones append.
template <class Parse>
CLI::Option* add_list(CLI::App& app, const std::string& names, const std::string& help, Parse parse) {
    const auto seen = std::make_shared<bool>(false);
    return app
        .add_option_function<std::vector<std::string>>(
            names,
            [parse, seen](const std::vector<std::string>& texts) {
                for (const std::string& text : texts) {
                    parse(text, !*seen);
                    *seen = true;
                }
            },
            help)
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->type_name("LIST");
}

CLI::Option* add_numbers(CLI::App& app, const std::string& names, std::vector<uint32_t>& target, uint32_t low,
                         uint32_t high, const std::string& help) {
    const std::string flag = names.substr(names.rfind(',') + 1);
    return add_list(app, names, help, [&target, flag, low, high](const std::string& text, bool first) {
        if (first) target.clear();
        const auto values = parse_list(flag, text, low, high);
        target.insert(target.end(), values.begin(), values.end());
    });
}

CLI::Option* add_types(CLI::App& app, const std::string& names, std::vector<DType>& target, const std::string& help) {
    const std::string flag = names.substr(names.rfind(',') + 1);
    return add_list(app, names, help, [&target, flag](const std::string& text, bool first) {
        if (first) target.clear();
        for (const std::string& name : split(text, ',')) {
            const auto type = dtype_from_name(name);
            if (!type || !is_cache_type(*type))
                refuse(flag, fmt::format("\"{}\" is not known, expected one of {}", name, cache_type_names()));
            target.push_back(*type);
        }
    });
}

void add_format(CLI::App& app, const std::string& names, BenchFormat& target, const std::string& help) {
    static const std::vector<std::pair<std::string, BenchFormat>> kFormats = {
        {"md", BenchFormat::md},       {"csv", BenchFormat::csv}, {"json", BenchFormat::json},
        {"jsonl", BenchFormat::jsonl}, {"sql", BenchFormat::sql}, {"none", BenchFormat::none}};
    const std::string flag = names.substr(names.rfind(',') + 1);
    app.add_option_function<std::string>(
           names,
           [&target, flag](const std::string& text) {
               for (const auto& [name, format] : kFormats)
                   if (text == name) return void(target = format);
               refuse(flag, fmt::format("\"{}\" is not known, expected md, csv, json, jsonl, sql or none", text));
           },
           help)
        ->type_name("md|csv|json|jsonl|sql|none");
}

void add_count(CLI::App& app, const std::string& names, uint32_t& target, uint32_t low, uint32_t high,
               const std::string& help) {
    const std::string flag = names.substr(names.rfind(',') + 1);
    app.add_option_function<std::string>(
           names,
           [&target, flag, low, high](const std::string& text) {
               target = uint32_t(parse_integer(flag, text, low, high));
           },
           help)
        ->type_name("N")
        ->default_str(std::to_string(target));
}

void add_test_options(CLI::App& app, BenchOptions& o) {
    constexpr const char* kGroup = "Tests";
    constexpr uint32_t kMost = 1 << 24;
    add_list(app, "-m,--model", "model files (default: the model that ships with riftjit)",
             [&o](const std::string& text, bool) {
                 for (std::string& path : split(text, ',')) {
                     if (path.empty()) refuse("--model", "expected a name, got \"\"");
                     o.models.push_back(std::move(path));
                 }
             })
        ->type_name("FILE")
        ->group(kGroup);
    add_numbers(app, "-p,--n-prompt", o.prompts, 0, kMost, "tokens of a prompt, 0: none (default: 512)")->group(kGroup);
    add_numbers(app, "-n,--n-gen", o.generations, 0, kMost, "tokens to generate, 0: none (default: 128)")
        ->group(kGroup);
    add_list(app, "--prompt-generate", "-pg: a prompt of P tokens and N generated ones in one timing",
             [&o](const std::string& text, bool) {
                 const auto numbers = parse_list("-pg", text, 0, kMost);
                 if (numbers.size() != 2) refuse("-pg", fmt::format("expected P,N, got \"{}\"", text));
                 o.pairs.push_back({numbers[0], numbers[1]});
             })
        ->type_name("P,N")
        ->group(kGroup);
    add_numbers(app, "-d,--n-depth", o.depths, 0, kMost, "tokens in the cache before a test (default: 0)")
        ->group(kGroup);
    add_count(app, "-r,--repetitions", o.repetitions, 1, 10'000, "timings of each test");
    add_count(app, "--delay", o.delay_seconds, 0, 3600, "seconds to cool down before each test");
    app.add_flag_callback(
           "--no-warmup", [&o] { o.warmup = false; }, "skip the untimed run before each test")
        ->group(kGroup);
}

void add_setup_options(CLI::App& app, BenchOptions& o) {
    constexpr const char* kGroup = "Setup";
    add_numbers(app, "-t,--threads", o.threads, 1, 4096,
                "threads (default: one a core, of performance cores where there are others, within the CPU quota)")
        ->group(kGroup);
    add_numbers(app, "-b,--batch-size", o.batches, 1, 1 << 20, "prompt tokens per call (default: 2048)")->group(kGroup);
    add_numbers(app, "--ubatch-size", o.ubatches, 1, 1 << 20, "-ub: prompt tokens per step (default: 512)")
        ->group(kGroup);
    add_types(app, "--cache-type-k", o.key_types, "-ctk: type of cached keys (default: f16)")->group(kGroup);
    add_types(app, "--cache-type-v", o.value_types, "-ctv: type of cached values (default: f16)")->group(kGroup);
    add_device_option(app, kGroup, o.device);
    add_check_option(app, kGroup, o.device);
    add_kernel_choice(app, kGroup, o.kernels);
    add_list(app, "--flash-attn", "-fa: on, 1 or auto; there is no other attention here",
             [](const std::string& text, bool) {
                 for (const std::string& value : split(text, ','))
                     if (value != "on" && value != "auto" && value != "1" && value != "-1")
                         refuse("-fa", fmt::format("\"{}\": only on, 1 and auto: attention is always fused", value));
             })
        ->group(kGroup);
}

}  // namespace

std::vector<uint32_t> parse_list(const std::string& flag, const std::string& text, uint32_t low, uint32_t high) {
    std::vector<uint32_t> values;
    for (const std::string& range : split(text, ',')) append_range(flag, range, low, high, values);
    return values;
}

void add_bench_options(CLI::App& app, BenchOptions& options) {
    add_test_options(app, options);
    add_setup_options(app, options);
    add_format(app, "-o,--output", options.output, "how results are printed on stdout (default: md)");
    add_format(app, "--output-err", options.error_output, "-oe: the same on stderr (default: none)");
    app.add_flag("--progress", options.progress, "say on stderr what runs");
    app.add_flag("--profile", options.profile, "each test once more: which kernel takes how long, and who waits");
    app.add_option("--plot", options.plot,
                   "draw tokens per second over threads to .png or .svg; thin: as many times as there are threads")
        ->type_name("FILE")
        ->check(file_name());
    app.add_option("--roofline", options.roofline,
                   "draw each kernel's speed over operations per byte, below this machine's limits, to .png or .svg")
        ->type_name("FILE")
        ->check(file_name());
    app.add_flag("--force", options.force, "replace the file of --plot or --roofline");
    app.add_flag("--peaks", options.peaks, "measure what this processor reaches at best, and keep it for --dump-isa");
    app.add_flag("--json", options.peaks_json, "with --peaks: one JSON object");
}

std::vector<BenchTest> combinations(const BenchOptions& options) {
    std::vector<BenchSetup> setups;
    const std::vector<uint32_t> threads = options.threads.empty() ? std::vector{default_threads()} : options.threads;
    for (const std::string& model : options.models.empty() ? std::vector<std::string>{""} : options.models)
        for (const uint32_t batch : options.batches)
            for (const uint32_t ubatch : options.ubatches)
                for (const DType type_k : options.key_types)
                    for (const DType type_v : options.value_types)
                        for (const uint32_t count : threads)
                            setups.push_back({model, count, batch, ubatch, type_k, type_v});
    std::vector<BenchTest> tests;
    for (const BenchSetup& setup : setups) {
        for (const uint32_t depth : options.depths) {
            for (const uint32_t prompt : options.prompts)
                if (prompt > 0) tests.push_back({setup, prompt, 0, depth});
            for (const uint32_t generate : options.generations)
                if (generate > 0) tests.push_back({setup, 0, generate, depth});
            for (const auto [prompt, generate] : options.pairs)
                if (prompt + generate > 0) tests.push_back({setup, prompt, generate, depth});
        }
    }
    return tests;
}

std::string test_name(const BenchTest& test) {
    std::string name;
    if (test.generate == 0)
        name = fmt::format("pp{}", test.prompt);
    else if (test.prompt == 0)
        name = fmt::format("tg{}", test.generate);
    else
        name = fmt::format("pp{}+tg{}", test.prompt, test.generate);
    return test.depth == 0 ? name : fmt::format("{} @ d{}", name, test.depth);
}

}  // namespace riftjit::tools
