#include "sim/plots/axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace riftjit::sim {

namespace {

constexpr double kTickSize = 11, kLabelSize = 12, kTickLength = 4;

constexpr Colour rgb(uint32_t code) {
    return {double(code >> 16) / 255, double(code >> 8 & 0xFF) / 255, double(code & 0xFF) / 255};
}

std::vector<double> logarithmic_ticks(const Axis& axis, int wanted) {
    std::vector<double> coarse, fine;
    for (double power = std::pow(10, std::floor(std::log10(axis.low))); power <= axis.high; power *= 10)
        for (const double factor : {1.0, 2.0, 5.0}) {
            const double tick = factor * power;
            if (tick < axis.low * (1 - 1e-9) || tick > axis.high * (1 + 1e-9)) continue;
            fine.push_back(tick);
            if (factor == 1) coarse.push_back(tick);
        }
    return int(coarse.size()) >= std::min(wanted, 3) ? coarse : fine;
}

// 12345.5 -> "12,345.5"
std::string with_groups(std::string text) {
    const size_t point = std::min(text.find('.'), text.size());
    const size_t first = text.starts_with('-') ? 1 : 0;
    for (size_t place = point; place > first + 3; place -= 3) text.insert(place - 3, ",");
    return text;
}

}  // namespace

const Colour& population_colour(size_t population) {
    static constexpr std::array kColours{rgb(0x0072B2), rgb(0xD55E00), rgb(0x009E73), rgb(0xCC79A7),
                                         rgb(0xE69F00), rgb(0x56B4E9), rgb(0x333333), rgb(0x8F7A00)};
    return kColours[population % kColours.size()];
}

double Axis::fraction(double value) const {
    if (scale == Scale::logarithmic) return std::log(value / low) / std::log(high / low);
    return (value - low) / (high - low);
}

std::vector<double> ticks(const Axis& axis, int wanted) {
    if (axis.scale == Scale::logarithmic) return logarithmic_ticks(axis, wanted);
    const double step = round_up_nicely((axis.high - axis.low) / wanted);
    std::vector<double> found;
    for (double i = std::ceil(axis.low / step - 1e-9); i * step <= axis.high + 1e-9 * step; ++i)
        found.push_back(i == 0 ? 0 : i * step);
    return found;
}

std::vector<std::string> tick_labels(const std::vector<double>& ticks) {
    std::vector<std::string> labels;
    for (int decimals = 0; decimals < 12; ++decimals) {
        labels.clear();
        bool is_exact = true;
        for (const double tick : ticks) {
            labels.push_back(fmt::format("{:.{}f}", tick, decimals));
            is_exact = is_exact && std::abs(std::stod(labels.back()) - tick) <= 1e-9 * std::abs(tick);
        }
        if (is_exact) break;
    }
    std::ranges::transform(labels, labels.begin(), with_groups);
    return labels;
}

double round_up_nicely(double value) {
    if (!(value > 0)) return 1;
    const double power = std::pow(10, std::floor(std::log10(value)));
    for (const double factor : {1.0, 2.0, 2.5, 5.0})
        if (factor * power >= value * (1 - 1e-9)) return factor * power;
    return 10 * power;
}

Point Panel::at(double x, double y) const {
    return {area_.x + area_.width * x_.fraction(x), area_.y + area_.height * (1 - y_.fraction(y))};
}

void Panel::draw_frame(Labels labels) {
    draw_y_axis();
    if (labels != Labels::only_y) draw_x_axis();
    const double bottom = area_.y + area_.height;
    const Point corner[] = {{area_.x, area_.y}, {area_.x, bottom}, {area_.x + area_.width, bottom}};
    canvas_.line(corner, 1, kQuiet);
}

void Panel::draw_x_axis() {
    const double bottom = area_.y + area_.height;
    const auto places = ticks(x_, std::max(2, int(area_.width / 65)));
    const auto labels = tick_labels(places);
    for (size_t i = 0; i < places.size(); ++i) {
        const double x = at(places[i], y_.low).x;
        canvas_.line(std::array{Point{x, bottom}, Point{x, bottom + kTickLength}}, 1, kQuiet);
        canvas_.text(labels[i], {x, bottom + kTickLength + kTickSize + 1}, kTickSize, Anchor::middle, kInk);
    }
    canvas_.text(x_.label, {area_.x + area_.width / 2, bottom + kTickLength + kTickSize + kLabelSize + 8}, kLabelSize,
                 Anchor::middle, kInk);
}

void Panel::draw_y_axis() {
    const auto places = ticks(y_, std::max(2, int(area_.height / 45)));
    const auto labels = tick_labels(places);
    double widest = 0;
    for (size_t i = 0; i < places.size(); ++i) {
        const double y = at(x_.low, places[i]).y;
        canvas_.line(std::array{Point{area_.x, y}, Point{area_.x + area_.width, y}}, 1, kGrid);
        canvas_.line(std::array{Point{area_.x - kTickLength, y}, Point{area_.x, y}}, 1, kQuiet);
        canvas_.text(labels[i], {area_.x - kTickLength - 3, y + 0.36 * kTickSize}, kTickSize, Anchor::end, kInk);
        widest = std::max(widest, canvas_.text_width(labels[i], kTickSize));
    }
    canvas_.text(y_.label, {area_.x - kTickLength - 3 - widest - 9, area_.y + area_.height / 2}, kLabelSize,
                 Anchor::middle, kInk, Direction::upwards);
}

void Panel::say(const std::string& text) {
    canvas_.text(text, {area_.x + area_.width / 2, area_.y + area_.height / 2}, kLabelSize, Anchor::middle, kQuiet);
}

}  // namespace riftjit::sim
