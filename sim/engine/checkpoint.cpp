#include "sim/engine/checkpoint.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <filesystem>
#include <vector>

#include "host/available_memory.h"
#include "host/file_kind.h"
#include "sim/files/append_file.h"
#include "sim/files/unfinished_file.h"

namespace riftjit::sim {

namespace {

constexpr uint64_t kCheckpointMagic = 0x54504B434D534A52;  // "RJSMCKPT"
constexpr uint32_t kCheckpointVersion = 2;
constexpr size_t kBufferBytes = 1 << 20;

struct Header {
    uint64_t magic;
    uint32_t version, precision;
    uint64_t network_hash, seed;
    uint32_t step, reserved;
};
static_assert(sizeof(Header) == 40);

std::unexpected<Error> io_error(const std::string& path, const char* what) {
    return fail(ErrorKind::Io, "{}: {}: {}", path, what, std::strerror(errno));
}

std::string folder_of(const std::string& path) {
    const size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

class Descriptor {
public:
    explicit Descriptor(int fd) : fd_(fd) {}
    Descriptor(const Descriptor&) = delete;
    ~Descriptor() {
        if (fd_ >= 0) ::close(fd_);
    }
    int get() const { return fd_; }

private:
    int fd_;
};

bool write_all(int fd, const std::byte* data, uint64_t size) {
    while (size > 0) {
        const ssize_t written = ::write(fd, data, size);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        data += written;
        size -= static_cast<uint64_t>(written);
    }
    return true;
}

bool read_all(int fd, std::byte* data, uint64_t size) {
    while (size > 0) {
        const ssize_t got = ::read(fd, data, size);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        data += got;
        size -= static_cast<uint64_t>(got);
    }
    return true;
}

}  // namespace

struct CheckpointWriter::Impl {
    std::string path, part;
    UnfinishedFile unfinished{part};
    Descriptor file;
    XXH3_state_t* hash = XXH3_createState();
    std::vector<std::byte> buffer;
    bool failed = false;  // errno then says why
    int error = 0;
    bool finished = false;

