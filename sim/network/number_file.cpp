#include "sim/network/number_file.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <sstream>

#include "sim/files/append_file.h"
#include "sim/files/npy_array.h"

namespace riftjit::sim {

namespace {

bool is_separator(char c) { return std::string_view(" \t\r,").find(c) != std::string_view::npos; }

std::string_view word_at(const char* begin, const char* end) {
    constexpr ptrdiff_t kMostShown = 40;
    return {begin, std::find_if(begin, std::min(end, begin + std::min(kMostShown, end - begin)), is_separator)};
}

}  // namespace

double NumberRows::Row::operator[](uint32_t column) const { return rows_->values_[index_ * rows_->columns_ + column]; }

Result<uint32_t> NumberRows::Row::whole_below(uint32_t column, uint32_t bound) const {
    const double value = (*this)[column];
    if (value >= 0 && value < bound && value == std::floor(value)) return static_cast<uint32_t>(value);
    return fail(ErrorKind::Format, "{}: column {} is {}, not a whole number from 0 to {}", rows_->place(index_),
                column + 1, value, bound - 1);
}

std::string NumberRows::place(uint64_t row) const {
    return lines_.empty() ? fmt::format("{}, row {}", path_, row) : fmt::format("{}:{}", path_, lines_[row]);
}

Result<void> NumberRows::read_text(const std::string& text, const std::vector<uint32_t>& columns) {
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";  // as some editors begin texts in UTF-8
    std::istringstream lines(text.starts_with(kByteOrderMark) ? text.substr(kByteOrderMark.size()) : text);
    uint32_t number = 0;
    columns_ = 0;
    for (std::string line; std::getline(lines, line);) {
        ++number;
        const char* at = line.data();
        const char* const end = at + std::min(line.size(), line.find('#'));
        const size_t before = values_.size();
        const auto skip = [&] { at = std::find_if_not(at, end, is_separator); };
        for (skip(); at != end; skip()) {
            double value = 0;
            const auto [rest, error] = std::from_chars(at, end, value);
            const bool is_whole_word = rest == end || is_separator(*rest);  // not the 1.5 of "1.5.5"
            if (error != std::errc() || !is_whole_word || !std::isfinite(value))
                return fail(ErrorKind::Format, "{}:{}:{}: expected a finite number, found '{}'", path_, number,
                            at - line.data() + 1, printable(word_at(at, end)));
            values_.push_back(value);
            at = rest;
        }
        const auto found = static_cast<uint32_t>(values_.size() - before);
        if (found == 0) continue;
        if (columns_ == 0) columns_ = found;
        if (found != columns_ || std::ranges::find(columns, found) == columns.end())
            return fail(ErrorKind::Format, "{}:{}: {} numbers, expected {}", path_, number, found,
                        fmt::join(lines_.empty() ? columns : std::vector{columns_}, " or "));
        lines_.push_back(number);
    }
    columns_ = std::max(columns_, 1u);
    return {};
}

namespace {

template <class T>
void append_as(const NpyArray& array, std::vector<double>& values) {
    for (uint64_t i = 0; i < array.size(); ++i) {
        T value;
        std::memcpy(&value, array.elements.data() + i * sizeof(T), sizeof(T));
        values.push_back(static_cast<double>(value));
    }
}

}  // namespace

Result<void> NumberRows::read_npy(const std::string& bytes, const std::vector<uint32_t>& columns) {
    const Result<NpyArray> array = parse_npy(bytes);
    if (!array) return fail(ErrorKind::Format, "{}: {}", path_, array.error().message);
    if (array->shape.size() != 2 || std::ranges::find(columns, array->shape[1]) == columns.end())
        return fail(ErrorKind::Format, "{}: an array of shape ({}), expected rows of {}", path_,
                    fmt::join(array->shape, ", "), fmt::join(columns, " or "));
    columns_ = static_cast<uint32_t>(array->shape[1]);
    values_.reserve(array->size());
    if (array->kind == 'f' && array->item_bytes == 8) {
        append_as<double>(*array, values_);
    } else if (array->kind == 'f' && array->item_bytes == 4) {
        append_as<float>(*array, values_);
    } else {
        RIFTJIT_TRY(integers, to_u32(*array));
        values_.assign(integers.begin(), integers.end());
    }
    const auto bad = std::ranges::find_if_not(values_, [](double value) { return std::isfinite(value); });
    if (bad == values_.end()) return {};
    return fail(ErrorKind::Format, "{}: {} is not a finite number", place((bad - values_.begin()) / columns_), *bad);
}

Result<NumberRows> read_number_rows(const std::string& path, const std::vector<uint32_t>& columns,
                                    const SourceText& named_at) {
    const Result<std::string> bytes = read_file(path);
    if (!bytes) return fail(bytes.error().kind, "{}: {}", printable(place(named_at)), printable(bytes.error().message));
    NumberRows rows;
    rows.path_ = path;
    if (bytes->starts_with("\x93NUMPY")) {
        RIFTJIT_TRY_VOID(rows.read_npy(*bytes, columns));
    } else {
        RIFTJIT_TRY_VOID(rows.read_text(*bytes, columns));
    }
    return rows;
}

}  // namespace riftjit::sim
