// Header, metadata and index that must be refused (rows B1 to B9 of the project's list of bad input): the message names
// what is wrong, where it stands, what was found and what is allowed.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/models/expect_message.h"

namespace riftjit::models {
namespace bad_input_header_test {

using namespace test;

const Field& field(const Image& image, std::string_view what) {
    const auto found = std::ranges::find(image.fields, what, &Field::what);
    check(found != image.fields.end(), "the image has the field");
    return *found;
}

// The file with one integer overwritten.
Bytes with(const Image& image, std::string_view what, uint64_t value) {
    Bytes bytes = image.bytes;
    std::memcpy(bytes.data() + field(image, what).offset, &value, field(image, what).bytes);
    return bytes;
}

std::string at_byte(uint64_t offset) { return "at byte " + std::to_string(offset); }

TEST(BadInputHeader, B1RefusesMoreThanFourDimensions) {
    const Image image = tiny_model().build();
    for (const uint64_t dimensions : {5ull, 255ull, 4294967295ull})
        EXPECT_TRUE(says(open_message(with(image, "n_dims of blk.0.attn_q.weight", dimensions)),
                         {"tensor 'blk.0.attn_q.weight'", "n_dims is " + std::to_string(dimensions), "the maximum is 4",
                          at_byte(field(image, "name length of blk.0.attn_q.weight").offset)}));
}

TEST(BadInputHeader, B2RefusesStringLengthsBeyondTheFile) {
    const Image image = tiny_model().build();
    struct Case {
        const char *field, *named;
    };
    for (const Case& c : {Case{"length of general.name", "value of key 'general.name'"}, Case{"key length", "key"},
                          Case{"name length of blk.1.ffn_up.weight", "name of tensor"}}) {
        const uint64_t start = field(image, c.field).offset;
        const uint64_t remaining = image.bytes.size() - start - 8;
        for (const uint64_t length : {UINT64_MAX, uint64_t{1} << 63, (uint64_t{1} << 30) + 1, remaining + 1})
            EXPECT_TRUE(
                says(open_message(with(image, c.field, length)),
                     {c.named, at_byte(start), "string length " + std::to_string(length), std::to_string(remaining)}));
    }
}

TEST(BadInputHeader, B2NamesTheStringInsideAnArray) {
    const Image image = tiny_model().build();
    const uint64_t start = field(image, "first element of tokenizer.ggml.merges").offset;
    for (const uint64_t length : {UINT64_MAX, uint64_t{1} << 63, uint64_t{1} << 33})
        EXPECT_TRUE(says(open_message(with(image, "first element of tokenizer.ggml.merges", length)),
                         {"string 0 of key 'tokenizer.ggml.merges'", at_byte(start), std::to_string(length)}));
}

TEST(BadInputHeader, B3RefusesArrayCountsBeyondTheFile) {
    const Image image = tiny_model().build();
    for (const char* key : {"tokenizer.ggml.tokens", "tokenizer.ggml.token_type"}) {
        const std::string name = std::string("array length of ") + key;
        const bool is_strings = std::string_view(key).ends_with("tokens");
        const uint64_t remaining = image.bytes.size() - field(image, name).offset - 8;
        const uint64_t fitting = remaining / (is_strings ? 8 : 4);
        for (const uint64_t count : {uint64_t{1} << 60, uint64_t{1} << 61, uint64_t{1} << 62, UINT64_MAX, fitting + 1})
            EXPECT_TRUE(says(open_message(with(image, name, count)),
                             {std::string("for key '") + key + "'", "array length " + std::to_string(count),
                              is_strings ? "string" : "i32", std::to_string(remaining) + " bytes remaining",
                              "exceeds max " + std::to_string(fitting)}));
    }
}

TEST(BadInputHeader, RefusesUnknownValueTypes) {
    const Image image = tiny_model().build();
    for (const uint64_t type : {13ull, 255ull, 4294967295ull})
        EXPECT_TRUE(says(open_message(with(image, "type of general.name", type)),
                         {"value type of key 'general.name'", "is " + std::to_string(type), "allowed are 0 to 12"}));
    EXPECT_TRUE(says(open_message(with(image, "element type of tokenizer.ggml.tokens", 13)),
                     {"array element type of key 'tokenizer.ggml.tokens'", "is 13"}));
    EXPECT_TRUE(says(open_message(with(image, "element type of tokenizer.ggml.tokens", 9)),
                     {"key 'tokenizer.ggml.tokens'", "array of arrays", "unsupported"}));
}

TEST(BadInputHeader, RefusesCountsBeyondTheFile) {
    const Image image = tiny_model().build();
    for (const char* count : {"tensor count", "key-value count"}) {
        for (const uint64_t value : {UINT64_MAX, uint64_t{1} << 63, uint64_t{1} << 62, uint64_t{1} << 32})
            EXPECT_TRUE(says(open_message(with(image, count, value)),
                             {count, at_byte(field(image, count).offset), std::to_string(static_cast<int64_t>(value)),
                              "allowed are 0 to"}));
    }
}

TEST(BadInputHeader, RefusesMoreTensorsAndKeysThanAnyModelHas) {
    // Large enough a file for the counts to be possible.
    Bytes bytes = tiny_model().bytes();
    bytes.resize(8 << 20);
    const Image image{bytes, tiny_model().build().fields, 0};
    EXPECT_TRUE(says(open_message(with(image, "tensor count", 131073)), {"tensor count", "at most 131072"}));
    EXPECT_TRUE(says(open_message(with(image, "key-value count", 65537)), {"key-value count", "at most 65536"}));
}

TEST(BadInputHeader, RefusesEmptyKeys) {
    GgufBuilder builder = tiny_model();
    builder.append("", u32(1));
    EXPECT_TRUE(says(open_message(builder), {"key (at byte", "is empty"}));
}

TEST(BadInputHeader, B6RefusesAlignments) {
    for (const uint32_t alignment : {0u, 1u, 3u, 4u, 24u, 0xffffffffu}) {
        GgufBuilder builder = tiny_model();
        builder.set("general.alignment", u32(alignment));
        EXPECT_TRUE(says(open_message(builder), {"key general.alignment (at byte", "is " + std::to_string(alignment),
                                                 "a power of two, at least 8"}));
    }
    GgufBuilder builder = tiny_model();
    builder.set("general.alignment", u32(1u << 31));
    EXPECT_TRUE(says(open_message(builder), {"general.alignment 2147483648", "a power of two, at least 8",
                                             "puts the tensor data at byte 2147483648", "file ends at byte"}));
    struct Case {
        Value value;
        const char* type;
    };
    for (const Case& c : {Case{string("32"), "string"}, Case{u64(32), "u64"}, Case{i32_array({32}), "array"}}) {
        builder.set("general.alignment", c.value);
        EXPECT_TRUE(says(open_message(builder),
                         {"key general.alignment", std::string("has wrong type ") + c.type, "expected type u32"}));
    }
}

TEST(BadInputHeader, B7RefusesDuplicateKeys) {
    for (const char* name : {"tiny test model", "another"}) {
        GgufBuilder builder = tiny_model();
        builder.append("general.name", string(name));
        const Bytes bytes = builder.bytes();
        EXPECT_TRUE(
            says(open_message(bytes), {"key 'general.name'", "is duplicated", at_byte(bytes.find("general.name") - 8),
                                       at_byte(bytes.rfind("general.name") - 8)}));
    }
}

TEST(BadInputHeader, B7RefusesDuplicateTensors) {
    GgufBuilder builder = tiny_model();
    builder.add_f32("output_norm.weight", {32}, std::vector<float>(32, 1.0f));
    const Bytes bytes = builder.bytes();
    EXPECT_TRUE(says(open_message(bytes),
                     {"tensor 'output_norm.weight' is duplicated", at_byte(bytes.find("output_norm.weight") - 8),
                      at_byte(bytes.rfind("output_norm.weight") - 8)}));
}

TEST(BadInputHeader, B8RefusesSizesThatOverflow) {
    // 2^62 rows of 32 Q8_0 elements: 2^67 bits of elements; each smaller case passes the checks before it.
    struct Case {
        std::vector<uint64_t> ne;
        uint32_t type;
        const char* said;
    };
    const uint64_t big = uint64_t{1} << 31;
    for (const Case& c : {
             Case{{32, uint64_t{1} << 62}, 8, "dimension 1 is 4611686018427387904"},
             Case{{big, big, 4}, 0, "dimension 2 is 4"},         // 2^64 elements: wraps to zero
             Case{{big, big, 2}, 0, "dimension 2 is 2"},         // 2^63 elements: wraps to negative
             Case{{big + 1, big, 4, 2}, 0, "dimension 2 is 4"},  // wraps to a small positive number
             Case{{uint64_t{1} << 63}, 0, "dimension 0 is -9223372036854775808"},
             Case{{uint64_t{1} << 62}, 0, "does not fit 64 bits"},         // elements fit, 2^64 bytes do not
             Case{{uint64_t{1} << 61}, 28, "does not fit 64 bits"},        // f64
             Case{{uint64_t{1} << 61}, 0, "is outside the data section"},  // 2^63 bytes
         }) {
        GgufBuilder builder = tiny_model();
        builder.tensors.push_back({"big", c.ne, c.type, ""});
        EXPECT_TRUE(says(open_message(builder), {"tensor 'big'", c.said}));
    }
}

TEST(BadInputHeader, B8RefusesTensorsWhoseSumOverflows) {
    GgufBuilder builder = tiny_model();
    const uint64_t half = uint64_t{1} << 60;  // f32: 2^62 bytes each, four make 2^64
    for (const char* name : {"a", "b", "c", "d"}) builder.tensors.push_back({name, {half}, 0, ""});
    for (uint64_t i = 0; i < 4; ++i) builder.tensors[builder.tensors.size() - 4 + i].offset = i * half * 4;
    EXPECT_TRUE(says(open_message(builder), {"tensor 'a'", "offset 0 + 4611686018427387904 bytes"}));
}

TEST(BadInputHeader, B9NamesTheVersionsItReads) {
    GgufBuilder builder = tiny_model();
    for (const uint32_t version : {0u, 4u, 0xffffffffu}) {
        builder.version = version;
        EXPECT_TRUE(
            says(open_message(builder), {"version (at byte 4) is " + std::to_string(version), "reads 2 and 3"}));
    }
    builder.version = 1;
    EXPECT_TRUE(says(open_message(builder), {"GGUFv1 is no longer supported", "reads 2 and 3"}));
    for (const uint32_t version : {0x02000000u, 0x03000000u}) {
        builder.version = version;
        EXPECT_TRUE(
            says(open_message(builder),
                 {"big-endian", "is extremely large, is there a mismatch between the host and model endianness?"}));
    }
}

TEST(BadInputHeader, RefusesTensorNamesOfMoreThan63Bytes) {
    GgufBuilder builder;
    builder.add_f32(std::string(63, 'n'), {1}, {1});
    EXPECT_EQ(open_message(builder), "");
    builder.add_f32(std::string(64, 'n'), {1}, {1});
    EXPECT_TRUE(says(open_message(builder), {"the name has 64 bytes; allowed are at most 63"}));
}

TEST(BadInputHeader, EscapesNamesFromTheFile) {
    GgufBuilder builder = tiny_model();
    builder.append("bad\n\x1b[31mkey", u32(1)).append("bad\n\x1b[31mkey", u32(1));
    EXPECT_TRUE(says(open_message(builder), {"key 'bad\\x0a\\x1b[31mkey'"}));
}

TEST(BadInputHeader, CallsUnknownTensorTypesUnsupported) {
    GgufBuilder builder = tiny_model();
    for (const uint32_t type : {4u, 5u, 31u, 33u, 36u, 38u, 43u, 255u, 0xffffffffu}) {
        builder.tensor("blk.0.ffn_up.weight").type = type;
        EXPECT_TRUE(
            says(open_message(builder),
                 {"unsupported type", "tensor 'blk.0.ffn_up.weight' has invalid ggml type " + std::to_string(type)}));
    }
}

TEST(BadInputHeader, RefusesRowsThatAreNoMultipleOfTheBlock) {
    GgufBuilder builder;
    for (const DTypeTraits& type : all_dtypes()) {
        if (type.block_elements == 1 || !dtype_from_id(static_cast<uint32_t>(type.type))) continue;
        builder.tensors = {{"t", {type.block_elements / 2u, 2}, static_cast<uint32_t>(type.type), ""}};
        EXPECT_TRUE(says(open_message(builder),
                         {"tensor 't'", "not a multiple of block size (" + std::to_string(type.block_elements) + ")"}));
    }
}

// ---- loops over whole files ----

TEST(BadInputHeader, B5SaysWhereAFileCutAnywhereEnds) {
    const Image image = tiny_model().build();
    MemoryFile file(image.bytes);
    for (uint64_t size = image.header_bytes; size > 0; --size) {
        file.resize(size);
        const auto result = Gguf::open(file.path());
        ASSERT_FALSE(result) << "cut at byte " << size;
        const std::string& message = result.error().message;
        const bool says_end = says(message, {"file ends at byte " + std::to_string(size), "inside"}) ? true : false;
        // Counts are looked at before what they count.
        const bool says_count = says(message, {"count (at byte", "allowed are 0 to"}) ? true : false;
        ASSERT_TRUE(says_end || says_count) << message;
    }
    file.resize(0);
    EXPECT_TRUE(says(Gguf::open(file.path()).error().message, {"the file is empty (0 bytes)"}));
}

TEST(BadInputHeader, B5SaysThatAFileCutInItsDataIsIncomplete) {
    const Image image = tiny_model().build();
    MemoryFile file(image.bytes);
    for (uint64_t size = image.bytes.size() - 1; size > image.header_bytes + 32; size -= 61) {
        file.resize(size);
        EXPECT_TRUE(says(Gguf::open(file.path()).error().message,
                         {"data is not within the file bounds, model is corrupted or incomplete",
                          "file ends at byte " + std::to_string(size)}));
    }
}

TEST(BadInputHeader, B4SurvivesEveryIntegerSetToItsNeighboursAndExtremes) {
    const Image image = tiny_model("qwen3").build();
    MemoryFile file(image.bytes);
    uint32_t refused = 0, accepted = 0;
    for (const Field& field : image.fields) {
        uint64_t original = 0;
        std::memcpy(&original, image.bytes.data() + field.offset, field.bytes);
        for (const uint64_t value :
             {uint64_t{0}, uint64_t{1}, original - 1, original + 1, uint64_t{INT32_MAX}, uint64_t{1} << 31,
              uint64_t{UINT32_MAX}, uint64_t{INT64_MAX}, uint64_t{1} << 63, UINT64_MAX}) {
            file.write(field.offset, std::string_view(reinterpret_cast<const char*>(&value), field.bytes));
            const auto model = load_model(file.path());
            if (model) {
                ++accepted;
            } else {
                ++refused;
                EXPECT_TRUE(says(model.error().message, {file.path().native()})) << field.what;
            }
        }
        file.write(field.offset, std::string_view(image.bytes).substr(field.offset, field.bytes));
    }
    EXPECT_TRUE(load_model(file.path()));
    // Most changes break the file. Some must not: u32 values with a wide range, names of one byte less.
    EXPECT_GT(refused, 5 * accepted);
    EXPECT_GT(accepted, 0u);
}

}  // namespace bad_input_header_test
}  // namespace riftjit::models
