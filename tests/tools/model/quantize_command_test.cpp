// `riftjit quantize` as a user calls it: what it writes, runs and refuses.
#include <fstream>
#include <nlohmann/json.hpp>

#include "models/folder/model_file.h"
#include "models/gguf/gguf.h"
#include "models/gguf/gguf_writer.h"
#include "tests/host/scratch.h"
#include "tests/tools/program.h"

namespace riftjit::tools {
namespace quantize_command_test {

using models::Gguf;
using models::GgufTensor;

const std::string kNano = RIFTJIT_SOURCE_DIR "/tests/data/nano/nano-";

class QuantizeCommand : public testing::Test {
protected:
    Outcome quantize(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), "quantize");
        return program_.run(arguments);
    }
    std::string out(const std::string& name = "out.gguf") const { return (program_.folder() / name).string(); }
    // A file of NAME.in_sum2 and NAME.counts, with 1 for each column but 100 for each tenth.
    std::string write_importance(const Gguf& model, std::string_view leave_out = "", std::string_view emptied = "") {
        models::GgufWriter writer;
        writer.set_string("general.type", "imatrix");
        writer.set_strings("imatrix.datasets", std::vector<std::string>{"a.txt"});
        writer.set_u32("imatrix.chunk_count", 3);
        writer.set_u32("imatrix.chunk_size", 512);
        std::string data;
        const auto add = [&](const std::string& name, const std::vector<float>& values, size_t width) {
            const std::vector<uint64_t> ne = {width, values.empty() ? 1 : values.size() / width};
            writer.add_tensor(name, DType::F32, ne, values.size() * sizeof(float));
            std::string bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
            bytes.resize((bytes.size() + 31) / 32 * 32);
            data += bytes;
        };
        for (const GgufTensor& tensor : model.tensors()) {
            if (tensor.ne.size() < 2 || tensor.name == "token_embd.weight" || tensor.name == leave_out) continue;
            std::vector<float> sums(tensor.width(), 2);
            for (size_t i = 0; i < sums.size(); i += 10) sums[i] = 200;
            if (tensor.name == emptied) sums.clear();
            add(std::string(tensor.name) + ".in_sum2", sums, sums.size());
            add(std::string(tensor.name) + ".counts", {2}, 1);
        }
        const models::GgufIndex index = writer.finish();
        std::ofstream file(out("imatrix.gguf"), std::ios::binary);
        file.write(reinterpret_cast<const char*>(index.header.data()), std::streamsize(index.header.size()));
        file << data;
        return out("imatrix.gguf");
    }
    Program program_;
};

