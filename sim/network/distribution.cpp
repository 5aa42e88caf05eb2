#include "sim/network/distribution.h"

#include <algorithm>
#include <cmath>

#include "host/result.h"

namespace riftjit::sim {

namespace {

constexpr double kLeastAcceptance = 1e-3;
constexpr uint32_t kMostAttempts = 1u << 20;  // at the least acceptance missed with probability e^-1000

double value_at(const Distribution& distribution, uint64_t number, uint64_t index) {
    if (const auto* constant = std::get_if<Constant>(&distribution.kind)) return constant->value;
    if (const auto* normal = std::get_if<Normal>(&distribution.kind))
        return normal->mean + normal->deviation * normal_quantile(open_uniform(number));
    if (const auto* uniform = std::get_if<Uniform>(&distribution.kind))
        return uniform->low + (uniform->high - uniform->low) * uniform_f64(number);
    if (const auto* lognormal = std::get_if<Lognormal>(&distribution.kind))
        return portable_exp(lognormal->mu + lognormal->sigma * normal_quantile(open_uniform(number)));
    return std::get<Values>(distribution.kind).values[index];
}

uint64_t number_of(const PhiloxWords& words, Half half) {
    return half == Half::first ? philox_first(words) : philox_second(words);
}

double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

// Probability of a draw inside [least, most].
double acceptance(const Distribution& distribution) {
    const double least = distribution.least, most = distribution.most;
    if (const auto* normal = std::get_if<Normal>(&distribution.kind)) {
        if (normal->deviation == 0) return normal->mean >= least && normal->mean <= most ? 1 : 0;
        return normal_cdf((most - normal->mean) / normal->deviation) -
               normal_cdf((least - normal->mean) / normal->deviation);
    }
    if (const auto* uniform = std::get_if<Uniform>(&distribution.kind)) {
        if (uniform->low == uniform->high) return uniform->low >= least && uniform->low <= most ? 1 : 0;
        const double inside = std::min(most, uniform->high) - std::max(least, uniform->low);
        return std::max(0.0, inside / (uniform->high - uniform->low));
    }
    const auto& lognormal = std::get<Lognormal>(distribution.kind);
    if (most <= 0) return 0;
    Distribution logarithm{Normal{lognormal.mu, lognormal.sigma}};
    if (least > 0) logarithm.least = std::log(least);
    logarithm.most = std::log(most);
    return acceptance(logarithm);
}

std::string limits_text(const Distribution& distribution) {
    std::string text;
    if (std::isfinite(distribution.least)) text += fmt::format(", at least {}", distribution.least);
    if (std::isfinite(distribution.most)) text += fmt::format(", at most {}", distribution.most);
    return text;
}

std::string parameters_fault(const Distribution& distribution) {
    if (const auto* normal = std::get_if<Normal>(&distribution.kind)) {
        if (!std::isfinite(normal->mean)) return fmt::format("a mean of {}", normal->mean);
        if (!std::isfinite(normal->deviation) || normal->deviation < 0)
            return fmt::format("a standard deviation of {}", normal->deviation);
    }
    if (const auto* uniform = std::get_if<Uniform>(&distribution.kind)) {
        if (!std::isfinite(uniform->low) || !std::isfinite(uniform->high) || uniform->high < uniform->low)
            return fmt::format("a range from {} to {}", uniform->low, uniform->high);
    }
    if (const auto* lognormal = std::get_if<Lognormal>(&distribution.kind)) {
        // Ten deviations, more than any draw has, must not overflow.
        const double reach = std::abs(lognormal->mu) + 10 * std::abs(lognormal->sigma);
        if (!(reach <= 690) || lognormal->sigma < 0)
            return fmt::format("a logarithm of mean {} and deviation {}", lognormal->mu, lognormal->sigma);
    }
    return "";
}

std::string value_fault(const Distribution& distribution, double value) {
    if (!std::isfinite(value)) return fmt::format("a value of {}", value);
    if (value < distribution.least || value > distribution.most)
        return fmt::format("a value of {}{}", value, limits_text(distribution));
    return "";
}

}  // namespace

double draw(const Distribution& distribution, const PhiloxWords& words, uint64_t key, uint32_t id, uint64_t index,
            Half half) {
    double value = value_at(distribution, number_of(words, half), index);
    for (uint32_t attempt = 1; value < distribution.least || value > distribution.most; ++attempt) {
        check(attempt < kMostAttempts, "a distribution of the description can be drawn from");
        value = value_at(distribution, number_of(random_words(key, id, index, attempt), half), index);
    }
    return value;
}

double draw(const Distribution& distribution, uint64_t key, uint32_t id, uint64_t index, Half half) {
    if (const std::optional<double> constant = constant_of(distribution)) return *constant;
    return draw(distribution, random_words(key, id, index), key, id, index, half);
}

uint64_t neuron_value_key(uint64_t seed, uint32_t population, std::string_view name) {
    return random_key(seed, Purpose::neuron_value, population, name_part(name));
}

std::optional<double> constant_of(const Distribution& distribution) {
    if (const auto* constant = std::get_if<Constant>(&distribution.kind)) return constant->value;
    return std::nullopt;
}

std::string distribution_text(const Distribution& distribution) {
    std::string text;
    if (const auto* constant = std::get_if<Constant>(&distribution.kind)) return fmt::format("{}", constant->value);
    if (const auto* normal = std::get_if<Normal>(&distribution.kind))
        text = fmt::format("normal (mean {}, deviation {})", normal->mean, normal->deviation);
    if (const auto* uniform = std::get_if<Uniform>(&distribution.kind))
        text = fmt::format("uniform ({} to {})", uniform->low, uniform->high);
    if (const auto* lognormal = std::get_if<Lognormal>(&distribution.kind))
        text = fmt::format("lognormal (mu {}, sigma {})", lognormal->mu, lognormal->sigma);
    if (const auto* values = std::get_if<Values>(&distribution.kind))
        text = fmt::format("{} values", values->values.size());
    return text + limits_text(distribution);
}

std::string distribution_fault(const Distribution& distribution) {
    if (std::isnan(distribution.least) || std::isnan(distribution.most)) return "a limit that is not a number";
    if (distribution.least > distribution.most)
        return fmt::format("limits of at least {} and at most {}, which nothing meets", distribution.least,
                           distribution.most);
    if (const auto* constant = std::get_if<Constant>(&distribution.kind))
        return value_fault(distribution, constant->value);
    if (const auto* values = std::get_if<Values>(&distribution.kind)) {
        for (const double value : values->values) {
            if (const std::string fault = value_fault(distribution, value); !fault.empty()) return fault;
        }
        return "";
    }
    if (const std::string fault = parameters_fault(distribution); !fault.empty()) return fault;
    const double accepted = acceptance(distribution);
    if (accepted < kLeastAcceptance)
        return fmt::format("{}: a draw has probability {:.2g} of lying inside", distribution_text(distribution),
                           accepted);
    return "";
}

}  // namespace riftjit::sim
