#include "host/line_editor.h"

#include <utility>

#include "host/module.h"

namespace riftjit {

Result<std::unique_ptr<LineEditor>> open_line_editor(LineEditorOptions options) {
    static const auto loaded = load_module("edit");
    if (!loaded) return std::unexpected(loaded.error());
    return static_cast<const LineEditorModule*>(*loaded)->open(std::move(options));
}

}  // namespace riftjit
