// What libriftjit-plots.so exports: a canvas drawn by cairo, as PNG or SVG.
#include <cairo-svg.h>
#include <cairo.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "host/utf8.h"
#include "sim/plots/canvas.h"

namespace riftjit::sim {

namespace {

constexpr double kPixelsPerPoint = 2;         // of a PNG
constexpr const char* kFont = "DejaVu Sans";  // fonts-dejavu-core; fontconfig takes the nearest where it is missing

cairo_status_t write_bytes(void* file, const unsigned char* bytes, unsigned length) {
    return std::fwrite(bytes, 1, length, static_cast<std::FILE*>(file)) == length ? CAIRO_STATUS_SUCCESS
                                                                                  : CAIRO_STATUS_WRITE_ERROR;
}

class CairoCanvas final : public Canvas {
public:
    static Result<std::unique_ptr<Canvas>> create(const std::string& path, ImageFormat format, double width,
                                                  double height) {
        std::unique_ptr<CairoCanvas> canvas(new CairoCanvas(path, format));
        canvas->file_ = std::fopen(path.c_str(), "wbe");
        if (canvas->file_ == nullptr) return fail(ErrorKind::Io, "{}: {}", path, std::strerror(errno));
        canvas->surface_ = format == ImageFormat::svg
                               ? cairo_svg_surface_create_for_stream(write_bytes, canvas->file_, width, height)
                               : cairo_image_surface_create(CAIRO_FORMAT_RGB24, int(width * kPixelsPerPoint),
                                                            int(height * kPixelsPerPoint));
        canvas->context_ = cairo_create(canvas->surface_);
        if (format == ImageFormat::png) cairo_scale(canvas->context_, kPixelsPerPoint, kPixelsPerPoint);
        cairo_select_font_face(canvas->context_, kFont, CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
        canvas->fill({0, 0, width, height}, {1, 1, 1});
        return canvas;
    }
    ~CairoCanvas() override {
        cairo_destroy(context_);
        cairo_surface_destroy(surface_);
        if (file_ != nullptr) std::fclose(file_);
    }

    void fill(const Rectangle& area, const Colour& colour) override {
        set(colour);
        cairo_rectangle(context_, area.x, area.y, area.width, area.height);
        cairo_fill(context_);
    }
    void line(std::span<const Point> points, double width, const Colour& colour) override {
        set(colour);
        cairo_set_line_width(context_, width);
        cairo_set_line_join(context_, CAIRO_LINE_JOIN_ROUND);
        for (const Point& point : points) cairo_line_to(context_, point.x, point.y);
        cairo_stroke(context_);
    }
    void dots(std::span<const Point> centres, double width, double height, const Colour& colour) override {
        constexpr size_t kDotsPerPath = 256;  // cairo's time grows with the square of a path's parts
        set(colour);
        for (size_t i = 0; i < centres.size(); ++i) {
            cairo_rectangle(context_, centres[i].x - width / 2, centres[i].y - height / 2, width, height);
            if (i % kDotsPerPath == kDotsPerPath - 1) cairo_fill(context_);
        }
        cairo_fill(context_);
    }
    void text(const std::string& text, const Point& at, double size, Anchor anchor, const Colour& colour,
              Direction direction) override {
        const double width = text_width(text, size);
        const double shift = anchor == Anchor::start ? 0 : anchor == Anchor::middle ? width / 2 : width;
        cairo_save(context_);
        set(colour);
        cairo_translate(context_, at.x, at.y);
        if (direction == Direction::upwards) cairo_rotate(context_, -1.5707963267948966);
        cairo_move_to(context_, -shift, 0);
        cairo_show_text(context_, replace_invalid(text).c_str());
        cairo_new_path(context_);
        cairo_restore(context_);
    }
    double text_width(const std::string& text, double size) override {
        cairo_set_font_size(context_, size);
        cairo_text_extents_t extents{};
        cairo_text_extents(context_, replace_invalid(text).c_str(), &extents);
        return extents.x_advance;
    }
    Result<void> finish() override {
        cairo_status_t status = cairo_status(context_);
        if (status != CAIRO_STATUS_SUCCESS)
            return fail(ErrorKind::Io, "{}: cannot be drawn: {} (text needs a font: fonts-dejavu-core)", path_,
                        cairo_status_to_string(status));
        errno = 0;
        if (format_ == ImageFormat::png) status = cairo_surface_write_to_png_stream(surface_, write_bytes, file_);
        cairo_surface_finish(surface_);
        if (status == CAIRO_STATUS_SUCCESS) status = cairo_surface_status(surface_);
        const int closed = std::fclose(std::exchange(file_, nullptr));
        if (status == CAIRO_STATUS_SUCCESS && closed == 0) return {};
        return fail(ErrorKind::Io, "{}: {}", path_, errno != 0 ? std::strerror(errno) : cairo_status_to_string(status));
    }

private:
    CairoCanvas(std::string path, ImageFormat format) : path_(std::move(path)), format_(format) {}
    void set(const Colour& colour) {
        cairo_set_source_rgba(context_, colour.red, colour.green, colour.blue, colour.opacity);
    }

    std::string path_;
    ImageFormat format_;
    std::FILE* file_ = nullptr;
    cairo_surface_t* surface_ = nullptr;
    cairo_t* context_ = nullptr;
};

class Module final : public PlotModule {
public:
    Result<std::unique_ptr<Canvas>> create(const std::string& path, ImageFormat format, double width,
                                           double height) const override {
        return CairoCanvas::create(path, format, width, height);
    }
};

}  // namespace

}  // namespace riftjit::sim

extern "C" __attribute__((visibility("default"))) const void* riftjit_module(const char* interface,
                                                                             riftjit::InternalErrorHandler handler) {
    static const riftjit::sim::Module module;
    if (std::string_view(interface) != RIFTJIT_MODULE_INTERFACE) return nullptr;
    riftjit::set_internal_error_handler(handler);
    return static_cast<const riftjit::sim::PlotModule*>(&module);
}
