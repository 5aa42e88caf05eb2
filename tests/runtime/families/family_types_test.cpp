// Every family with every type of weights: its tiny file made wider, its matrices of that type, run against the
// reference in double. docs/FAMILY_TYPES.md is the table, of which the test runs two types of each family, so that each
// type has its turn; RIFTJIT_FAMILY_TYPES=all runs every cell, and writes the table with RIFTJIT_BLESS=1; a family's
// name runs that.
#include <cstdlib>
#include <fstream>
#include <set>

#include "graph/reference_run.h"
#include "tests/runtime/families/wide_family.h"
#include "tests/runtime/golden_run.h"

namespace riftjit::runtime {
namespace family_types_test {

constexpr const char* kTable = "docs/FAMILY_TYPES.md";

// f32 rounding, of the logits' deviation, as session_golden_test.cpp argues it.
constexpr double kFloatBound = 5e-5;
// Where rows are rounded before they are multiplied, what that costs depends on the family: running states and small
// residuals raise it tenfold. So it is measured, in double, on the same weights. The processor rounds the same rows,
// but not the same way: one value in thousands lies so near the middle between two codes that f32 takes the other one,
// what comes of it moves the next layer's values by a tenth of a code, and two layers on both noises have nothing but
// their size in common. The largest of thousands of values then differs little; twice as much is seldom seen by chance:
// where one row in ten has five times the noise of the others, in one or the other. So where it is seen, other weights
// are drawn, and what is compared are the sums over all draws, which come closer to each other with every one.
constexpr double kNoises = 2;
constexpr uint32_t kMostDraws = 6;

std::vector<DType> weight_types() {
    std::vector<DType> types;
    for (const DTypeTraits& type : all_dtypes())
        if (type.is_weight) types.push_back(type.type);
    return types;
}

struct Family {
    std::string name;  // of the tiny file
    std::filesystem::path path;
};

std::vector<Family> families() {
    std::vector<Family> found = {{"qwen3", source_path("tests/data/nano/nano-f16.gguf")}};
    for (const char* folder : {"tests/data/families", "tests/data/encoders"})
        for (const auto& entry : std::filesystem::directory_iterator(source_path(folder)))
            if (entry.path().extension() == ".gguf") found.push_back({entry.path().stem(), entry.path()});
    std::ranges::sort(found, {}, &Family::name);
    return found;
}

// ---- a cell ----

const std::vector<int32_t> kPrompt = {17, 5, 44, 23, 9, 61}, kNext = {30, 12};  // within the smallest vocabulary

std::vector<int32_t> all_tokens() {
    std::vector<int32_t> ids = kPrompt;
    ids.insert(ids.end(), kNext.begin(), kNext.end());
    return ids;
}

// Whether routers choose the same experts where their logits are off by as much as those of the rows that were
// multiplied rounded, and kNoises times that: where two are closer, nothing says which one is right.
bool are_choices_steady(const graph::Graph& graph, graph::ReferenceRun& exact, graph::ReferenceRun& rounded) {
    std::mt19937 random(1);
    for (const graph::Node& node : graph.nodes) {
        const auto* const op = std::get_if<graph::ExpertsOp>(&node.op);
        if (op == nullptr) continue;
        const RouteSpec spec = graph::reference::route_spec(graph, *op);
        const graph::TensorId bias_id = op->tensors_of.choice_bias;
        std::vector<double> bias;
        if (bias_id != graph::kNoTensor) {
            const auto* const values = reinterpret_cast<const float*>(graph.tensor(bias_id).data);
            bias.assign(values, values + spec.experts);
        }
        const std::vector<double>&logits = exact.rows(op->logits), &moved = rounded.rows(op->logits);
        double noise = kFloatBound * root_mean_square(logits);
        for (size_t i = 0; i < logits.size(); ++i) noise = std::max(noise, kNoises * std::abs(moved[i] - logits[i]));
        const auto experts_of = [&](std::span<const double> row) {
            std::set<uint32_t> experts;
            for (const auto& choice : graph::reference::route(row.data(), bias.empty() ? nullptr : bias.data(), spec))
                experts.insert(choice.expert);
            return experts;
        };
        for (size_t at = 0; at < logits.size(); at += spec.experts) {
            const std::vector<double> row(logits.begin() + long(at), logits.begin() + long(at + spec.experts));
            const std::set<uint32_t> experts = experts_of(row);
            for (int trial = 0; trial < 16; ++trial) {
                std::vector<double> other = row;
                for (double& logit : other) logit += random() % 2 == 0 ? noise : -noise;
                if (experts_of(other) != experts) return false;
            }
        }
    }
    return true;
}

struct Cell {
    double error = 0, noise = 0;         // of the logits' deviation: what is found, and what rounding costs in double
    uint32_t draws = 0;                  // of weights, whose errors and noises are added up
    std::map<std::string, DType> other;  // parts that got another type than was asked for

