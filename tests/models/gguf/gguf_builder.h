// Writes tiny GGUF files in memory, any field of which can be made wrong, for tests.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/gguf/gguf.h"

namespace riftjit::models::test {

using Bytes = std::string;

template <class T>
Bytes raw(T value) {
    return Bytes(reinterpret_cast<const char*>(&value), sizeof(T));
}

inline Bytes raw_string(std::string_view text) { return raw(uint64_t{text.size()}) + Bytes(text); }

// A metadata value as it stands in the file, behind its type.
struct Value {
    GgufType type;
    Bytes bytes;
};

inline Value u8(uint8_t value) { return {GgufType::u8, raw(value)}; }
inline Value i32(int32_t value) { return {GgufType::i32, raw(value)}; }
inline Value u32(uint32_t value) { return {GgufType::u32, raw(value)}; }
inline Value u64(uint64_t value) { return {GgufType::u64, raw(value)}; }
inline Value i64(int64_t value) { return {GgufType::i64, raw(value)}; }
inline Value f32(float value) { return {GgufType::f32, raw(value)}; }
inline Value f64(double value) { return {GgufType::f64, raw(value)}; }
inline Value boolean(uint8_t value) { return {GgufType::boolean, raw(value)}; }
inline Value string(std::string_view text) { return {GgufType::string, raw_string(text)}; }

inline Value array_of(GgufType element_type, uint64_t count, const Bytes& elements) {
    return {GgufType::array, raw(static_cast<uint32_t>(element_type)) + raw(count) + elements};
}
inline Value i32_array(const std::vector<int32_t>& values) {
    Bytes bytes;
    for (const int32_t value : values) bytes += raw(value);
    return array_of(GgufType::i32, values.size(), bytes);
}
inline Value string_array(const std::vector<std::string>& texts) {
    Bytes bytes;
    for (const std::string& text : texts) bytes += raw_string(text);
    return array_of(GgufType::string, texts.size(), bytes);
}

struct TestTensor {
    std::string name;
    std::vector<uint64_t> ne;
    uint32_t type;
    Bytes data;
    std::optional<uint64_t> offset = {};      // instead of behind the tensor before; data goes there
    std::optional<uint32_t> dimensions = {};  // instead of ne.size()
};

// An integer of the header or the index: lengths, counts, types, extents, offsets.
struct Field {
    std::string what;
    uint64_t offset;
    uint32_t bytes;
};

struct Image {
    Bytes bytes;
    std::vector<Field> fields;
    uint64_t header_bytes;  // up to the end of the index
};

class GgufBuilder {
public:
    std::string magic = "GGUF";
    uint32_t version = 3;
    uint64_t alignment = 32;                           // of the layout; set the key too if it differs
    std::optional<int64_t> tensor_count, entry_count;  // instead of the true ones
    std::vector<std::pair<std::string, Value>> entries;
    std::vector<TestTensor> tensors;