TEST_F(QuantizeCommand, WritesAFileThatRuns) {
    const Outcome outcome = quantize({kNano + "f32.gguf", out(), "Q4_K_M", "2"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    EXPECT_TRUE(
        matches(outcome.out, "out.gguf: Q4_K_M, [0-9]+ tensors, [0-9]+ bytes of [0-9]+, [0-9.]+ bits per weight\n"));
    const auto file = Gguf::open(out());
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(*file->require_integer("general.file_type", 0, 99), 15u);
    EXPECT_EQ(*file->require_integer("general.quantization_version", 0, 99), 2u);
    EXPECT_EQ(file->find_tensor("token_embd.weight")->type, DType::Q6_K);  // the output, too
    EXPECT_EQ(file->find_tensor("blk.0.ffn_up.weight")->type, DType::Q4_K);
    EXPECT_EQ(file->find_tensor("output_norm.weight")->type, DType::F32);
    const auto original = Gguf::open(kNano + "f32.gguf");
    for (const models::GgufEntry& entry : original->entries()) EXPECT_NE(file->find(entry.key), nullptr) << entry.key;
    const Outcome run = program_.run({"run", "-m", out(), "--prompt-ids", "5,60,7", "-n", "4", "--temp", "0"});
    EXPECT_EQ(run.exit_code, 0) << run.err;
}

TEST_F(QuantizeCommand, BytesDoNotDependOnThreads) {
    for (const std::string type : {"Q4_K_S", "Q3_K_M", "Q8_0"}) {
        ASSERT_EQ(quantize({kNano + "bf16.gguf", out("1.gguf"), type, "1", "--force"}).exit_code, 0);
        ASSERT_EQ(quantize({kNano + "bf16.gguf", out("3.gguf"), type, "--force", "-t", "3"}).exit_code, 0);
        EXPECT_EQ(read_whole(out("1.gguf")), read_whole(out("3.gguf"))) << type;
    }
}

TEST_F(QuantizeCommand, QuantisesFoldersAsTheirFiles) {
    const std::string folder = RIFTJIT_SOURCE_DIR "/tests/data/folders/qwen3";
    ASSERT_EQ(program_.run({"convert", folder, out("whole.gguf")}).exit_code, 0);
    ASSERT_EQ(quantize({folder, out("a.gguf"), "Q8_0"}).exit_code, 0);
    ASSERT_EQ(quantize({out("whole.gguf"), out("b.gguf"), "7"}).exit_code, 0);
    const auto a = Gguf::open(out("a.gguf")), b = Gguf::open(out("b.gguf"));
    ASSERT_TRUE(a && b);
    ASSERT_EQ(a->tensors().size(), b->tensors().size());
    for (const GgufTensor& tensor : a->tensors()) {
        const GgufTensor* other = b->find_tensor(tensor.name);
        ASSERT_NE(other, nullptr);
        EXPECT_EQ(tensor.type, other->type);
        EXPECT_TRUE(std::ranges::equal(tensor.data, other->data)) << tensor.name;
    }
}

TEST_F(QuantizeCommand, TellsWithoutWriting) {
    const Outcome outcome = quantize({kNano + "f16.gguf", "Q2_K", "--dry-run"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_TRUE(matches(outcome.out, "blk.0.attn_v.weight +f16 -> q3_k"));
    EXPECT_TRUE(has_text(outcome.out, "(nothing written)"));
    const Outcome told = quantize({kNano + "f16.gguf", "Q2_K", "--dry-run", "--json"});
    const auto json = nlohmann::json::parse(told.out);
    EXPECT_EQ(json["written"], false);
    ASSERT_EQ(quantize({kNano + "f16.gguf", out(), "Q2_K"}).exit_code, 0);
    const auto file = Gguf::open(out());
    uint64_t bytes = 0;
    for (const GgufTensor& tensor : file->tensors()) bytes += tensor.size_bytes;
    EXPECT_EQ(json["bytes"], bytes);
}

TEST_F(QuantizeCommand, NamesTheFileWhereNoneIsGiven) {
    std::filesystem::copy_file(kNano + "f16.gguf", out("m.gguf"));
    const Outcome outcome = quantize({out("m.gguf"), "q5_0", "2"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(*Gguf::open(out("ggml-model-Q5_0.gguf"))->require_integer("general.file_type", 0, 99), 8u);
}

TEST_F(QuantizeCommand, ReportsEachTensorsError) {
    const Outcome outcome = quantize({kNano + "f32.gguf", out(), "Q8_0", "--json"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    size_t with_error = 0;
    const auto json = nlohmann::json::parse(outcome.out);
    for (const auto& tensor : json["tensors"]) {
        if (!tensor.contains("rmse")) continue;
        EXPECT_GT(tensor["rmse"], 0);
        EXPECT_LT(tensor["rmse"], 0.01);
        EXPECT_EQ(tensor["type"], "q8_0");
        ++with_error;
    }
    EXPECT_GT(with_error, 10u);
}

TEST_F(QuantizeCommand, TakesImportance) {
    const auto model = Gguf::open(kNano + "f32.gguf");
    const std::string importance = write_importance(*model);
    ASSERT_EQ(quantize({kNano + "f32.gguf", out("plain.gguf"), "Q4_K_M"}).exit_code, 0);
    const Outcome outcome = quantize({kNano + "f32.gguf", out(), "Q4_K_M", "--imatrix", importance});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    const auto file = Gguf::open(out()), plain = Gguf::open(out("plain.gguf"));
    EXPECT_EQ(*file->require_string("quantize.imatrix.file"), importance);
    EXPECT_EQ(*file->require_string("quantize.imatrix.dataset"), "a.txt");
    EXPECT_EQ(*file->require_integer("quantize.imatrix.chunks_count", 0, 99), 3u);
    EXPECT_GT(*file->require_integer("quantize.imatrix.entries_count", 0, 99), 10u);
    const auto changed = [&](const Gguf& other, const char* name) {
        return !std::ranges::equal(other.find_tensor(name)->data, plain->find_tensor(name)->data);
    };
    EXPECT_TRUE(changed(*file, "blk.0.ffn_up.weight"));
    ASSERT_EQ(quantize({kNano + "f32.gguf", out("some.gguf"), "Q4_K_M", "--imatrix", importance, "--exclude-weights",
                        "ffn_up", "--exclude-weights", "attn"})
                  .exit_code,
              0);
    const auto some = Gguf::open(out("some.gguf"));
    EXPECT_FALSE(changed(*some, "blk.0.ffn_up.weight"));
    EXPECT_TRUE(changed(*some, "blk.0.ffn_down.weight"));
    const Outcome missing = quantize(
        {kNano + "f32.gguf", out("less.gguf"), "Q4_K_M", "--imatrix", write_importance(*model, "blk.1.ffn_up.weight")});
    EXPECT_EQ(missing.exit_code, 0);
    EXPECT_TRUE(has_text(missing.err, "has nothing for 1 tensors, the first is blk.1.ffn_up.weight"));
    // Q2_K_S asks for it.
    EXPECT_EQ(quantize({kNano + "f32.gguf", out("s.gguf"), "Q2_K_S", "--imatrix", write_importance(*model)}).exit_code,
              0);
    const Outcome without = quantize({kNano + "f32.gguf", out("t.gguf"), "Q2_K_S"});
    EXPECT_EQ(without.exit_code, 1);
    EXPECT_TRUE(has_text(without.err, "Q2_K_S needs an importance matrix (--imatrix)"));
}

TEST_F(QuantizeCommand, KeepsPartsOfASplitModel) {
    const auto model = Gguf::open(kNano + "f16.gguf");
    const size_t half = model->tensors().size() / 2;
    for (size_t part = 0; part < 2; ++part) {
        models::GgufWriter writer;
        if (part == 0)
            for (const models::GgufEntry& entry : model->entries()) writer.copy(entry);
        writer.set_u16("split.no", uint16_t(part));
        writer.set_u16("split.count", 2);
        writer.set_i32("split.tensors.count", int32_t(model->tensors().size()));
        std::string data;
        for (const GgufTensor& tensor :
             model->tensors().subspan(part * half, part == 0 ? half : model->tensors().size() - half)) {
            writer.add_tensor(tensor.name, tensor.type, tensor.ne, tensor.size_bytes);
            data.append(reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size());
            data.resize((data.size() + 31) / 32 * 32);
        }
        const models::GgufIndex index = writer.finish();
        std::ofstream file(out(fmt::format("m-0000{}-of-00002.gguf", part + 1)), std::ios::binary);
        file.write(reinterpret_cast<const char*>(index.header.data()), std::streamsize(index.header.size()));
        file << data;
    }
    const std::string first = out("m-00001-of-00002.gguf");
    ASSERT_EQ(quantize({first, out("joined.gguf"), "Q4_0"}).exit_code, 0);
    const Outcome outcome = quantize({first, out("parts.gguf"), "Q4_0", "--keep-split"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const auto joined = Gguf::open(out("joined.gguf")), parts = Gguf::open(out("parts-00001-of-00002.gguf"));
    ASSERT_TRUE(joined) << joined.error().message;
    ASSERT_TRUE(parts) << parts.error().message;
    EXPECT_EQ(joined->find("split.count"), nullptr);
    EXPECT_EQ(parts->part_count(), 2u);
    ASSERT_EQ(parts->tensors().size(), joined->tensors().size());
    for (const GgufTensor& tensor : joined->tensors())
        EXPECT_TRUE(std::ranges::equal(tensor.data, parts->find_tensor(tensor.name)->data)) << tensor.name;
}

TEST_F(QuantizeCommand, RefusesWhatCannotBe) {
    std::filesystem::copy_file(kNano + "f16.gguf", out("m.gguf"));
    std::ofstream(out("there.gguf")) << "precious";
    std::ofstream(out("rules")) << "ffn_up=q8_0\nnonsense\n";
    const std::string model = out("m.gguf"), fresh = out("fresh.gguf");
    struct Refused {
        std::vector<std::string> arguments;
        std::string message;
    };
    const std::vector<Refused> cases = {
        {{model, fresh, "Q4_K_X"}, "\"Q4_K_X\" is not known, expected one of Q1_0, Q2_0, Q4_0"},
        {{model, fresh}, "is no type, and none follows"},
        {{model, "Q4_0", "2", "3"}, "a word too many: \"3\""},
        {{model, fresh, "Q4_0", "0"}, "0 is out of range, expected an integer from 1 to 4096"},
        {{model, fresh, "Q4_0", "two"}, "expected an integer, got \"two\""},
        {{model, fresh, "Q4_0", "2", "-t", "3"}, "-t 3 and NTHREADS 2 are the same"},
        {{model, model, "Q4_0", "--force"}, "is a file of the model; name another"},
        {{model, out("there.gguf"), "Q4_0"}, "exists; --force overwrites it"},
        {{model, out("nowhere/x.gguf"), "Q4_0"}, "there is no folder"},
        {{out("absent.gguf"), fresh, "Q4_0"}, "No such file or directory"},
        {{out("there.gguf"), fresh, "Q4_0"}, "there.gguf"},
        {{kNano + "q4_0.gguf", fresh, "Q8_0"}, "requantizing from type q4_0 is disabled"},
        {{model, fresh, "IQ2_XS"}, "IQ2_XS needs an importance matrix (--imatrix)"},
        {{model, fresh, "Q4_0", "--tensor-type", "ffn_up"}, "expected PATTERN=TYPE, got \"ffn_up\""},
        {{model, fresh, "Q4_0", "--tensor-type", "ffn_up=q9"}, "\"q9\" is not known, expected one of f32"},
        {{model, fresh, "Q4_0", "--tensor-type", "ffn_(=q8_0"}, "is no regular expression"},
        {{model, fresh, "Q4_0", "--tensor-type-file", out("rules")}, "expected PATTERN=TYPE, got \"nonsense\""},
        {{model, fresh, "Q4_0", "--output-tensor-type", "i32"}, "\"i32\" is not known, expected one of f32"},
        {{model, fresh, "Q4_0", "--imatrix", model}, "is no importance matrix"},
        {{model, fresh, "Q4_0", "--include-weights", "x"}, "go with --imatrix"},
    };
    for (const auto& [arguments, message] : cases) {
        const Outcome outcome = quantize(arguments);
        EXPECT_EQ(outcome.exit_code, 1) << message;
        EXPECT_EQ(outcome.out, "") << message;
        EXPECT_TRUE(has_text(outcome.err, message)) << message << ": " << outcome.err;
        EXPECT_FALSE(std::filesystem::exists(fresh)) << message;
    }
    EXPECT_EQ(read_whole(out("there.gguf")), "precious");
    EXPECT_EQ(quantize({kNano + "q4_0.gguf", fresh, "Q8_0", "--allow-requantize"}).exit_code, 0);
}

// Nothing is copied from where nothing is, which asan-ubsan would say.
TEST_F(QuantizeCommand, RefusesAnImportanceMatrixWithAnEmptyTensor) {
    const auto model = Gguf::open(kNano + "f32.gguf");
    const std::string matrix = write_importance(*model, "", "blk.0.ffn_up.weight");
    const Outcome outcome = quantize({kNano + "f32.gguf", out(), "Q4_0", "--imatrix", matrix});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_TRUE(has_text(outcome.err, "'blk.0.ffn_up.weight.in_sum2' (info at byte 864): has no values"))
        << outcome.err;
}

TEST_F(QuantizeCommand, RefusesValuesThatAreNoNumbers) {
    std::string bytes = read_whole(kNano + "f32.gguf");
    const auto model = Gguf::open(kNano + "f32.gguf");
    const GgufTensor* tensor = model->find_tensor("blk.1.ffn_up.weight");
    const uint64_t at = tensor->data_offset_bytes + 4 * (tensor->width() * 3 + 7);
    const auto with = [&](float value) {
        std::memcpy(bytes.data() + at, &value, sizeof value);
        std::ofstream(out("bad.gguf"), std::ios::binary) << bytes;
    };
    with(NAN);
    Outcome outcome = quantize({out("bad.gguf"), out(), "Q4_K_M"});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_TRUE(matches(outcome.err, "blk.1.ffn_up.weight.*element 7 of row 3 is -?nan")) << outcome.err;
    with(1e9f);  // no f16 scale has a sixteenth of it
    outcome = quantize({out("bad.gguf"), out(), "Q4_0"});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_TRUE(matches(outcome.err, "blk.1.ffn_up.weight.*element 7 of row 3 is 1000000000: q4_0 has no value for it"))
        << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(out()));
}

}  // namespace quantize_command_test
}  // namespace riftjit::tools
