// An HDF5 file that grows while a run goes on and is sound at every moment. Rows wait in memory; each flush reserves
// disk space, opens the file in single-writer mode (which orders its writes so that a kill leaves old or new, never
// half), appends and closes it. Between flushes the file is closed: any reader may open it.
#pragma once

#include <functional>

#include "sim/files/hdf5/h5.h"
#include "sim/files/recording.h"

namespace riftjit::sim::h5 {

// How rows of several columns belong together. Where a disk has no room for all rows that wait, the first 2^−halvings
// of them are appended, and a kill may leave some columns longer than others.
class RowGroups {
public:
    virtual ~RowGroups() = default;
    // Per column: of its rows that wait, how many belong to the first 2^−halvings of the groups.
    virtual std::vector<size_t> waiting_rows(unsigned halvings) const = 0;
    // Their rows are in the file: notes there how far it is whole. May neither add nor remove anything.
    virtual void appended(hid_t file, unsigned halvings) = 0;
};

class GrowingFile {
public:
    // `fill` writes everything that does not grow, and makes the datasets that do, by create_growing(). Without groups
    // every column is halved for itself; columns of one length stay so.
    GrowingFile(const std::string& path, const std::function<void(hid_t file)>& fill, RowGroups* groups = nullptr);

    // A growing dataset of rows of extents `row`, as create_growing() has them; returns its number.
    template <class T>
    size_t add_column(const std::string& dataset, const std::vector<hsize_t>& row = {}) {
        size_t row_bytes = sizeof(T);
        for (const hsize_t extent : row) row_bytes *= extent;
        columns_.push_back({dataset, type_of<T>(), row_bytes, chunk_shape(row, sizeof(T)), {}, 0});
        return columns_.size() - 1;
    }
    template <class T>
    void push(size_t column, T value) {
        auto& rows = columns_[column].rows;
        const char* const bytes = reinterpret_cast<const char*>(&value);
        rows.insert(rows.end(), bytes, bytes + sizeof value);
    }
    void push_bytes(size_t column, std::span<const char> bytes) {
        auto& rows = columns_[column].rows;
        rows.insert(rows.end(), bytes.begin(), bytes.end());
    }
    // On a full disk as many rows as it holds are appended; the others go on waiting.
    Result<void> flush();
    Result<void> flush_when_large();
    // Flushes, then changes attributes in place: `change` may neither add nor remove anything.
    Result<void> finish(const std::function<void(hid_t file)>& change);

private:
    struct Column {
        std::string dataset;
        hid_t type;
        size_t row_bytes;
        ChunkShape chunk;
        std::vector<char> rows;  // that wait
        uint64_t written_rows;

        size_t waiting_rows() const { return rows.size() / row_bytes; }
    };
    size_t waiting_bytes() const;
    std::vector<size_t> share(unsigned halvings) const;  // rows per column
    int reserve(std::span<const size_t> rows) const;
    void append_share(unsigned halvings);
    void append_waiting();

    std::string path_;
    RowGroups* groups_;
    std::vector<Column> columns_;
};

}  // namespace riftjit::sim::h5
