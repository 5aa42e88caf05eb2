// What models were measured by: importance matrices (--imatrix, --in-file) and what a model said of a text
// (--kl-divergence-base).
#include "engine/log_probability_file.h"
#include "models/quantize/importance.h"
#include "tests/models/gguf/gguf_builder.h"
#include "tests/mutants/campaign.h"

namespace riftjit::mutants {
namespace measured_files_mutants_test {

std::string data(const std::string& name) {
    std::ifstream file(RIFTJIT_SOURCE_DIR "/tests/data/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

TEST(ImportanceMutants, AreRefusedOrRead) {
    Campaign("imatrix", {data("quantize/qwen3moe.imatrix.gguf"), data("quantize/storyteller.imatrix.gguf")},
             [](const std::string& bytes) {
                 models::test::MemoryFile file;
                 file.write(0, bytes);
                 const auto matrix = models::ImportanceMatrix::open(file.path());
                 if (matrix)
                     for (const auto& [name, entry] : matrix->entries)
                         check(entry.means().size() == entry.sums.size(), "each column has a mean");
                 return outcome_of(matrix);
             })
        .run();
}

TEST(LogProbabilityMutants, AreRefusedOrRead) {
    Campaign("log-probabilities", {data("perplexity/nano-q8_0.kld")}, [](const std::string& bytes) -> Outcome {
        models::test::MemoryFile file;
        file.write(0, bytes);
        auto opened = engine::LogProbabilityFile::open(file.path());
        if (!opened) return outcome_of(opened);
        const engine::LogProbabilityHeader& header = opened->header();
        for (uint32_t chunk = 0; chunk < header.chunks; ++chunk) {
            const auto records = opened->next_chunk();
            if (!records) return outcome_of(records);
            const engine::LogRecord record(records->first(header.record_size()));
            for (size_t token = 0; token < header.vocabulary; ++token) static_cast<void>(record.log_probability(token));
        }
        return {};
    }).run();
}

}  // namespace measured_files_mutants_test
}  // namespace riftjit::mutants
