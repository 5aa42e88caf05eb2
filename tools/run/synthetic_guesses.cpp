// Guesses taken by lot, so that the speed of drafting can be measured at any share of right ones. llama-server has the
// same two flags.
#include <cmath>

#include "tools/cli/options.h"
#include "tools/run/drafting.h"

namespace riftjit::tools {

namespace {

// How often the first, second, ... guess is taken, of all steps.
Result<std::vector<double>> given_rates(const std::string& text, uint32_t most) {
    std::vector<double> rates;
    for (const std::string& part : split(text, ',')) {
        char* end = nullptr;
        const double rate = std::strtod(part.c_str(), &end);
        if (part.empty() || *end != 0 || !(rate >= 0 && rate <= 1))
            return fail(ErrorKind::Usage,
                        "--spec-synth-rates {}: expected numbers from 0 to 1 divided by commas, got {}", text, part);
        if (!rates.empty() && rate > rates.back())
            return fail(ErrorKind::Usage, "--spec-synth-rates {}: {} is more than {} before it", text, rate,
                        rates.back());
        rates.push_back(rate);
    }
    if (rates.size() != most)
        return fail(ErrorKind::Usage, "--spec-synth-rates {}: {} numbers for {} guesses of a step", text, rates.size(),
                    most);
    return rates;
}

// The share p of which 1 + p + p^2 + ... + p^most is the length.
double share_of_length(double length, uint32_t most) {
    double low = 0, high = 1;
    constexpr int kHalvings = 53;
    for (int i = 0; i < kHalvings; ++i) {
        const double share = (low + high) / 2;
        double sum = 1, term = 1;
        for (uint32_t k = 0; k < most; ++k) sum += term *= share;
        (sum < length ? low : high) = share;
    }
    return high;
}

}  // namespace

void add_synthetic_options(CLI::App& app, DraftChoice& choice) {
    constexpr const char* kGroup = "Drafting (the same text, sooner)";
    app.add_option(
           "--spec-synth-rates", choice.synthetic_rates,
           "to measure speed: how often the first, second, ... guess of a step is taken, by lot and whatever the "
           "model says; answers are no text of the model's")
        ->type_name("P,...")
        ->group(kGroup);
    add_number(app, "--spec-synth-len", choice.synthetic_length, 1, 1025,
               "the same by the tokens that a step is to yield on average")
        ->default_str("")
        ->group(kGroup);
}

Result<std::vector<double>> synthetic_shares(const DraftChoice& choice) {
    if (!choice.is_synthetic()) return std::vector<double>();
    const uint32_t most = most_guesses(choice);
    if (!choice.synthetic_rates.empty() && choice.synthetic_length != 0)
        return fail(ErrorKind::Usage, "--spec-synth-rates and --spec-synth-len say the same; give one");
    if (most == 0)
        return fail(ErrorKind::Usage, "--spec-synth-{}: nothing guesses; --spec-type says what",
                    choice.synthetic_rates.empty() ? "len" : "rates");
    if (choice.synthetic_rates.empty()) {
        if (choice.synthetic_length > most + 1.0)
            return fail(ErrorKind::Usage, "--spec-synth-len {}: a step has up to {} guesses and one token behind them",
                        choice.synthetic_length, most);
        return std::vector<double>(most, share_of_length(choice.synthetic_length, most));
    }
    RIFTJIT_TRY(rates, given_rates(choice.synthetic_rates, most));
    std::vector<double> shares;
    for (size_t i = 0; i < rates.size(); ++i) {
        const double before = i == 0 ? 1 : rates[i - 1];
        shares.push_back(before > 0 ? rates[i] / before : 0);
    }
    return shares;
}

}  // namespace riftjit::tools