    Impl(std::string target, std::string temporary, int fd)
        : path(std::move(target)), part(std::move(temporary)), file(fd) {
        XXH3_64bits_reset(hash);
        buffer.reserve(kBufferBytes);
    }
    ~Impl() {
        XXH3_freeState(hash);
        if (!finished) ::unlink(part.c_str());
    }
    void flush() {
        if (!failed && !write_all(file.get(), buffer.data(), buffer.size())) {
            failed = true;
            error = errno;
        }
        buffer.clear();
    }
};

CheckpointWriter::CheckpointWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CheckpointWriter::CheckpointWriter(CheckpointWriter&&) noexcept = default;
CheckpointWriter::~CheckpointWriter() = default;

Result<CheckpointWriter> CheckpointWriter::create(const std::string& name, const CheckpointIdentity& identity) {
    std::error_code ignored;  // a link stays, what it names is replaced
    const bool is_link = std::filesystem::is_symlink(name, ignored);
    const std::string path = is_link ? std::filesystem::weakly_canonical(name, ignored).string() : name;
    const std::string part = path + ".part";
    const int fd = ::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) return io_error(part, "cannot be created");
    CheckpointWriter writer(std::make_unique<Impl>(path, part, fd));
    const Header header{kCheckpointMagic,
                        kCheckpointVersion,
                        identity.precision,
                        identity.network_hash,
                        identity.seed,
                        identity.step,
                        0};
    writer.value(header);
    return writer;
}

void CheckpointWriter::bytes(const void* data, uint64_t size) {
    if (size == 0) return;
    XXH3_64bits_update(impl_->hash, data, size);
    const auto* const from = static_cast<const std::byte*>(data);
    if (impl_->buffer.size() + size > kBufferBytes) impl_->flush();
    if (size < kBufferBytes) {
        impl_->buffer.insert(impl_->buffer.end(), from, from + size);
    } else if (!impl_->failed && !write_all(impl_->file.get(), from, size)) {
        impl_->failed = true;
        impl_->error = errno;
    }
}

Result<void> CheckpointWriter::finish() {
    const uint64_t checksum = XXH3_64bits_digest(impl_->hash);
    bytes(&checksum, sizeof checksum);
    impl_->flush();
    if (impl_->failed) {
        errno = impl_->error;
        return io_error(impl_->part, "cannot be written");
    }
    if (::fsync(impl_->file.get()) != 0) return io_error(impl_->part, "cannot be written");
    if (::rename(impl_->part.c_str(), impl_->path.c_str()) != 0) return io_error(impl_->path, "cannot be replaced");
    impl_->finished = true;
    const Descriptor folder(::open(folder_of(impl_->path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder.get() >= 0) ::fsync(folder.get());  // the name; the contents are safe already
    return {};
}

Result<CheckpointReader> CheckpointReader::open(const std::string& path, const CheckpointIdentity& expected) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));  // a FIFO shall not wait
    if (file.get() < 0) return io_error(path, "cannot be opened");
    struct stat status;
    if (::fstat(file.get(), &status) != 0) return io_error(path, "cannot be read");
    RIFTJIT_TRY_VOID(require_regular_file(status, path));
    const auto size = static_cast<uint64_t>(status.st_size);
    if (size < sizeof(Header) + sizeof(uint64_t)) return fail(ErrorKind::Format, "{}: not a saved simulation", path);
    Header header;
    if (!read_all(file.get(), reinterpret_cast<std::byte*>(&header), sizeof header))
        return io_error(path, "cannot be read");
    if (header.magic != kCheckpointMagic) return fail(ErrorKind::Format, "{}: not a saved simulation", path);
    if (header.version != kCheckpointVersion) {
        return fail(ErrorKind::Unsupported, "{}: saved in version {} of the format; this program has version {}", path,
                    header.version, kCheckpointVersion);
    }
    if (const auto fits = refuse_beyond_memory(size); !fits)
        return fail(fits.error().kind, "{}: {}", path, fits.error().message);
    CheckpointReader reader;
    RIFTJIT_TRY(memory, Pages::allocate(size, Pages::Size::normal, "the saved simulation"));
    reader.path_ = path;
    reader.memory_ = std::move(memory);
    std::memcpy(reader.memory_.data(), &header, sizeof header);
    if (!read_all(file.get(), reader.memory_.data() + sizeof header, size - sizeof header))
        return io_error(path, "cannot be read");
    reader.position_ = sizeof header;
    reader.end_ = size - sizeof(uint64_t);
    uint64_t checksum;
    std::memcpy(&checksum, reader.memory_.data() + reader.end_, sizeof checksum);
    if (XXH3_64bits(reader.memory_.data(), reader.end_) != checksum)
        return fail(ErrorKind::Format, "{}: damaged or cut short: its checksum does not match", path);
    if (header.seed != expected.seed)
        return fail(ErrorKind::Usage, "{}: saved with seed {}, this run has {}", path, header.seed, expected.seed);
    if (header.precision != expected.precision)
        return fail(ErrorKind::Usage, "{}: saved in {}, this run is in {}", path, header.precision ? "f32" : "f64",
                    expected.precision ? "f32" : "f64");
    if (header.network_hash != expected.network_hash) {
        return fail(ErrorKind::Usage,
                    "{}: saved from another network (hash {:016x}, this one has {:016x}): rates, amplitudes and times "
                    "of inputs may differ, but not what is drawn for each neuron, nor anything else",
                    path, header.network_hash, expected.network_hash);
    }
    reader.step_ = header.step;
    return reader;
}

Result<const std::byte*> CheckpointReader::bytes(uint64_t size) {
    if (size > end_ - position_) return refuse("ends too early");
    const std::byte* const data = memory_.data() + position_;
    position_ += size;
    return data;
}

Result<CheckpointReader::Array> CheckpointReader::array(uint64_t element_bytes) {
    RIFTJIT_TRY(count, value<uint64_t>());
    if (count > (end_ - position_) / element_bytes) return refuse("ends too early");
    RIFTJIT_TRY(data, bytes(count * element_bytes));
    return Array{data, count};
}

Result<void> CheckpointReader::expect_end() const {
    if (position_ != end_) return refuse("holds more than this network");
    return {};
}

std::unexpected<Error> CheckpointReader::refuse(const std::string& why) const {
    return fail(ErrorKind::Format, "{}: a saved simulation that {}", path_, why);
}

}  // namespace riftjit::sim
