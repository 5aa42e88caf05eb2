#include "tools/bench/bench_printer.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "host/json_text.h"

namespace riftjit::tools {

namespace {

using nlohmann::ordered_json;

// ---- formats whose columns are the JSON keys ------------------------------------------------------------------------

std::string plain_text(const ordered_json& value) {
    if (value.is_string()) return value.get<std::string>();
    if (value.is_boolean()) return value.get<bool>() ? "1" : "0";
    return json_text(value);
}

std::string doubled(const std::string& text, char quote) {
    std::string escaped;
    for (const char c : text) {
        escaped += c;
        if (c == quote) escaped += c;
    }
    return escaped;
}

// Keys and values without the arrays of samples.
std::vector<std::pair<std::string, ordered_json>> columns(const BenchResult& result) {
    std::vector<std::pair<std::string, ordered_json>> columns;
    const ordered_json object = to_json(result);
    for (const auto& [key, value] : object.items())
        if (!value.is_array()) columns.emplace_back(key, value);
    return columns;
}

std::string joined(const BenchResult& result, const std::string& separator,
                   const std::function<std::string(const std::string&, const ordered_json&)>& text) {
    std::string line;
    for (const auto& [key, value] : columns(result)) line += (line.empty() ? "" : separator) + text(key, value);
    return line;
}

class CsvPrinter final : public BenchPrinter {
public:
    explicit CsvPrinter(FILE* file) : file_(file) {}
    void print(const BenchResult& result) override {
        if (!has_header_) fmt::print(file_, "{}\n", joined(result, ",", [](auto& key, auto&) { return key; }));
        has_header_ = true;
        fmt::print(file_, "{}\n",
                   joined(result, ",", [](auto&, auto& value) { return '"' + doubled(plain_text(value), '"') + '"'; }));
    }

private:
    FILE* const file_;
    bool has_header_ = false;
};

class SqlPrinter final : public BenchPrinter {
public:
    explicit SqlPrinter(FILE* file) : file_(file) {}
    void print(const BenchResult& result) override {
        if (!has_header_)
            fmt::print(file_, "CREATE TABLE IF NOT EXISTS llama_bench (\n  {}\n);\n\n",
                       joined(result, ",\n  ", [](auto& key, auto& value) { return key + " " + type(value); }));
        has_header_ = true;
        fmt::print(
            file_, "INSERT INTO llama_bench ({}) VALUES ({});\n",
            joined(result, ", ", [](auto& key, auto&) { return key; }),
            joined(result, ", ", [](auto&, auto& value) { return '\'' + doubled(plain_text(value), '\'') + '\''; }));
    }

private:
    static std::string type(const ordered_json& value) {
        if (value.is_string()) return "TEXT";
        return value.is_number_float() ? "REAL" : "INTEGER";
    }

    FILE* const file_;
    bool has_header_ = false;
};

class JsonPrinter final : public BenchPrinter {
public:
    explicit JsonPrinter(FILE* file) : file_(file) {}
    void print(const BenchResult& result) override {
        fmt::print(file_, "{}{}", is_first_ ? "[\n" : ",\n", json_text(to_json(result), 2));
        is_first_ = false;
    }
    void finish() override { fmt::print(file_, "{}]\n", is_first_ ? "[" : "\n"); }

private:
    FILE* const file_;
    bool is_first_ = true;
};

class JsonLinesPrinter final : public BenchPrinter {
public:
    explicit JsonLinesPrinter(FILE* file) : file_(file) {}
    void print(const BenchResult& result) override { fmt::print(file_, "{}\n", json_text(to_json(result))); }

private:
    FILE* const file_;
};

// ---- Markdown -------------------------------------------------------------------------------------------------------

std::string size_text(uint64_t bytes) {
    constexpr double kMiB = 1 << 20, kGiB = 1 << 30;
    return double(bytes) < kGiB ? fmt::format("{:.2f} MiB", double(bytes) / kMiB)
                                : fmt::format("{:.2f} GiB", double(bytes) / kGiB);
}

std::string count_text(uint64_t parameters) {
    return parameters < 1'000'000'000 ? fmt::format("{:.2f} M", double(parameters) / 1e6)
                                      : fmt::format("{:.2f} B", double(parameters) / 1e9);
}

std::string speed_text(const BenchResult& result) {
    const Statistics speeds = statistics(result.tokens_per_second());
    return fmt::format("{:.2f} ± {:.2f}", speeds.mean, speeds.deviation);
}

struct Column {
    std::string title;
    int width;  // negative: aligned to the left
    std::function<std::string(const BenchResult&)> text;
};

template <class T>
bool differs(const std::vector<T>& values, T usual) {
    return values != std::vector<T>{usual};
}

std::vector<Column> table_columns(const BenchOptions& options) {
    using R = const BenchResult&;
    std::vector<Column> columns = {
        {"model", -30, [](R r) { return r.model.type; }},
        {"size", 10, [](R r) { return size_text(r.model.size_bytes); }},
        {"params", 10, [](R r) { return count_text(r.model.parameters); }},
        {"backend", -10, [](R) { return "CPU"; }},
        {"threads", 7, [](R r) { return std::to_string(r.test.setup.threads); }},
    };
    if (differs(options.batches, 2048u))
        columns.push_back({"n_batch", 7, [](R r) { return std::to_string(r.test.setup.batch); }});
    if (differs(options.ubatches, 512u))
        columns.push_back({"n_ubatch", 8, [](R r) { return std::to_string(r.test.setup.ubatch); }});
    if (differs(options.key_types, DType::F16))
        columns.push_back({"type_k", 6, [](R r) { return std::string(name(r.test.setup.type_k)); }});
    if (differs(options.value_types, DType::F16))
        columns.push_back({"type_v", 6, [](R r) { return std::string(name(r.test.setup.type_v)); }});
    columns.push_back({"test", 15, [](R r) { return test_name(r.test); }});
    columns.push_back({"t/s", 20, speed_text});
    columns.push_back({"% membw", 7, [](R r) { return fmt::format("{:.0f}", to_json(r)["pct_membw"].get<double>()); }});
    columns.push_back({"logits", -8, [](R r) { return r.logits_hash.substr(0, 8); }});
    return columns;
}

// Pads by characters: a plus-minus sign takes two bytes and one column.
std::string padded(const std::string& text, int width) {
    const auto characters = std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; });
    const std::string blanks(std::max<int64_t>(0, std::abs(width) - characters), ' ');
    return width < 0 ? text + blanks : blanks + text;
}

