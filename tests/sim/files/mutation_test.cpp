// Damaged files: every format, a thousand mutations each. What a reader may do is refuse in one line, or read.
#include <random>

#include "sim/files/recording_source.h"
#include "tests/sim/files/recordings.h"

namespace riftjit::sim {
namespace mutation_test {

class Mutations : public RecordingFiles, public testing::WithParamInterface<RecordingFormat> {};

// Changes a few bytes or bits, cuts, repeats or removes a part.
std::string mutate(std::string bytes, std::mt19937& random) {
    const auto below = [&](size_t limit) { return std::uniform_int_distribution<size_t>(0, limit - 1)(random); };
    switch (below(6)) {
        case 0:
            bytes.resize(below(bytes.size()));
            break;
        case 1: {
            const size_t start = below(bytes.size());
            bytes.erase(start, 1 + below(64));
            break;
        }
        case 2: {
            const size_t start = below(bytes.size());
            bytes.insert(below(bytes.size()), bytes.substr(start, 1 + below(64)));
            break;
        }
        case 3: {  // a run of one value: sizes and addresses become huge
            const size_t start = below(bytes.size());
            const size_t length = std::min<size_t>(1 + below(8), bytes.size() - start);
            bytes.replace(start, length, length, below(2) == 0 ? '\xFF' : '\0');
            break;
        }
        default:
            for (size_t i = 0, count = 1 + below(8); i < count; ++i)
                bytes[below(bytes.size())] = static_cast<char>(below(256));
    }
    return bytes;
}

TEST_P(Mutations, AreReadOrRefusedInOneLine) {
    const std::string whole = path("whole"), damaged = path("damaged");
    const Recording recording = sample_recording(60);
    ASSERT_TRUE(write_recording(whole, GetParam(), recording));
    const std::string bytes = read_bytes(whole);
    std::mt19937 random(1);
    size_t refused = 0;
    for (int round = 0; round < 1000; ++round) {
        write_bytes(damaged, mutate(bytes, random));
        const auto read = read_recording(damaged);
        if (read) continue;
        ++refused;
        const std::string& text = read.error().message;
        ASSERT_TRUE(text.starts_with(damaged + ": ")) << round << ": " << text;
        ASSERT_EQ(text.find('\n'), std::string::npos) << round << ": " << text;
    }
    EXPECT_GT(refused, 100u);
}

// PATH.part by the way that holds it and by the way that does not: both refuse in one line, or give the same spikes.
TEST_F(RecordingFiles, InPartAreReadAlikeFromDiskAndInMemory) {
    const std::string damaged = path("damaged.part");
    auto writer = start_recording(path("whole"), RecordingFormat::npz, sample_header());
    ASSERT_TRUE(writer) << message(writer);
    for (uint32_t step = 0; step < 400; step += 40) {
        ASSERT_TRUE((*writer)->append_spikes(sample_spikes(step, step + 40)));
        ASSERT_TRUE((*writer)->append_weights(0, sample_weights(step, step + 40)));
    }
    const std::string bytes = read_bytes(path("whole.part"));
    std::mt19937 random(2);
    size_t opened = 0;
    for (int round = 0; round < 1000; ++round) {
        write_bytes(damaged, round == 0 ? bytes : mutate(bytes, random));
        const auto held = read_recording(damaged);
        const auto source = open_recording(damaged);
        for (const std::string& text : {message(held), message(source)})
            ASSERT_TRUE(text == "no error" || (text.starts_with(damaged + ": ") && text.find('\n') == text.npos))
                << text;
        ASSERT_EQ(held.has_value(), source.has_value()) << message(held) << "; " << message(source);
        if (!held) continue;
        ++opened;
        ASSERT_EQ((*source)->metadata().summary, held->summary);
        ASSERT_EQ((*source)->metadata().header, held->header);
    }
    EXPECT_GT(opened, 50u);
}

INSTANTIATE_TEST_SUITE_P(Formats, Mutations, testing::ValuesIn(kAllFormats),
                         [](const auto& info) { return std::string(name(info.param)); });

}  // namespace mutation_test
}  // namespace riftjit::sim
