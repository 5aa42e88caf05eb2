// A file descriptor that closes itself.
#pragma once

#include <unistd.h>

#include <utility>

namespace riftjit {

class FileDescriptor {
public:
    FileDescriptor() = default;
    explicit FileDescriptor(int number) : number_(number) {}
    ~FileDescriptor() { reset(); }
    FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    FileDescriptor& operator=(FileDescriptor&& other) noexcept {
        reset();
        number_ = std::exchange(other.number_, -1);
        return *this;
    }

    int get() const { return number_; }
    int release() { return std::exchange(number_, -1); }
    explicit operator bool() const { return number_ >= 0; }

private:
    // What a failing close() would say was already said by fsync() where it matters.
    void reset() {
        if (number_ >= 0) close(number_);
        number_ = -1;
    }

    int number_ = -1;
};

}  // namespace riftjit
