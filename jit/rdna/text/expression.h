// Integer expressions of assembly text: numbers, symbols, labels and their differences.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "host/result.h"

namespace riftjit::rdna {

// A number, or a place in a section.
struct AssemblyValue {
    int64_t number = 0;             // or the offset in `section`
    std::optional<size_t> section;  // none for a plain number
};

// What a symbol stands for; nothing if it is not defined (yet).
using SymbolLookup = std::function<std::optional<AssemblyValue>(std::string_view name)>;

// + - * / % << >> & | ^ ~ and parentheses, and the functions by which LLVM since 20 counts what a
// kernel and those it calls need: max, or, alignto, extrasgprs, totalnumvgprs (LLVM, AMDGPUUsage, "AMDGPU-specific
// expressions"). As in every assembler of GNU's syntax * / % << >> bind most, then & | ^, and + - least: 1 << 2 + 1
// is 5.
// `.` is looked up like any symbol.
Result<AssemblyValue> evaluate(std::string_view expression, const SymbolLookup& lookup);

// A number, or an expression of numbers: what any field of an instruction may be.
std::optional<int64_t> parse_number(std::string_view text);

bool names_this_place(std::string_view expression);  // by `.`

}  // namespace riftjit::rdna
