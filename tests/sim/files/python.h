// Files opened by Python's readers.
#pragma once

#include <cstdlib>

#include "tests/sim/files/recordings.h"

namespace riftjit::sim {

inline constexpr const char* kPython = "/usr/bin/python3";  // the one that python3-numpy and python3-h5py belong to

class ReadByPython : public RecordingFiles {
protected:
    // Runs a script with a file's path as argument; what it prints is compared.
    std::string python(const std::string& interpreter, const std::string& script, const std::string& file) const {
        write_bytes(path("script.py"), script);
        const std::string command =
            fmt::format("{} {} {} > {} 2>&1", interpreter, path("script.py"), file, path("out"));
        const int status = std::system(command.c_str());
        return (status == 0 ? "" : fmt::format("status {}: ", status)) + read_bytes(path("out"));
    }
    static bool has(const std::string& interpreter, const std::string& module) {
        return std::system(fmt::format("{} -c 'import {}' > /dev/null 2>&1", interpreter, module).c_str()) == 0;
    }
};

}  // namespace riftjit::sim
