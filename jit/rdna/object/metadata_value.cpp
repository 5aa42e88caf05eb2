#include "jit/rdna/object/metadata_value.h"

#include <algorithm>
#include <limits>
#include <msgpack.hpp>

namespace riftjit::rdna {
namespace {

using MessagePacker = msgpack::packer<msgpack::sbuffer>;

uint32_t count_of(size_t count) {
    check(count <= std::numeric_limits<uint32_t>::max(), "metadata fit 32 bits of length");
    return static_cast<uint32_t>(count);
}

void pack(MessagePacker& packer, const MetadataValue& value);

struct PackValue {
    MessagePacker& packer;

    void operator()(std::monostate) const { packer.pack_nil(); }
    void operator()(const std::string& text) const {
        packer.pack_str(count_of(text.size()));
        packer.pack_str_body(text.data(), count_of(text.size()));
    }
    void operator()(const MetadataValue::Array& items) const {
        packer.pack_array(count_of(items.size()));
        for (const MetadataValue& item : items) pack(packer, item);
    }
    void operator()(const MetadataValue::Map& members) const {
        packer.pack_map(count_of(members.size()));
        for (const MetadataMember& member : members) {
            (*this)(member.key);
            pack(packer, member.value);
        }
    }
    template <class Number>
    void operator()(Number number) const {
        packer.pack(number);
    }
};

void pack(MessagePacker& packer, const MetadataValue& value) { std::visit(PackValue{packer}, value.data); }

std::string_view text_of(const msgpack::object& object) { return {object.via.str.ptr, object.via.str.size}; }

// `key` is that of the member around it, for messages.
Result<MetadataValue> value_of(const msgpack::object& object, std::string_view key);

Result<MetadataValue> map_of(const msgpack::object& object, std::string_view key) {
    MetadataValue::Map members;
    for (const msgpack::object_kv& entry : std::span(object.via.map.ptr, object.via.map.size)) {
        if (entry.key.type != msgpack::type::STR)
            return fail(ErrorKind::Format, "metadata: {}: a key that is no string", key);
        RIFTJIT_TRY(value, value_of(entry.val, text_of(entry.key)));
        members.push_back({std::string(text_of(entry.key)), std::move(value)});
    }
    std::vector<std::string_view> keys;
    for (const MetadataMember& member : members) keys.push_back(member.key);
    std::ranges::sort(keys);
    if (const auto twice = std::ranges::adjacent_find(keys); twice != keys.end())
        return fail(ErrorKind::Format, "metadata: {}: two values of {}", key, *twice);
    return MetadataValue{std::move(members)};
}

Result<MetadataValue> value_of(const msgpack::object& object, std::string_view key) {
    switch (object.type) {
        case msgpack::type::NIL:
            return MetadataValue{};
        case msgpack::type::BOOLEAN:
            return MetadataValue{object.via.boolean};
        case msgpack::type::POSITIVE_INTEGER:
            return MetadataValue{object.via.u64};
        case msgpack::type::NEGATIVE_INTEGER:
            return MetadataValue{object.via.i64};
        case msgpack::type::FLOAT32:
        case msgpack::type::FLOAT64:
            return MetadataValue{object.via.f64};
        case msgpack::type::STR:
            return MetadataValue{std::string(text_of(object))};
        case msgpack::type::ARRAY: {
            MetadataValue::Array items;
            for (const msgpack::object& item : std::span(object.via.array.ptr, object.via.array.size)) {
                RIFTJIT_TRY(value, value_of(item, key));
                items.push_back(std::move(value));
            }
            return MetadataValue{std::move(items)};
        }
        case msgpack::type::MAP:
            return map_of(object, key);
        default:
            return fail(ErrorKind::Unsupported, "metadata: {}: neither number, string, array nor map", key);
    }
}

}  // namespace

std::vector<std::byte> pack_metadata(const MetadataValue& value) {
    msgpack::sbuffer buffer;
    MessagePacker packer(buffer);
    pack(packer, value);
    const auto* first = reinterpret_cast<const std::byte*>(buffer.data());
    return {first, first + buffer.size()};
}

Result<MetadataValue> unpack_metadata(std::span<const std::byte> bytes) {
    // An element takes at least a byte, and containers are allocated when their header is read: with these limits
    // memory stays below depth * bytes * sizeof(object_kv).
    const size_t most = bytes.size();
    const msgpack::unpack_limit limit(most, most, most, most, most, kMaxMetadataDepth);
    try {
        size_t end = 0;
        const msgpack::object_handle root =
            msgpack::unpack(reinterpret_cast<const char*>(bytes.data()), bytes.size(), end, nullptr, nullptr, limit);
        if (end != bytes.size())
            return fail(ErrorKind::Format, "metadata: {} bytes follow the map of {}", bytes.size() - end, end);
        return value_of(root.get(), "the outermost map");
    } catch (const msgpack::unpack_error& error) {
        return fail(ErrorKind::Format, "metadata: {} bytes are not MsgPack: {}", bytes.size(), error.what());
    }
}

}  // namespace riftjit::rdna
