// A file that grows by whole blocks: what does not fit is taken back, so that what was there before stays whole.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <string>
#include <string_view>

#include "host/file_descriptor.h"
#include "sim/files/recording.h"

namespace riftjit::sim {

// "PATH: text of errno"
std::unexpected<Error> fail_with_errno(const std::string& path);

// Refuses an existing file unless told to replace it, and always what is not a regular file.
Result<FileDescriptor> create_file(const std::string& path, Existing existing);
Result<void> refuse_existing(const std::string& path, Existing existing);

Result<FileDescriptor> open_regular_file(const std::string& path);  // to read; what may have no end is refused at once
Result<std::string> read_file(const std::string& path);
Result<std::string> read_file(const std::string& path, uint64_t most_bytes);  // refuses a longer one
Result<std::string> read_head(const std::string& path);                       // its first bytes, at most 64

// What `path` names, and the files that its links lead to: a link stays, what it leads to is replaced.
Result<std::string> file_behind(const std::string& path);
// The last step of a write: the whole file under its name, or nothing.
Result<void> rename_into_place(const std::string& from, const std::string& to, Existing existing);
// `write` makes a file under a temporary name, which then takes the place of `path`: whole, or not at all.
Result<void> write_whole_file(const std::string& path, Existing existing,
                              const std::function<Result<void>(const std::string& temporary)>& write);

class AppendFile {
public:
    static Result<AppendFile> create(const std::string& path, Existing existing);
    static AppendFile adopt(std::string path, FileDescriptor empty) { return {std::move(path), std::move(empty)}; }
    Result<void> append(std::string_view bytes);                      // all of it, or nothing and an error
    Result<void> overwrite(uint64_t offset, std::string_view bytes);  // bytes that were appended before
    Result<void> sync();

private:
    AppendFile(std::string path, FileDescriptor file) : path_(std::move(path)), file_(std::move(file)) {}

    std::string path_;
    FileDescriptor file_;
    uint64_t size_ = 0;
};

}  // namespace riftjit::sim
