// Numbers in columns: a text file ("#" starts a comment; blanks, tabs or commas between numbers) or a NumPy .npy array
// of two dimensions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/equations/source_text.h"

namespace riftjit::sim {

class NumberRows {
public:
    class Row {
    public:
        double operator[](uint32_t column) const;
        // A column that holds a whole number below `bound`.
        Result<uint32_t> whole_below(uint32_t column, uint32_t bound) const;
        std::string place() const { return rows_->place(index_); }

    private:
        friend class NumberRows;
        Row(const NumberRows& rows, uint64_t index) : rows_(&rows), index_(index) {}
        const NumberRows* rows_;
        uint64_t index_;
    };
    class Iterator {
    public:
        Row operator*() const { return {*rows_, index_}; }
        Iterator& operator++() {
            ++index_;
            return *this;
        }
        bool operator==(const Iterator&) const = default;

    private:
        friend class NumberRows;
        Iterator(const NumberRows& rows, uint64_t index) : rows_(&rows), index_(index) {}
        const NumberRows* rows_;
        uint64_t index_;
    };

    Iterator begin() const { return {*this, 0}; }
    Iterator end() const { return {*this, size()}; }
    uint64_t size() const { return values_.size() / columns_; }
    uint32_t columns() const { return columns_; }

private:
    friend Result<NumberRows> read_number_rows(const std::string&, const std::vector<uint32_t>&, const SourceText&);
    Result<void> read_text(const std::string& text, const std::vector<uint32_t>& columns);
    Result<void> read_npy(const std::string& bytes, const std::vector<uint32_t>& columns);
    std::string place(uint64_t row) const;  // "spikes.txt:12", "spikes.npy, row 11"

    std::string path_;
    uint32_t columns_ = 1;
    std::vector<double> values_;
    std::vector<uint32_t> lines_;  // of the rows of a text
};

// `columns`: how many there may be. Every number is finite. A file that cannot be opened is an error `named_at` the
// place in the network; one within it names its own line.
Result<NumberRows> read_number_rows(const std::string& path, const std::vector<uint32_t>& columns,
                                    const SourceText& named_at);

}  // namespace riftjit::sim
