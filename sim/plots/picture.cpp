#include "sim/plots/picture.h"

#include "host/module.h"
#include "sim/files/append_file.h"
#include "sim/plots/axes.h"

namespace riftjit::sim {

namespace {

Result<const PlotModule*> load_plot_module() {
    static const auto loaded = load_module("plots");
    if (!loaded) return std::unexpected(loaded.error());
    return static_cast<const PlotModule*>(*loaded);
}

}  // namespace

Result<ImageFormat> image_format_of_path(const std::string& path) {
    if (path.ends_with(".png")) return ImageFormat::png;
    if (path.ends_with(".svg")) return ImageFormat::svg;
    return fail(ErrorKind::Usage, "{}: its ending names no kind of picture; .png and .svg do", path);
}

Result<void> write_picture(const std::string& path, double width, double height, Existing existing,
                           const std::function<void(Canvas&)>& draw) {
    RIFTJIT_TRY(format, image_format_of_path(path));
    RIFTJIT_TRY(module, load_plot_module());
    return write_whole_file(path, existing, [&](const std::string& temporary) -> Result<void> {
        RIFTJIT_TRY(canvas, module->create(temporary, format, width, height));
        draw(*canvas);
        return canvas->finish();
    });
}

double draw_key(Canvas& canvas, const std::string& title, const std::string& subtitle,
                std::span<const std::string> texts, double left, double right) {
    constexpr double kTitleSize = 16, kSmallSize = 11, kSquare = 9, kGap = 18, kLine = 17;
    canvas.text(title, {left, 30}, kTitleSize, Anchor::start, kInk);
    canvas.text(subtitle, {right, 30}, kSmallSize, Anchor::end, kQuiet);
    double x = left, y = 53;
    for (size_t i = 0; i < texts.size(); ++i) {
        const double width = kSquare + 5 + canvas.text_width(texts[i], kSmallSize);
        if (x > left && x + width > right) {
            x = left;
            y += kLine;
        }
        canvas.fill({x, y - kSquare + 0.5, kSquare, kSquare}, population_colour(i));
        canvas.text(texts[i], {x + kSquare + 5, y}, kSmallSize, Anchor::start, kInk);
        x += width + kGap;
    }
    return y + 22;
}

}  // namespace riftjit::sim
