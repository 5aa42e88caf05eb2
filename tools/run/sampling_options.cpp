// The sampler's share of the command line.

#include <cmath>

#include "tools/cli/options.h"
#include "tools/run/run_options.h"

namespace riftjit::tools {

namespace {

constexpr const char* kSamplingGroup = "Sampling";
constexpr double kHuge = 1e9;

void number(CLI::App& app, RunOptions& options, const std::string& names, float& target, double low, double high,
            const std::string& help) {
    const std::string flag = names.substr(names.rfind(',') + 1);
    app.add_option_function<std::string>(
           names,
           [&options, &target, flag, low, high](const std::string& text) {
               target = static_cast<float>(parse_number(flag, text, low, high));
               options.given_sampling.insert(flag);
           },
           help)
        ->type_name("X")
        ->default_str(fmt::format("{}", target))
        ->group(kSamplingGroup);
}

void integer(CLI::App& app, RunOptions& options, const std::string& names, int32_t& target, int64_t low, int64_t high,
             const std::string& help) {
    const std::string flag = names.substr(names.rfind(',') + 1);
    app.add_option_function<std::string>(
           names,
           [&options, &target, flag, low, high](const std::string& text) {
               target = static_cast<int32_t>(parse_integer(flag, text, low, high));
               options.given_sampling.insert(flag);
           },
           help)
        ->type_name("N")
        ->default_str(std::to_string(target))
        ->group(kSamplingGroup);
}

template <class Value>
Value or_refuse(const std::string& flag, Result<Value> value) {
    if (!value) {
        std::string why = value.error().message;
        if (why.starts_with(flag + ": ")) why.erase(0, flag.size() + 2);
        throw CLI::ValidationError(fmt::format("error while handling argument \"{}\": {}", flag, why),
                                   CLI::ExitCodes::ValidationError);
    }
    return std::move(*value);
}

void add_chain_options(CLI::App& app, RunOptions& options) {
    runtime::SamplerParameters& s = options.sampling;
    app.add_option_function<std::string>(
           "--samplers",
           [&options, &s](const std::string& text) {
               s.stages = or_refuse("--samplers", runtime::parse_sampler_names(text));
               options.given_sampling.insert("--samplers");
           },
           "which samplers run, in this order, separated by ';'")
        ->type_name("A;B;C")
        ->default_str("penalties;dry;top_n_sigma;top_k;typ_p;top_p;min_p;xtc;temperature")
        ->group(kSamplingGroup);
    app.add_option_function<std::string>(
           "--sampler-seq,--sampling-seq",
           [&options, &s](const std::string& text) {
               s.stages = or_refuse("--sampler-seq", runtime::parse_sampler_letters(text));
               options.given_sampling.insert("--samplers");
           },
           "the same as letters")
        ->type_name("edskypmxt")
        ->group(kSamplingGroup);
    app.add_option_function<std::string>(
           "-s,--seed",
           [&s](const std::string& text) {
               const int64_t seed = parse_integer("--seed", text, -1, 0xFFFF'FFFF);
               s.seed = seed == -1 ? std::nullopt : std::optional<uint32_t>(static_cast<uint32_t>(seed));
           },
           "seed of the random numbers, -1: a new one, which is printed")
        ->type_name("N")
        ->default_str("-1")
        ->group(kSamplingGroup);
    app.add_option_function<std::vector<std::string>>(
           "-l,--logit-bias",
           [&s](const std::vector<std::string>& texts) {
               for (const std::string& text : texts)
                   s.logit_bias.push_back(or_refuse("--logit-bias", runtime::parse_logit_bias(text)));
           },
           "add BIAS to the logit of token ID: 15043+1, 2-inf")
        ->type_name("ID+BIAS")
        ->delimiter(',')
        ->group(kSamplingGroup);
    app.add_flag("--ignore-eos", options.ignore_eos,
                 "never sample an end-of-generation token: ids then differ from the greedy ones, also in --json")
        ->group(kSamplingGroup);
}

void add_repetition_options(CLI::App& app, RunOptions& options) {
    runtime::SamplerParameters& s = options.sampling;
    integer(app, options, "--repeat-last-n", s.penalty_last_n, 0, INT32_MAX,
            "tokens that penalties look back on, 0: off");
    number(app, options, "--repeat-penalty", s.repeat_penalty, 1e-6, kHuge,
           "divide the logits of repeated tokens, 1: off");
    number(app, options, "--presence-penalty", s.presence_penalty, -kHuge, kHuge,
           "subtract this once from repeated tokens");
    number(app, options, "--frequency-penalty", s.frequency_penalty, -kHuge, kHuge,
           "subtract this for each repetition");
    number(app, options, "--dry-multiplier", s.dry_multiplier, 0, kHuge,
           "strength of the DRY penalty on repeated sequences, 0: off");
    number(app, options, "--dry-base", s.dry_base, 0, kHuge, "its growth per token beyond the allowed length");
    integer(app, options, "--dry-allowed-length", s.dry_allowed_length, 0, INT32_MAX,
            "repeats up to this long are free");
    integer(app, options, "--dry-penalty-last-n", s.dry_penalty_last_n, 0, INT32_MAX,
            "tokens that DRY looks back on, 0: off");
    app.add_option("--dry-sequence-breaker", options.dry_breakers,
                   "text that ends a repeated sequence; none: nothing does")
        ->type_name("TEXT")
        ->group(kSamplingGroup);
}

void add_grammar_options(CLI::App& app, RunOptions& options) {
    const auto text = [&](const char* flag, std::string& target, const char* type, const char* help) {
        return app.add_option(flag, target, help)->type_name(type)->group(kSamplingGroup);
    };
    text("--grammar", options.grammar, "GBNF", "answers follow this grammar, in llama.cpp's GBNF; its rule is root");
    text("--grammar-file", options.grammar_file, "FILE", "the same from a file")->check(file_name());
    text("-j,--json-schema", options.json_schema, "JSON",
         "answers are JSON that this schema finds valid; {}: any; a warning names what of it is not enforced");
    text("--json-schema-file", options.json_schema_file, "FILE", "-jf: the same from a file")->check(file_name());
}

}  // namespace

void add_sampling_options(CLI::App& app, RunOptions& options) {
    runtime::SamplerParameters& s = options.sampling;
    number(app, options, "--temp,--temperature", s.temperature, 0, kHuge,
           "temperature; 0: always the most probable token");
    integer(app, options, "--top-k", s.top_k, 0, INT32_MAX, "keep the K most probable tokens, 0: off");
    number(app, options, "--top-p", s.top_p, 0, 1, "keep the most probable tokens that make this share, 1: off");
    number(app, options, "--min-p", s.min_p, 0, 1, "drop tokens below this share of the best, 0: off");
    number(app, options, "--typical,--typical-p", s.typical_p, 0, 1, "locally typical sampling, 1: off");
    number(app, options, "--top-nsigma,--top-n-sigma", s.top_n_sigma, -1, kHuge,
           "keep logits within n standard deviations of the best, -1: off");
    number(app, options, "--xtc-probability", s.xtc_probability, 0, 1, "chance to exclude top choices, 0: off");
    number(app, options, "--xtc-threshold", s.xtc_threshold, 0, 1, "share from which a token is a top choice");
    number(app, options, "--dynatemp-range", s.dynatemp_range, 0, kHuge,
           "vary the temperature by this with the entropy, 0: off");
    number(app, options, "--dynatemp-exp", s.dynatemp_exponent, 0, kHuge, "exponent of that dependence");
    number(app, options, "--adaptive-target", s.adaptive_target, -1, 1,
           "adaptive-p: the share to aim at, below 0: off");
    number(app, options, "--adaptive-decay", s.adaptive_decay, 0, 0.99, "adaptive-p: how slowly the target forgets");
    app.add_option_function<std::string>(
           "--mirostat",
           [&options, &s](const std::string& text) {
               s.mirostat = static_cast<runtime::Mirostat>(parse_integer("--mirostat", text, 0, 2));
               options.given_sampling.insert("--mirostat");
           },
           "mirostat version, 0: off; replaces top-k, top-p, typical")
        ->type_name("0|1|2")
        ->default_str("0")
        ->group(kSamplingGroup);
    number(app, options, "--mirostat-lr", s.mirostat_eta, 0, 1, "mirostat's learning rate");
    number(app, options, "--mirostat-ent", s.mirostat_tau, 0, kHuge, "mirostat's target entropy");
    add_chain_options(app, options);
    add_repetition_options(app, options);
    add_grammar_options(app, options);
}

}  // namespace riftjit::tools
