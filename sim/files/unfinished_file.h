// A file that is of no use before it is whole, and is gone when a signal ends the process before that.
#pragma once

#include <string>

namespace riftjit::sim {

class UnfinishedFile {
public:
    explicit UnfinishedFile(std::string path);  // the first of several that are open at once is the one removed
    UnfinishedFile(const UnfinishedFile&) = delete;
    ~UnfinishedFile();  // leaves the file as it is

private:
    const std::string path_;
};

void remove_unfinished_file();  // for handlers of signals, which may call it

}  // namespace riftjit::sim
