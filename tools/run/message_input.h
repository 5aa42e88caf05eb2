// What a person says next: lines of a terminal, with editing where it can, or all of a pipe.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/line_editor.h"
#include "host/result.h"

namespace riftjit::tools {

class MessageInput {
public:
    using Warn = std::function<Result<void>(const std::string&)>;  // an error ends what asked
    MessageInput(std::vector<std::string> commands, Warn warn);

    // nullopt: the end of input, or Ctrl-C. A line that ends with a backslash goes on with the next, and what begins
    // with """ goes on to the line that ends so. `initial`: to be changed, where lines can be edited.
    Result<std::optional<std::string>> read(const std::string& initial = {});
    bool can_edit() const { return editor_ != nullptr; }  // after the first read()

private:
    struct Line {
        std::string text;
        bool has_ended = false;  // the input
    };
    Result<Line> read_line(const std::string& prompt, const std::string& initial);
    void open_editor();

    std::vector<std::string> commands_;
    Warn warn_;
    bool is_terminal_, has_asked_ = false;
    std::unique_ptr<LineEditor> editor_;  // none: a pipe, or a terminal that cannot move its cursor
};

}  // namespace riftjit::tools
