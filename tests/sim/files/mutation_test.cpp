// Damaged files: every format, a thousand mutations each. What a reader may do is refuse in one line, or read.
#include <random>

#include "tests/sim/files/recordings.h"

namespace riftjit::sim {
namespace {

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

INSTANTIATE_TEST_SUITE_P(Formats, Mutations, testing::ValuesIn(kAllFormats),
                         [](const auto& info) { return std::string(name(info.param)); });

}  // namespace
}  // namespace riftjit::sim
