// Lines typed at a terminal: editing, history and completion, by libedit, which a module holds (host/module.h) that is
// opened with the first editor.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host/result.h"

namespace riftjit {

class LineEditor {
public:
    virtual ~LineEditor() = default;

    struct Line {
        enum class End : uint8_t { entered, end_of_input, interrupted } end = End::entered;
        std::string text;  // UTF-8, without its end; may have several lines
    };
    // Shows `prompt`, with `initial` to be changed. What is pasted stays whole, whatever lines it has; what is long is
    // shown as "[paste 1: 40 lines, 3000 bytes]" until it is entered.
    virtual Line read(const std::string& prompt, const std::string& initial) = 0;
};

struct LineEditorOptions {
    int input = 0, output = 2;  // descriptors of the terminal
    // One entry a line, with its line ends as "\n"; the newest last. Empty: none is kept.
    std::string history_file;
    std::function<bool()> is_interrupted;  // asked ten times a second
    // What the text before the cursor may go on with: each is all of the word that it completes.
    std::function<std::vector<std::string>(std::string_view)> completions;
};

class LineEditorModule {
public:
    virtual ~LineEditorModule() = default;
    // An error where the terminal cannot move its cursor.
    virtual Result<std::unique_ptr<LineEditor>> open(LineEditorOptions options) const = 0;
};

Result<std::unique_ptr<LineEditor>> open_line_editor(LineEditorOptions options);

}  // namespace riftjit
