// A program that runs beside this one, with pipes to its standard streams, and that leaves nothing running behind.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/file_descriptor.h"
#include "host/result.h"

namespace riftjit {

enum class ChildInput : uint8_t { nothing, pipe };
enum class ChildErrors : uint8_t { with_output, pipe };

struct ChildOptions {
    std::vector<std::string> arguments;                            // the first is looked for in PATH where it has no /
    std::string folder;                                            // to run in; empty: this process's
    std::vector<std::pair<std::string, std::string>> environment;  // on top of this process's own
    ChildInput input = ChildInput::nothing;
    ChildErrors errors = ChildErrors::with_output;
};

// It leads a session of its own: no terminal, no Ctrl-C of this one's, and what it starts can be found by the session's
// number. It gets no other descriptor of this process, and the default actions of all signals. What is asked of it may
// be asked by several threads; its pipes are for one.
class ChildProcess {
public:
    // Fails, with the system's words, where the program or the folder is not there or may not be run.
    static Result<std::unique_ptr<ChildProcess>> start(const ChildOptions& options);
    ~ChildProcess() { end(); }
    ChildProcess(const ChildProcess&) = delete;

    pid_t id() const { return id_; }
    // The ends of pipes; none of them waits. -1: there is none, or it was closed.
    int input() const { return input_.get(); }
    int output() const { return output_.get(); }
    int errors() const { return errors_.get(); }
    void close_input() { input_ = FileDescriptor(); }

    bool has_ended() const;
    bool wait_for_end(std::chrono::milliseconds most) const;  // whether it has
    void ask_to_end() const;                                  // SIGTERM to its group
    // Kills it and whatever is left of its session, once. The exit code, or 128 and the signal that ended it; what left
    // the session, as daemons do, is not found.
    int end();

private:
    ChildProcess() = default;
    bool has_ended_now() const;
    void kill_session() const;

    mutable std::mutex mutex_;  // its number is another's once it is over
    pid_t id_ = -1;
    bool is_over_ = true;  // until it runs
    int exit_code_ = -1;
    FileDescriptor input_, output_, errors_;
};

// How many bytes went into a pipe that does not wait; -1 and errno otherwise. A reader that is gone is EPIPE, and no
// SIGPIPE.
ssize_t write_to_pipe(int pipe, std::string_view bytes);

// "exit code 3", "signal 9": of end().
std::string told_exit(int exit_code);

}  // namespace riftjit
