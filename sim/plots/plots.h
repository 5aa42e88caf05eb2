// Pictures of a recording: raster with rates over time, mean rates, intervals and their variation; as PNG, SVG or text.
#pragma once

#include "sim/files/recording.h"
#include "sim/plots/picture.h"

namespace riftjit::sim {

enum class PlotKind : uint8_t {
    raster,   // spikes of evenly chosen neurons, and the rate of every population over time
    rate,     // mean rate of every population
    isi,      // intervals between spikes, and their CV
    summary,  // all of these
};
std::string_view name(PlotKind kind);
std::optional<PlotKind> plot_kind_from_name(std::string_view name);
// "spikes-raster.png" -> raster: the kind whose name ends the file's; otherwise summary.
PlotKind plot_kind_of_path(const std::string& path);

// By the path's ending. Needs libriftjit-plots.so.
Result<void> write_plot(const std::string& path, PlotKind kind, const Recording& recording,
                        Existing existing = Existing::refuse);

enum class TerminalColours : uint8_t { none, ansi };
// Braille and block characters, at most `columns` wide, lines end in '\n'.
std::string terminal_plot(PlotKind kind, const Recording& recording, uint32_t columns,
                          TerminalColours colours = TerminalColours::none);

}  // namespace riftjit::sim
