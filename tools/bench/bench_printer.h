// Prints benchmark lines as they come: a Markdown table, CSV, JSON, JSON lines or SQL, as llama-bench does.
#pragma once

#include <cstdio>
#include <memory>

#include "tools/bench/bench_record.h"

namespace riftjit::tools {

class BenchPrinter {
public:
    virtual ~BenchPrinter() = default;
    virtual void print(const BenchResult& result) = 0;
    virtual void finish() {}  // also after failures
};

// Null for BenchFormat::none. Columns of the Markdown table depend on which options differ from their defaults.
std::unique_ptr<BenchPrinter> make_printer(BenchFormat format, const BenchOptions& options, FILE* file);

}  // namespace riftjit::tools