    GgufBuilder& set(std::string_view key, Value value) {
        for (auto& [existing, old] : entries)
            if (existing == key) return old = std::move(value), *this;
        return append(key, std::move(value));
    }
    GgufBuilder& append(std::string_view key, Value value) {  // even if it is there already
        entries.emplace_back(key, std::move(value));
        return *this;
    }
    GgufBuilder& erase(std::string_view key) {
        std::erase_if(entries, [&](const auto& entry) { return entry.first == key; });
        return *this;
    }
    GgufBuilder& erase_tensor(std::string_view name) {
        std::erase_if(tensors, [&](const TestTensor& tensor) { return tensor.name == name; });
        return *this;
    }
    GgufBuilder& set_alignment(uint32_t value) {
        alignment = value;
        return set("general.alignment", u32(value));
    }
    TestTensor& tensor(std::string_view name) {
        for (TestTensor& tensor : tensors)
            if (tensor.name == name) return tensor;
        check(false, "the builder has the tensor");
        std::unreachable();
    }
    GgufBuilder& add_f32(const std::string& name, std::vector<uint64_t> ne, const std::vector<float>& values) {
        Bytes data(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
        tensors.push_back({name, std::move(ne), 0, std::move(data)});
        return *this;
    }

    Image build() const { return Writer(*this).run(); }
    Bytes bytes() const { return build().bytes; }

private:
    class Writer {
    public:
        explicit Writer(const GgufBuilder& builder) : builder_(builder) {}

        Image run() {
            image_.bytes += builder_.magic;
            add_field("version", builder_.version);
            add_field("tensor count", builder_.tensor_count.value_or(static_cast<int64_t>(builder_.tensors.size())));
            add_field("key-value count", builder_.entry_count.value_or(static_cast<int64_t>(builder_.entries.size())));
            for (const auto& [key, value] : builder_.entries) add_entry(key, value);
            Bytes data;
            for (const TestTensor& tensor : builder_.tensors) add_tensor(tensor, data);
            image_.header_bytes = image_.bytes.size();
            if (!builder_.tensors.empty()) pad(image_.bytes);
            image_.bytes += data;
            return std::move(image_);
        }

    private:
        template <class T>
        void add_field(std::string what, T value) {
            image_.fields.push_back({std::move(what), image_.bytes.size(), sizeof(T)});
            image_.bytes += raw(value);
        }

        void add_entry(const std::string& key, const Value& value) {
            add_field("key length", uint64_t{key.size()});
            image_.bytes += key;
            add_field("type of " + key, static_cast<uint32_t>(value.type));
            const uint64_t start = image_.bytes.size();
            image_.bytes += value.bytes;
            if (value.type == GgufType::string) image_.fields.push_back({"length of " + key, start, 8});
            if (value.type == GgufType::array && value.bytes.size() >= 12) {
                image_.fields.push_back({"element type of " + key, start, 4});
                image_.fields.push_back({"array length of " + key, start + 4, 8});
                if (value.bytes.size() >= 20) image_.fields.push_back({"first element of " + key, start + 12, 8});
            }
            if (value.type == GgufType::u32) image_.fields.push_back({"value of " + key, start, 4});
        }

        void add_tensor(const TestTensor& tensor, Bytes& data) {
            add_field("name length of " + tensor.name, uint64_t{tensor.name.size()});
            image_.bytes += tensor.name;
            add_field("n_dims of " + tensor.name, tensor.dimensions.value_or(static_cast<uint32_t>(tensor.ne.size())));
            for (const uint64_t extent : tensor.ne) add_field("extent of " + tensor.name, extent);
            add_field("type of " + tensor.name, tensor.type);
            pad(data);
            const uint64_t offset = tensor.offset.value_or(data.size());
            add_field("offset of " + tensor.name, offset);
            constexpr uint64_t kMaxTestOffset = 1 << 20;  // offsets beyond are only claimed
            if (offset > kMaxTestOffset) return;
            if (data.size() < offset + tensor.data.size()) data.resize(offset + tensor.data.size());
            std::memcpy(data.data() + offset, tensor.data.data(), tensor.data.size());
        }

        void pad(Bytes& bytes) const {
            bytes.resize((bytes.size() + builder_.alignment - 1) / builder_.alignment * builder_.alignment);
        }

        const GgufBuilder& builder_;
        Image image_ = {};
    };
};

// ---- a valid model: 2 layers, 32 wide, 2 heads of 16, 1 key/value head, 64 tokens ----

inline constexpr uint32_t kTinyWidth = 32, kTinyFfn = 64, kTinyHeads = 2, kTinyKvHeads = 1, kTinyHeadDim = 16,
                          kTinyTokens = 64, kTinyLayers = 2;

class TinyWeights {
public:
    std::vector<float> values(size_t count, float middle, float spread) {
        std::uniform_real_distribution<float> distribution(middle - spread, middle + spread);
        std::vector<float> result(count);
        for (float& value : result) value = distribution(random_);
        return result;
    }
    // Q8_0 rows with a scale of 2^-9: weights within a quarter of 1.
    Bytes q8_0(uint64_t width, uint64_t rows) {
        Bytes bytes;
        for (uint64_t block = 0; block < width / 32 * rows; ++block) {
            bytes += raw(uint16_t{0x1800});
            for (int i = 0; i < 32; ++i) bytes += static_cast<char>(static_cast<int>(random_() % 255) - 127);
        }
        return bytes;
    }

private:
    std::mt19937 random_{20240501};
};

inline std::vector<std::string> tiny_vocabulary() {
    std::vector<std::string> tokens;
    for (char letter = 'A'; letter <= 'z'; ++letter) tokens.emplace_back(1, letter);
    constexpr const char* kSpace = "\xc4\xa0";  // as byte-level vocabularies write it: Ġ
    for (const char* text : {"ab", "abc", kSpace, "<|im_start|>", "<|im_end|>", "<|endoftext|>"})
        tokens.emplace_back(text);
    check(tokens.size() == kTinyTokens, "the tiny vocabulary has 64 tokens");
    return tokens;
}

inline GgufBuilder tiny_model(const std::string& architecture = "llama") {
    GgufBuilder builder;
    const auto key = [&](const char* suffix) { return architecture + "." + suffix; };
    builder.set("general.architecture", string(architecture))
        .set("general.name", string("tiny test model"))
        .set(key("context_length"), u32(128))
        .set(key("embedding_length"), u32(kTinyWidth))
        .set(key("block_count"), u32(kTinyLayers))
        .set(key("feed_forward_length"), u32(kTinyFfn))
        .set(key("attention.head_count"), u32(kTinyHeads))
        .set(key("attention.head_count_kv"), u32(kTinyKvHeads))
        .set(key("attention.layer_norm_rms_epsilon"), f32(1e-5f))
        .set(key("rope.freq_base"), f32(10000.0f))
        .set("tokenizer.ggml.model", string("gpt2"))
        .set("tokenizer.ggml.pre", string("qwen2"))
        .set("tokenizer.ggml.tokens", string_array(tiny_vocabulary()));
    std::vector<int32_t> types(kTinyTokens, 1);
    for (int i = 1; i <= 3; ++i) types[kTinyTokens - i] = 3;  // control
    builder.set("tokenizer.ggml.token_type", i32_array(types))
        .set("tokenizer.ggml.merges", string_array({"a b", "ab c"}))
        .set("tokenizer.ggml.eos_token_id", u32(62))
        .set("tokenizer.ggml.add_bos_token", boolean(0));

    TinyWeights weights;
    const auto add_matrix = [&](const std::string& name, uint64_t rows, uint64_t width) {
        builder.tensors.push_back({name, {width, rows}, 8, weights.q8_0(width, rows)});
    };
    const auto add_gain = [&](const std::string& name, uint64_t width) {
        builder.add_f32(name, {width}, weights.values(width, 1.0f, 0.25f));
    };
    add_matrix("token_embd.weight", kTinyTokens, kTinyWidth);
    for (uint32_t layer = 0; layer < kTinyLayers; ++layer) {
        const std::string block = "blk." + std::to_string(layer) + ".";
        add_gain(block + "attn_norm.weight", kTinyWidth);
        add_matrix(block + "attn_q.weight", kTinyHeads * kTinyHeadDim, kTinyWidth);
        add_matrix(block + "attn_k.weight", kTinyKvHeads * kTinyHeadDim, kTinyWidth);
        add_matrix(block + "attn_v.weight", kTinyKvHeads * kTinyHeadDim, kTinyWidth);
        if (architecture == "qwen3") {
            add_gain(block + "attn_q_norm.weight", kTinyHeadDim);
            add_gain(block + "attn_k_norm.weight", kTinyHeadDim);
        }
        add_matrix(block + "attn_output.weight", kTinyWidth, kTinyHeads * kTinyHeadDim);
        add_gain(block + "ffn_norm.weight", kTinyWidth);
        add_matrix(block + "ffn_gate.weight", kTinyFfn, kTinyWidth);
        add_matrix(block + "ffn_up.weight", kTinyFfn, kTinyWidth);
        add_matrix(block + "ffn_down.weight", kTinyWidth, kTinyFfn);
    }
    add_gain("output_norm.weight", kTinyWidth);
    return builder;
}

// ---- files for the reader to open ----

// A file that lives in memory only; it has a path as long as this object lives.
class MemoryFile {
public:
    explicit MemoryFile(std::string_view bytes = {}) : descriptor_(memfd_create("model.gguf", MFD_CLOEXEC)) {
        check(descriptor_ >= 0, "memfd_create works here");
        write(0, bytes);
    }
    MemoryFile(const MemoryFile&) = delete;
    MemoryFile& operator=(const MemoryFile&) = delete;
    ~MemoryFile() { close(descriptor_); }

