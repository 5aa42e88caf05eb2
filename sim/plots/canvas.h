// What plots are drawn on: implemented by libriftjit-plots.so, which alone is linked with cairo. Lengths are in points
// of the figure; y grows downwards.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "host/result.h"

namespace riftjit::sim {

struct Colour {
    double red, green, blue, opacity = 1;
};
struct Point {
    double x, y;
};
struct Rectangle {
    double x, y, width, height;
};
enum class Anchor : uint8_t { start, middle, end };  // which part of a text lies at its point, along its direction
enum class Direction : uint8_t { across, upwards };

class Canvas {
public:
    virtual ~Canvas() = default;
    virtual void fill(const Rectangle& area, const Colour& colour) = 0;
    virtual void line(std::span<const Point> points, double width, const Colour& colour) = 0;
    virtual void dots(std::span<const Point> centres, double width, double height, const Colour& colour) = 0;
    // The base line passes through `at`.
    virtual void text(const std::string& text, const Point& at, double size, Anchor anchor, const Colour& colour,
                      Direction direction = Direction::across) = 0;
    virtual double text_width(const std::string& text, double size) = 0;
    virtual Result<void> finish() = 0;  // writes the file, or says why it could not
};

enum class ImageFormat : uint8_t { png, svg };

class PlotModule {
public:
    virtual ~PlotModule() = default;
    virtual Result<std::unique_ptr<Canvas>> create(const std::string& path, ImageFormat format, double width,
                                                   double height) const = 0;
};

}  // namespace riftjit::sim
