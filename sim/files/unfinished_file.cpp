#include "sim/files/unfinished_file.h"

#include <unistd.h>

#include <atomic>

namespace riftjit::sim {

namespace {

std::atomic<const char*> watched = nullptr;
static_assert(std::atomic<const char*>::is_always_lock_free);

}  // namespace

UnfinishedFile::UnfinishedFile(std::string path) : path_(std::move(path)) {
    const char* none = nullptr;
    watched.compare_exchange_strong(none, path_.c_str());
}

UnfinishedFile::~UnfinishedFile() {
    const char* own = path_.c_str();
    watched.compare_exchange_strong(own, nullptr);
}

void remove_unfinished_file() {
    if (const char* const path = watched.load()) unlink(path);
}

}  // namespace riftjit::sim
