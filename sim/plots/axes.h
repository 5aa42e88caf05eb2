// A panel of a plot: a rectangle with two axes.
#pragma once

#include <vector>

#include "sim/plots/canvas.h"

namespace riftjit::sim {

inline constexpr Colour kInk{0.13, 0.13, 0.15}, kQuiet{0.42, 0.42, 0.45}, kGrid{0.90, 0.90, 0.92};
// Of population i: Okabe and Ito's colours, which the colour-blind tell apart, repeated from the ninth on.
const Colour& population_colour(size_t population);

enum class Scale : uint8_t { linear, logarithmic };
struct Axis {
    double low, high;
    std::string label;
    Scale scale = Scale::linear;

    double fraction(double value) const;  // 0 at low, 1 at high
};
// Round numbers within the axis, about `wanted` of them; of a logarithmic axis powers of ten, or 1, 2 and 5 times them.
std::vector<double> ticks(const Axis& axis, int wanted);
// All of them with as many decimals as tell them apart: "0", "2.5", "1,000".
std::vector<std::string> tick_labels(const std::vector<double>& ticks);
// The next round number at or above.
double round_up_nicely(double value);

class Panel {
public:
    Panel(Canvas& canvas, const Rectangle& area, Axis x, Axis y) : canvas_(canvas), area_(area), x_(x), y_(y) {}

    enum class Labels : uint8_t { both, only_y, only_x };  // of which axes ticks and labels are drawn
    void draw_frame(Labels labels = Labels::both);
    Point at(double x, double y) const;
    const Rectangle& area() const { return area_; }
    // Where nothing can be shown: why.
    void say(const std::string& text);

private:
    void draw_x_axis();
    void draw_y_axis();

    Canvas& canvas_;
    Rectangle area_;
    Axis x_, y_;
};

}  // namespace riftjit::sim