    double bound() const { return kNoises * noise + draws * kFloatBound; }
    bool is_fine() const { return error <= bound(); }
};

std::vector<float> on_processor(const graph::Graph& graph, bool is_encoder, KernelCache& cache) {
    auto device = WideFile::take(CpuDevice::create(x86::detect().levels.back(), 2, Helpers::when_useful, cache));
    // No context is longer than what a family's frequencies were made for, or the reference would take others.
    const SessionOptions options{16, 16, DType::F32, DType::F32, "all", 16};
    Session session = WideFile::take(Session::create(graph, options, std::move(device), {}));
    if (is_encoder) return evaluate(session, all_tokens());
    std::vector<float> logits = evaluate(session, kPrompt);
    for (const int32_t id : kNext) {
        const std::vector<float> row = evaluate(session, std::span(&id, 1));
        logits.insert(logits.end(), row.begin(), row.end());
    }
    return logits;
}

template <class T>
double largest_error(std::span<const T> found, std::span<const double> expected) {
    if (found.size() != expected.size()) throw std::runtime_error("the rows are not as many as the reference's");
    double sum = 0, squares = 0, largest = 0;
    for (const double value : expected) sum += value;
    for (const double value : expected) squares += std::pow(value - sum / double(expected.size()), 2);
    const double deviation = std::sqrt(squares / double(expected.size()));
    for (size_t i = 0; i < found.size(); ++i) {
        const double error = std::abs(found[i] - expected[i]) / deviation;
        if (!(error <= largest)) largest = error;  // NaN too
    }
    return largest;
}

class FamilyTypes : public testing::Test {
protected:
    // One for all cells: families share most of their kernels.
    static inline TypeBlocks blocks_;
    static inline KernelCache cache_{x86::compile, DiskCache::disabled()};

