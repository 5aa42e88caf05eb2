// Column programs in tests: columns that end with their padding at an unmapped page, run by a kernel or the reference.
#pragma once

#include <algorithm>
#include <vector>

#include "jit/columns/column_reference.h"
#include "tests/jit/x86/ops/kernel_runner.h"

namespace riftjit::x86 {

// The memory of a program's columns, its scalars and what it fired.
class ColumnMemory {
public:
    ColumnMemory(const ColumnProgramSpec& spec, uint32_t elements)
        : spec_(spec), scalars_(spec.scalars), fired_(round_up(elements, kColumnPadding) + kColumnPadding) {
        for (ColumnType type : spec.columns)
            columns_.emplace_back(round_up(elements, kColumnPadding) * column_bytes(type));
        args_.elements = elements;
    }

    template <class T>
    T* column(size_t index) const {
        return reinterpret_cast<T*>(columns_[index].data());
    }
    double number(size_t column, uint32_t element) const {
        switch (spec_.columns[column]) {
            case ColumnType::f64:
                return this->column<double>(column)[element];
            case ColumnType::f32:
                return this->column<float>(column)[element];
            case ColumnType::u8:
                return this->column<uint8_t>(column)[element];
            case ColumnType::u16:
                return this->column<uint16_t>(column)[element];
            case ColumnType::u32:
                return this->column<uint32_t>(column)[element];
        }
        return 0;
    }
    void set(size_t column, uint32_t element, double number) {
        switch (spec_.columns[column]) {
            case ColumnType::f64:
                this->column<double>(column)[element] = number;
                break;
            case ColumnType::f32:
                this->column<float>(column)[element] = static_cast<float>(number);
                break;
            case ColumnType::u8:
                this->column<uint8_t>(column)[element] = static_cast<uint8_t>(number);
                break;
            case ColumnType::u16:
                this->column<uint16_t>(column)[element] = static_cast<uint16_t>(number);
                break;
            case ColumnType::u32:
                this->column<uint32_t>(column)[element] = static_cast<uint32_t>(number);
                break;
        }
    }
    std::vector<double>& scalars() { return scalars_; }
    const std::vector<uint32_t>& fired() const { return fired_ids_; }  // of all runs since the start
    uint32_t elements() const { return args_.elements; }
    void set_random(uint64_t first_id, uint64_t key, uint64_t step) {
        args_.first_id = first_id, args_.key = key, args_.step = step;
    }

    void run(KernelFunction kernel, uint32_t begin, uint32_t end) {
        bind();
        kernel(&args_, begin, end);
        collect_fired();
    }
    void run(KernelFunction kernel) { run(kernel, 0, args_.elements); }
    void run_reference() {
        bind();
        run_column_program(spec_, args_, 0, args_.elements);
        collect_fired();
    }

private:
    void bind() {
        pointers_.clear();
        for (const auto& column : columns_) pointers_.push_back(column.data());
        args_.columns = pointers_.data();
        args_.scalars = scalars_.data();
        args_.fired = fired_.data();
        args_.fired_count = ~0u;
    }
    void collect_fired() { fired_ids_.insert(fired_ids_.end(), fired_.data(), fired_.data() + args_.fired_count); }

    ColumnProgramSpec spec_;
    std::vector<GuardedBuffer<std::byte>> columns_;
    std::vector<double> scalars_;
    GuardedBuffer<uint32_t> fired_;
    std::vector<uint32_t> fired_ids_;
    std::vector<void*> pointers_;
    ColumnProgramArgs args_{};
};

// Equal bits, or both NaN: which NaN an operation gives depends on the order of its operands.
inline bool same_number(double left, double right) {
    return std::bit_cast<uint64_t>(left) == std::bit_cast<uint64_t>(right) || (std::isnan(left) && std::isnan(right));
}

// The two widths: other levels give the same code (Emission.OnlyMatricesDifferBetweenLevelsOfOneVectorWidth).
inline std::vector<Isa> column_isas() {
    std::vector<Isa> isas;
    for (Isa isa : {Isa::avx2, Isa::avx512})
        if (std::ranges::find(machine_isas(), isa) != machine_isas().end()) isas.push_back(isa);
    return isas;
}

}  // namespace riftjit::x86