    std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }
    void write(uint64_t offset, std::string_view bytes) {
        const ssize_t written = pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
        check(written == static_cast<ssize_t>(bytes.size()), "a memory file takes all bytes");
    }
    void resize(uint64_t size) {
        check(ftruncate(descriptor_, static_cast<off_t>(size)) == 0, "a memory file resizes");
    }

private:
    int descriptor_;
};

// A directory that is removed with everything in it.
class TemporaryDirectory {
public:
    TemporaryDirectory() {
        std::string name = (std::filesystem::temp_directory_path() / "riftjit-test-XXXXXX").string();
        check(mkdtemp(name.data()) != nullptr, "a temporary directory can be made");
        path_ = name;
    }
    TemporaryDirectory(const TemporaryDirectory&) = delete;
    TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
    ~TemporaryDirectory() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    const std::filesystem::path& path() const { return path_; }
    std::filesystem::path write(const std::string& name, std::string_view bytes) const {
        const std::filesystem::path file = path_ / name;
        FILE* stream = std::fopen(file.c_str(), "wb");
        check(stream != nullptr, "a temporary file can be made");
        check(std::fwrite(bytes.data(), 1, bytes.size(), stream) == bytes.size(), "a temporary file takes all bytes");
        std::fclose(stream);
        return file;
    }

private:
    std::filesystem::path path_;
};

}  // namespace riftjit::models::test
