// Format: "HDF5 File Format Specification Version 3.0", Global Heap (III.E) and the datatype class Variable-Length
// (IV.A.2.d): an element is a length of 4 bytes, the address of a heap and an object's number of 4 bytes in it.
#include "sim/files/hdf5/texts.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <functional>
#include <map>

#include "host/round_up.h"

namespace riftjit::sim::h5 {

namespace {

// What H5Tregister() wants of a conversion: references go from a file's type to plain bytes as they are.
herr_t keep_references(hid_t from, hid_t to, H5T_cdata_t* conversion, size_t, size_t, size_t, void*, void*, hid_t) {
    conversion->need_bkg = H5T_BKG_NO;
    return conversion->command != H5T_CONV_INIT || H5Tget_size(from) == H5Tget_size(to) ? 0 : -1;
}

Handle plain_bytes(size_t size) { return {H5Tcreate(H5T_OPAQUE, size), H5Tclose, "references"}; }

void know_references() {
    static const bool is_registered = [] {
        const Handle texts(H5Tcopy(H5T_C_S1), H5Tclose, "references"), plain = plain_bytes(1);
        require(H5Tset_size(texts, H5T_VARIABLE), "references");
        require(H5Tregister(H5T_PERS_SOFT, "riftjit references", texts, plain, keep_references), "references");
        return true;
    }();
    check(is_registered, "libhdf5 converts references");
}

// A heap begins with "GCOL", version and padding, and its size; an object with its number, a count of references and
// padding, and its size. Both are padded to 8 bytes.
constexpr uint64_t kBeforeSize = 8, kLeastHeapBytes = 4096;

class Heaps {
public:
    Heaps(hid_t object, std::string name) : name_(std::move(name)) {
        const Handle file(H5Iget_file_id(object), H5Fclose, name_);
        const Handle made(H5Fget_create_plist(file), H5Pclose, name_);
        hsize_t before = 0;
        require(H5Pget_userblock(made, &before), name_);
        require(H5Pget_sizes(made, &address_bytes_, &size_bytes_), name_);
        void* descriptor = nullptr;
        require(H5Fget_vfd_handle(file, H5P_DEFAULT, &descriptor), name_);
        descriptor_ = *static_cast<const int*>(descriptor);
        struct stat status{};
        if (fstat(descriptor_, &status) != 0) refuse("the file has no size");
        base_ = before;
        file_bytes_ = uint64_t(status.st_size) - std::min(uint64_t(status.st_size), base_);
        if (address_bytes_ > sizeof(uint64_t) || size_bytes_ > sizeof(uint64_t))
            refuse(fmt::format("addresses of {} bytes and sizes of {}", address_bytes_, size_bytes_));
    }

    size_t reference_bytes() const { return sizeof(uint32_t) + address_bytes_ + sizeof(uint32_t); }

    std::string text(std::string_view reference) {
        const uint64_t length = number(reference.substr(0, 4)), address = number(reference.substr(4, address_bytes_)),
                       index = number(reference.substr(4 + address_bytes_));
        if (length == 0 || address == 0) return "";
        const Heap& heap = heap_at(address);
        const auto object = heap.objects.find(uint32_t(index));
        if (object == heap.objects.end()) refuse(fmt::format("the heap at {} has no object {}", address, index));
        if (length > object->second.size())
            refuse(fmt::format("of {} bytes, but object {} of the heap at {} has {}", length, index, address,
                               object->second.size()));
        count_unpacked(length, name_);
        const std::string_view text = object->second.substr(0, length);
        return std::string(text.substr(0, text.find('\0')));
    }

private:
    struct Heap {
        std::string bytes;
        std::map<uint32_t, std::string_view> objects;  // by number
    };

    [[noreturn]] void refuse(const std::string& why) const { throw Hdf5Error(name_ + ": a text: " + why); }

    uint64_t header_bytes() const { return round_up(kBeforeSize + size_bytes_, 8); }

    static uint64_t number(std::string_view bytes) {
        uint64_t value = 0;
        for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | uint8_t(bytes[i]);
        return value;
    }

    std::string read(uint64_t address, uint64_t count) const {
        if (address > file_bytes_ || count > file_bytes_ - address)
            refuse(fmt::format("{} bytes at {} of a file of {}", count, address, file_bytes_));
        std::string bytes(count, '\0');
        for (size_t done = 0; done < count;) {
            const ssize_t more = pread(descriptor_, bytes.data() + done, count - done, off_t(base_ + address + done));
            if (more <= 0) refuse(fmt::format("the heap at {} cannot be read", address));
            done += size_t(more);
        }
        return bytes;
    }

    const Heap& heap_at(uint64_t address) {
        if (const auto found = heaps_.find(address); found != heaps_.end()) return found->second;
        const std::string start = read(address, header_bytes());
        const uint64_t size = number(std::string_view(start).substr(kBeforeSize, size_bytes_));
        if (!start.starts_with("GCOL\1") || size < kLeastHeapBytes)
            refuse(fmt::format("there is no heap at {}", address));
        // Heaps lie apart from each other: what all take is bounded by the file.
        if (size > file_bytes_ - std::min(file_bytes_, heap_bytes_))
            refuse(fmt::format("heaps of more bytes than the file's {}", file_bytes_));
        heap_bytes_ += size;
        Heap& heap = heaps_[address];
        heap.bytes = read(address, size);
        list_objects(address, heap);
        return heap;
    }

    void list_objects(uint64_t address, Heap& heap) const {
        const uint64_t header = header_bytes();
        std::string_view rest = std::string_view(heap.bytes).substr(header);
        while (rest.size() >= header) {
            const uint64_t index = number(rest.substr(0, 2)), size = number(rest.substr(kBeforeSize, size_bytes_));
            // The free space behind the last object is number 0, and its size counts the header.
            const uint64_t before = index == 0 ? 0 : header;
            if (size > rest.size() - before || before + size < header)
                refuse(fmt::format("object {} of {} bytes where the heap at {} has {} left", index, size, address,
                                   rest.size()));
            if (index != 0) heap.objects[uint32_t(index)] = rest.substr(header, size);
            const uint64_t padded = before + (index == 0 ? size : round_up(size, 8));
            rest.remove_prefix(std::min<uint64_t>(padded, rest.size()));
        }
    }

    std::string name_;
    size_t address_bytes_ = 0, size_bytes_ = 0;
    int descriptor_ = -1;
    uint64_t base_ = 0, file_bytes_ = 0, heap_bytes_ = 0;
    std::map<uint64_t, Heap> heaps_;  // by address
};

// `read` fills memory of the type that it gets.
std::vector<std::string> read_texts_by(hid_t object, size_t count, const std::string& name,
                                       const std::function<herr_t(hid_t type, void* memory)>& read) {
    know_references();
    Heaps heaps(object, name);
    const size_t size = heaps.reference_bytes();
    std::string references(count * size, '\0');
    require(read(plain_bytes(size), references.data()), name);
    std::vector<std::string> texts;
    for (size_t i = 0; i < count; ++i) texts.push_back(heaps.text(std::string_view(references).substr(i * size, size)));
    return texts;
}

}  // namespace

std::vector<std::string> variable_texts_of(hid_t dataset, size_t count, const std::string& name) {
    return read_texts_by(dataset, count, name, [&](hid_t type, void* memory) {
        return H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, memory);
    });
}

std::string variable_text_of(hid_t attribute, const std::string& name) {
    return read_texts_by(attribute, 1, name, [&](hid_t type, void* memory) { return H5Aread(attribute, type, memory); })
        .front();
}

}  // namespace riftjit::sim::h5
