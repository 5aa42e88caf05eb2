// The parts that figures are put together from.
#pragma once

#include "sim/plots/axes.h"
#include "sim/plots/plot_data.h"

namespace riftjit::sim {

// Title, what was run, and the colour of every population. Returns where the panels may begin.
double draw_heading(Canvas& canvas, const PlotData& data, double left, double right);
void draw_raster(Canvas& canvas, const PlotData& data, const Rectangle& area);
void draw_rates_over_time(Canvas& canvas, const PlotData& data, const Rectangle& area);
void draw_mean_rates(Canvas& canvas, const PlotData& data, const Rectangle& area);
void draw_intervals(Canvas& canvas, const PlotData& data, const Rectangle& area);
void draw_variations(Canvas& canvas, const PlotData& data, const Rectangle& area);

// 12345 -> "12,345"
std::string grouped_count(uint64_t value);

}  // namespace riftjit::sim
