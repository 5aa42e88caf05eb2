// "loading the model … 3 s" on a terminal's stderr, for steps that take longer than a second.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace riftjit::tools {

class Progress {
public:
    explicit Progress(std::string what);
    ~Progress();  // wipes the line
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

private:
    void show_seconds();

    std::string what_;
    std::mutex mutex_;
    std::condition_variable done_changed_;
    bool done_ = false;
    std::thread thread_;  // none when stderr is not a terminal
};

}  // namespace riftjit::tools
