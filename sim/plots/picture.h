// A picture of whatever somebody draws, and the key of its colours.
#pragma once

#include <functional>
#include <string>

#include "sim/files/recording.h"
#include "sim/plots/canvas.h"

namespace riftjit::sim {

Result<ImageFormat> image_format_of_path(const std::string& path);  // .png or .svg

// By the path's ending, whole or not at all. Needs libriftjit-plots.so.
Result<void> write_picture(const std::string& path, double width, double height, Existing existing,
                           const std::function<void(Canvas&)>& draw);

// A title, a smaller text at its right, and what each colour stands for: text i has population_colour(i). Returns where
// panels may begin.
double draw_key(Canvas& canvas, const std::string& title, const std::string& subtitle,
                std::span<const std::string> texts, double left, double right);

}  // namespace riftjit::sim
