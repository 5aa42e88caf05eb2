#include "models/gguf/gguf.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "tests/models/expect_message.h"

namespace riftjit::models {
namespace gguf_test {

using namespace test;

Gguf open_or_die(const MemoryFile& file) {
    auto result = Gguf::open(file.path());
    check(result.has_value(), result ? "" : result.error().message);
    return *result;
}

TEST(Gguf, ReadsBothVersions) {
    for (const uint32_t version : {2u, 3u}) {
        GgufBuilder builder = tiny_model();
        builder.version = version;
        const MemoryFile file(builder.bytes());
        EXPECT_EQ(open_or_die(file).version(), version);
    }
}

TEST(Gguf, KeepsEntriesAndTensorsInFileOrder) {
    const GgufBuilder builder = tiny_model();
    const MemoryFile file(builder.bytes());
    const Gguf gguf = open_or_die(file);
    ASSERT_EQ(gguf.entries().size(), builder.entries.size());
    for (size_t i = 0; i < builder.entries.size(); ++i) EXPECT_EQ(gguf.entries()[i].key, builder.entries[i].first);
    ASSERT_EQ(gguf.tensors().size(), builder.tensors.size());
    for (size_t i = 0; i < builder.tensors.size(); ++i) {
        const GgufTensor& tensor = gguf.tensors()[i];
        EXPECT_EQ(tensor.name, builder.tensors[i].name);
        EXPECT_EQ(tensor.ne, builder.tensors[i].ne);
        ASSERT_EQ(tensor.data.size(), builder.tensors[i].data.size());
        EXPECT_EQ(std::memcmp(tensor.data.data(), builder.tensors[i].data.data(), tensor.data.size()), 0);
    }
    EXPECT_EQ(gguf.file_bytes(), builder.bytes().size());
}

TEST(Gguf, RecordsWhereThingsStandInTheFile) {
    const Image image = tiny_model().build();
    const MemoryFile file(image.bytes);
    const Gguf gguf = open_or_die(file);
    for (const GgufEntry& entry : gguf.entries())
        EXPECT_EQ(image.bytes.substr(entry.offset_bytes + 8, entry.key.size()), entry.key);
    for (const GgufTensor& tensor : gguf.tensors()) {
        EXPECT_EQ(image.bytes.substr(tensor.info_offset_bytes + 8, tensor.name.size()), tensor.name);
        EXPECT_EQ(std::memcmp(image.bytes.data() + tensor.data_offset_bytes, tensor.data.data(), tensor.data.size()),
                  0);
    }
}

TEST(Gguf, ReadsEveryValueType) {
    GgufBuilder builder;
    builder.set("u8", u8(200))
        .set("i8", {GgufType::i8, raw(int8_t{-3})})
        .set("u16", {GgufType::u16, raw(uint16_t{60000})});
    builder.set("i16", {GgufType::i16, raw(int16_t{-300})}).set("u32", u32(4000000000u)).set("i32", i32(-70000));
    builder.set("u64", u64(UINT64_MAX)).set("i64", i64(INT64_MIN)).set("f32", f32(0.5f)).set("f64", f64(-1e300));
    builder.set("yes", boolean(1)).set("no", boolean(0)).set("text", string("fox"));
    const MemoryFile file(builder.bytes());
    const Gguf gguf = open_or_die(file);
    EXPECT_EQ(std::get<uint64_t>(gguf.find("u8")->value), 200u);
    EXPECT_EQ(std::get<int64_t>(gguf.find("i8")->value), -3);
    EXPECT_EQ(std::get<uint64_t>(gguf.find("u16")->value), 60000u);
    EXPECT_EQ(std::get<int64_t>(gguf.find("i16")->value), -300);
    EXPECT_EQ(std::get<uint64_t>(gguf.find("u32")->value), 4000000000u);
    EXPECT_EQ(std::get<int64_t>(gguf.find("i32")->value), -70000);
    EXPECT_EQ(std::get<uint64_t>(gguf.find("u64")->value), UINT64_MAX);
    EXPECT_EQ(std::get<int64_t>(gguf.find("i64")->value), INT64_MIN);
    EXPECT_EQ(std::get<double>(gguf.find("f32")->value), 0.5);
    EXPECT_EQ(std::get<double>(gguf.find("f64")->value), -1e300);
    EXPECT_TRUE(std::get<bool>(gguf.find("yes")->value));
    EXPECT_FALSE(std::get<bool>(gguf.find("no")->value));
    EXPECT_EQ(gguf.string("text")->value(), "fox");
    EXPECT_EQ(gguf.find("absent"), nullptr);
}

TEST(Gguf, ReadsArraysOfEveryWidth) {
    GgufBuilder builder;
    builder.set("bytes", array_of(GgufType::u8, 3, "\x01\x80\xff"));
    builder.set("halves", array_of(GgufType::i16, 2, raw(int16_t{-5}) + raw(int16_t{7})));
    builder.set("floats", array_of(GgufType::f32, 2, raw(1.5f) + raw(-2.0f)));
    builder.set("flags", array_of(GgufType::boolean, 2, std::string("\x01\x00", 2)));
    builder.set("texts", string_array({"a", "", "fox"})).set("none", array_of(GgufType::u64, 0, ""));
    const MemoryFile file(builder.bytes());
    const Gguf gguf = open_or_die(file);
    EXPECT_EQ(gguf.integers("bytes")->value(), (std::vector<int64_t>{1, 128, 255}));
    EXPECT_EQ(gguf.integers("halves")->value(), (std::vector<int64_t>{-5, 7}));
    EXPECT_EQ(gguf.integers("flags")->value(), (std::vector<int64_t>{1, 0}));
    EXPECT_EQ(gguf.numbers("floats")->value(), (std::vector<double>{1.5, -2.0}));
    EXPECT_EQ(gguf.numbers("halves")->value(), (std::vector<double>{-5, 7}));
    EXPECT_EQ(gguf.strings("texts")->value(), (std::vector<std::string_view>{"a", "", "fox"}));
    EXPECT_TRUE(gguf.integers("none")->value().empty());
    EXPECT_FALSE(gguf.strings("absent")->has_value());
}

TEST(Gguf, NamesKeyTypeAndRangeWhenAValueDoesNotServe) {
    GgufBuilder builder;
    builder.set("text", string("7")).set("minus", i32(-1)).set("seven", u32(7)).set("real", f32(1.5f));
    builder.set("list", i32_array({1, 2}))
        .set("texts", string_array({"a"}))
        .set("huge", array_of(GgufType::u64, 1, raw(UINT64_MAX)));
    const MemoryFile file(builder.bytes());
    const Gguf gguf = open_or_die(file);
    EXPECT_TRUE(says(gguf.integer("text", 0, 9).error().message,
                     {"key 'text' (at byte 24)", "key text has wrong type string but expected type integer"}));
    EXPECT_TRUE(says(gguf.integer("minus", 0, 9).error().message, {"key 'minus'", "is -1; allowed are 0 to 9"}));
    EXPECT_TRUE(says(gguf.integer("seven", 0, 6).error().message, {"key 'seven'", "is 7; allowed are 0 to 6"}));
    EXPECT_TRUE(says(gguf.integer("seven", 8, 9).error().message, {"key 'seven'", "is 7; allowed are 8 to 9"}));
    EXPECT_TRUE(says(gguf.integer("real", 0, 9).error().message, {"wrong type f32 but expected type integer"}));
    EXPECT_TRUE(says(gguf.integer("list", 0, 9).error().message, {"expected scalar, found array for key: list"}));
    EXPECT_TRUE(says(gguf.require_integer("absent", 0, 9).error().message, {"key not found in model: absent"}));
    EXPECT_TRUE(says(gguf.require_string("absent").error().message, {"missing key absent"}));
    EXPECT_TRUE(says(gguf.string("seven").error().message, {"wrong type u32 but expected type string"}));
    EXPECT_TRUE(says(gguf.boolean("seven").error().message, {"wrong type u32 but expected type bool"}));
    EXPECT_TRUE(says(gguf.number("text").error().message, {"wrong type string but expected type f32"}));
    EXPECT_TRUE(
        says(gguf.strings("list").error().message, {"wrong type array of i32 but expected type array of string"}));
    EXPECT_TRUE(says(gguf.strings("text").error().message, {"wrong type string but expected type array of string"}));
    EXPECT_TRUE(
        says(gguf.integers("texts").error().message, {"wrong type array of string but expected type array of i32"}));
    EXPECT_TRUE(
        says(gguf.numbers("texts").error().message, {"wrong type array of string but expected type array of f32"}));
    EXPECT_TRUE(says(gguf.integers("huge").error().message, {"element 0 is 18446744073709551615"}));
}

TEST(Gguf, TakesAnyIntegerTypeForAnInteger) {
    for (const Value& value : {u8(7), i32(7), u32(7), u64(7), i64(7)}) {
        GgufBuilder builder;
        builder.set("n", value);
        const MemoryFile file(builder.bytes());
        EXPECT_EQ(open_or_die(file).require_integer("n", 7, 7).value(), 7u);
        EXPECT_EQ(open_or_die(file).number("n")->value(), 7.0);
    }
}

// ---- odd, but accepted ----

TEST(Gguf, AcceptsGapsBetweenTensors) {
    GgufBuilder builder;
    builder.add_f32("a", {2}, {1, 2}).add_f32("b", {2}, {3, 4});
    builder.tensor("b").offset = 4096;
    const MemoryFile file(builder.bytes());
    EXPECT_EQ(std::memcmp(open_or_die(file).find_tensor("b")->data.data(), builder.tensor("b").data.data(), 8), 0);
}

TEST(Gguf, AcceptsTensorsInAnyOrder) {
    GgufBuilder builder;
    builder.add_f32("a", {2}, {1, 2}).add_f32("b", {2}, {3, 4}).add_f32("c", {2}, {5, 6});
    builder.tensor("a").offset = 64;
    builder.tensor("b").offset = 32;
    builder.tensor("c").offset = 0;
    const MemoryFile file(builder.bytes());
    const Gguf gguf = open_or_die(file);
    for (const TestTensor& tensor : builder.tensors)
        EXPECT_EQ(std::memcmp(gguf.find_tensor(tensor.name)->data.data(), tensor.data.data(), 8), 0) << tensor.name;
}

TEST(Gguf, AcceptsAlignmentsThatArePowersOfTwoFromEight) {
    for (const uint32_t alignment : {8u, 16u, 64u, 4096u}) {
        GgufBuilder builder;
        builder.add_f32("a", {3}, {1, 2, 3}).add_f32("b", {3}, {4, 5, 6}).set_alignment(alignment);
        const MemoryFile file(builder.bytes());
        const Gguf gguf = open_or_die(file);
        EXPECT_EQ(gguf.find_tensor("b")->data_offset_bytes % alignment, 0u);
        EXPECT_EQ(std::memcmp(gguf.find_tensor("b")->data.data(), builder.tensor("b").data.data(), 12), 0);
    }
}

TEST(Gguf, AcceptsEmptyStringsEmptyTensorsScalarsAndEmptyNames) {
    GgufBuilder builder;
    builder.set("text", string("")).set("texts", string_array({"", ""}));
    builder.tensors.push_back({"scalar", {}, 0, raw(2.5f)});
    builder.tensors.push_back({"", {0}, 0, ""});
    builder.tensors.push_back({"nothing", {32, 0, 7}, 8, ""});
    const MemoryFile file(builder.bytes());
    const Gguf gguf = open_or_die(file);
    EXPECT_EQ(gguf.find_tensor("scalar")->size_bytes, 4u);
    EXPECT_EQ(gguf.find_tensor("scalar")->width(), 1u);
    EXPECT_EQ(gguf.find_tensor("")->size_bytes, 0u);
    EXPECT_EQ(gguf.find_tensor("nothing")->rows(), 0u);
}

TEST(Gguf, WarnsOfBooleansThatAreNeitherZeroNorOne) {
    GgufBuilder builder;
    builder.set("flag", boolean(7)).set("flags", array_of(GgufType::boolean, 2, "\x01\x02")).set("fine", boolean(1));
    const MemoryFile file(builder.bytes());
    const Gguf gguf = open_or_die(file);
    EXPECT_TRUE(gguf.boolean("flag")->value());
    ASSERT_EQ(gguf.warnings().size(), 2u);
    EXPECT_TRUE(says(gguf.warnings()[0], {"key 'flag' (at byte 24)", "bool is stored as 7"}));
    EXPECT_TRUE(says(gguf.warnings()[1], {"key 'flags'", "bool is stored as 2"}));
}

TEST(Gguf, AcceptsAFileOfMetadataOnly) {
    GgufBuilder builder;
    builder.set("general.architecture", string("llama"));
    EXPECT_EQ(open_message(builder), "");
}

TEST(Gguf, AcceptsPaddingBehindTheLastTensor) {
    Bytes bytes = tiny_model().bytes();
    bytes.resize(bytes.size() + 4096);
    EXPECT_EQ(open_message(bytes), "");
}

TEST(Gguf, OutlivesItsFileName) {
    const TemporaryDirectory directory;
    const auto path = directory.write("model.gguf", tiny_model().bytes());
    const auto gguf = Gguf::open(path);
    ASSERT_TRUE(gguf);
    std::filesystem::remove(path);
    const std::span data = gguf->find_tensor("output_norm.weight")->data;
    EXPECT_EQ(std::memcmp(data.data(), tiny_model().tensor("output_norm.weight").data.data(), data.size()), 0);
}

TEST(Gguf, NoticesStringsThatChangeWhileInUse) {
    GgufBuilder builder;
    builder.set("texts", string_array({"one", "two"}));
    Image image = builder.build();
    MemoryFile file(image.bytes);
    const Gguf gguf = open_or_die(file);
    file.write(image.bytes.find("one") - 8, raw(uint64_t{1} << 40));
    EXPECT_TRUE(says(gguf.strings("texts").error().message, {"key 'texts'", "string 0 has changed"}));
}

TEST(Gguf, ReadsDroppedPagesAgainFromTheFile) {
    GgufBuilder builder;
    std::vector<float> values(100000);
    std::iota(values.begin(), values.end(), 0.0f);
    builder.add_f32("first", {values.size()}, values).add_f32("second", {values.size()}, values);
    const MemoryFile file(builder.bytes());
    const Gguf gguf = open_or_die(file);
    for (const GgufTensor& tensor : gguf.tensors()) gguf.drop_pages(tensor.data);
    gguf.drop_pages({});
    for (const GgufTensor& tensor : gguf.tensors())
        EXPECT_EQ(std::memcmp(tensor.data.data(), values.data(), tensor.data.size()), 0);
}

TEST(Gguf, DropsNoPagesOfOtherMemory) {
    const MemoryFile file(tiny_model().bytes());
    const std::vector<std::byte> heap(1 << 20, std::byte{7});
    open_or_die(file).drop_pages(heap);
    EXPECT_EQ(std::ranges::count(heap, std::byte{7}), 1 << 20);
}

TEST(Gguf, OpensTheTestModelsOfEveryType) {
    uint32_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(RIFTJIT_SOURCE_DIR "/tests/data/nano")) {
        const auto gguf = Gguf::open(entry.path());
        ASSERT_TRUE(gguf) << gguf.error().message;
        EXPECT_EQ(gguf->tensors().size(), 24u);
        // nano-q4_k.gguf: the projections are of the type that the name says.
        const std::string stem = entry.path().stem().string().substr(5);
        EXPECT_EQ(traits(gguf->find_tensor("blk.0.ffn_up.weight")->type).name, stem);
        ++files;
    }
    EXPECT_EQ(files, 28u);
}

// ---- names in messages ----

TEST(Printable, KeepsTextAndEscapesTheRest) {
    EXPECT_EQ(printable("blk.0.attn_q.weight"), "blk.0.attn_q.weight");
    EXPECT_EQ(printable("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
    EXPECT_EQ(printable(std::string_view("a\n\0\x1b[31m\x7f", 9)), "a\\x0a\\x00\\x1b[31m\\x7f");
    EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3");  // not UTF-8
    EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");  // a control (CSI)
    EXPECT_EQ(printable("\xe2\x80\xae"
                        "txt"),
              "\\xe2\\x80\\xae"
              "txt");  // reorders a line
}

TEST(Printable, CutsAtSixtyFourCharacters) {
    EXPECT_EQ(printable(std::string(64, 'x')), std::string(64, 'x'));
    EXPECT_EQ(printable(std::string(65, 'x')), std::string(64, 'x') + "...");
    EXPECT_EQ(printable(std::string(1 << 20, '\n')).size(), 64 * 4 + 3u);
}

}  // namespace gguf_test
}  // namespace riftjit::models