// The time of all threads, by kernel; "steps" are the plan's, "spread" is what the slowest
// thread took above the mean.
std::string profile_table(const BenchResult& result) {
    double all = 0;
    for (const KernelTime& kernel : result.profile) all += kernel.total() + kernel.waiting;
    std::string text = fmt::format(
        "\n{}, one more run: {:.1f} ms of {} threads, longest first\n\n"
        "| {:<44} | steps | {:>9} | {:>5} | spread | waiting ms |\n"
        "| {:-<44} | ----: | --------: | ----: | -----: | ---------: |\n",
        test_name(result.test), 1e3 * all, result.test.setup.threads, "op", "ms", "%", "");
    for (const KernelTime& kernel : result.profile) {
        const double mean = kernel.total() / double(kernel.seconds.size());
        text += fmt::format("| {:<44} | {:>5} | {:>9.2f} | {:>5.1f} | {:>4.0f} % | {:>10.2f} |\n", kernel.op,
                            kernel.steps, 1e3 * kernel.total(), 100 * kernel.total() / all,
                            100 * (std::ranges::max(kernel.seconds) / mean - 1), 1e3 * kernel.waiting);
    }
    return text;
}

class MarkdownPrinter final : public BenchPrinter {
public:
    MarkdownPrinter(const BenchOptions& options, FILE* file) : columns_(table_columns(options)), file_(file) {
        row([](const Column& column) { return padded(column.title, column.width); });
        row([](const Column& column) {
            const std::string dashes(std::abs(column.width) - 1, '-');
            return column.width < 0 ? dashes + "-" : dashes + ":";
        });
    }
    void print(const BenchResult& result) override {
        row([&](const Column& column) { return padded(column.text(result), column.width); });
        if (!result.profile.empty()) profiles_ += profile_table(result);
        footer_ = fmt::format("\nbuild: {} ({}), level {}{}\n", result.build, result.build_number, result.isa,
                              result.prompt_isa == result.isa ? "" : ", of prompts " + result.prompt_isa);
    }
    void finish() override { fmt::print(file_, "{}{}", profiles_, footer_); }

private:
    void row(const std::function<std::string(const Column&)>& cell) {
        std::string line = "|";
        for (const Column& column : columns_) line += " " + cell(column) + " |";
        fmt::print(file_, "{}\n", line);
    }

    const std::vector<Column> columns_;
    FILE* const file_;
    std::string profiles_, footer_;
};

}  // namespace

std::unique_ptr<BenchPrinter> make_printer(BenchFormat format, const BenchOptions& options, FILE* file) {
    switch (format) {
        case BenchFormat::none:
            return nullptr;
        case BenchFormat::md:
            return std::make_unique<MarkdownPrinter>(options, file);
        case BenchFormat::csv:
            return std::make_unique<CsvPrinter>(file);
        case BenchFormat::json:
            return std::make_unique<JsonPrinter>(file);
        case BenchFormat::jsonl:
            return std::make_unique<JsonLinesPrinter>(file);
        case BenchFormat::sql:
            return std::make_unique<SqlPrinter>(file);
    }
    return nullptr;
}

}  // namespace riftjit::tools