    static Cell run(const WideFamily& family, DType type) {
        Cell cell;
        const std::vector<DType> types = family.types_for(type), tiny = family.wide().tiny_types();
        for (size_t i = 0; i < types.size(); ++i)
            if (types[i] != type && types[i] != tiny[i])
                cell.other[part_of(family.wide().tensors()[i].name)] = types[i];
        constexpr uint32_t kMostSeeds = 32;
        for (uint32_t seed = 1; seed <= kMostSeeds; ++seed) {
            models::test::MemoryFile file;
            family.write(file, types, blocks_, seed);
            const models::Model model = WideFile::take(models::load_model(file.path(), kPurpose));
            if (compare(model, cell) && (cell.is_fine() || cell.draws == kMostDraws)) return cell;
        }
        throw std::runtime_error("no seed with steady choices of experts");
    }
    static bool compare(const models::Model& model, Cell& cell) {
        const graph::Graph graph = WideFile::take(model.build());
        graph::Reference reference(graph);
        const std::vector<int32_t> ids = all_tokens();
        std::vector<uint32_t> rows(ids.size());
        std::iota(rows.begin(), rows.end(), 0u);
        const auto run_all = [](graph::ReferenceRun& run) {
            if (auto done = run.run_all(); !done) throw std::runtime_error(done.error().message);
        };
        graph::ReferenceRun exact(reference, ids, rows), rounded(reference, ids, rows);
        run_all(exact);
        reference.reset();
        reference.round_products(
            [](DType of) { return x86::backend(x86::detect().levels.back()).activation_format(of, Activations::i13); });
        run_all(rounded);
        if (!are_choices_steady(graph, exact, rounded)) return false;
        const std::vector<double>& expected = exact.rows(graph.logits);
        cell.noise += largest_error<double>(rounded.rows(graph.logits), expected);
        cell.error += largest_error<float>(on_processor(graph, model.hyperparameters.is_encoder, cache_), expected);
        ++cell.draws;
        return true;
    }
};

// ---- the table ----

using Row = std::vector<std::string>;

Row cells_of(const std::string& line) {
    Row cells;
    for (size_t at = 2; at < line.size();) {
        const size_t end = std::min(line.find(" |", at), line.size());
        cells.push_back(line.substr(at, end - at));
        at = end + 3;
    }
    return cells;
}

std::vector<Row> read_table() {
    std::ifstream file(source_path(kTable));
    std::vector<Row> rows;
    for (std::string line; std::getline(file, line);)
        if (line.starts_with("| ")) rows.push_back(cells_of(line));
    return rows;
}

Row header() {
    Row row = {"file", "architecture"};
    for (const DType type : weight_types()) row.emplace_back(name(type));
    return row;
}

// What stands before the table stays.
void write_table(const std::vector<Row>& rows) {
    std::string text;
    {
        std::ifstream file(source_path(kTable));
        for (std::string line; std::getline(file, line) && !line.starts_with("|");) text += line + "\n";
    }
    std::ofstream file(source_path(kTable));
    file << text << fmt::format("| {} |\n|{}\n", fmt::join(header(), " | "), [] {
        std::string line;
        for (size_t i = 0; i < header().size(); ++i) line += "---|";
        return line;
    }());
    for (const Row& row : rows) file << fmt::format("| {} |\n", fmt::join(row, " | "));
}

TEST_F(FamilyTypes, HaveTheReferencesLogits) {
    const char* const variable = std::getenv("RIFTJIT_FAMILY_TYPES");
    const std::string wanted = variable == nullptr ? "" : variable;
    const std::vector<DType> types = weight_types();
    std::vector<Row> rows;
    double worst = 0;
    std::set<DType> types_run;
    size_t number = 0;
    for (const Family& family : families()) {
        ++number;
        if (!wanted.empty() && wanted != "all" && wanted != family.name) continue;
        SCOPED_TRACE(family.name);
        try {
            const WideFamily wide(family.path);
            Row row = {family.name, wide.wide().architecture()};
            for (size_t i = 0; i < types.size(); ++i) {
                if (wanted.empty() && number % (types.size() / 2) != i % (types.size() / 2)) continue;
                SCOPED_TRACE(name(types[i]));
                const Cell cell = run(wide, types[i]);
                EXPECT_LE(cell.error, cell.bound());
                for (const auto& [part, type] : cell.other) ADD_FAILURE() << part << " became " << name(type);
                if (cell.noise > 0) worst = std::max(worst, cell.error / cell.noise);
                if (!wanted.empty())
                    fmt::print("{:<20} {:<8} error {:.2e}, rounding {:.2e}\n", family.name, name(types[i]), cell.error,
                               cell.noise);
                types_run.insert(types[i]);
                row.emplace_back("+");
            }
            rows.push_back(std::move(row));
        } catch (const std::exception& error) {
            ADD_FAILURE() << error.what();
        }
    }
    RecordProperty("largest_error_by_rounding", std::to_string(worst));
    EXPECT_EQ(types_run.size(), types.size());
    if (wanted == "all" && std::getenv("RIFTJIT_BLESS") != nullptr && !HasFailure()) write_table(rows);
}

TEST_F(FamilyTypes, TheTableHasEveryFamilyAndTypeWithoutAHole) {
    const std::vector<Row> rows = read_table();
    ASSERT_FALSE(rows.empty());
    EXPECT_EQ(rows[0], header());
    std::vector<std::string> names;
    std::set<std::string_view> architectures;
    for (const Row& row : std::span(rows).subspan(1)) {
        ASSERT_EQ(row.size(), header().size()) << row[0];
        names.push_back(row[0]);
        architectures.insert(row[1]);
        for (size_t i = 2; i < row.size(); ++i) EXPECT_EQ(row[i], "+") << row[0] << ", " << rows[0][i];
    }
    std::vector<std::string> files;
    for (const Family& family : families()) files.push_back(family.name);
    EXPECT_EQ(names, files);
    for (const models::Architecture* architecture : models::architectures())
        EXPECT_TRUE(architectures.contains(architecture->name)) << architecture->name << " has no file";
}

}  // namespace family_types_test
}  // namespace riftjit::runtime
