// Finds a model's tensors by name, checks their shapes and types, and adds them to its graph.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "models/model.h"

namespace riftjit::models {

class Weights {
public:
    Weights(const Model& model, graph::Graph& graph) : model_(model), graph_(graph) {}

    // A table of `rows` rows of `width` elements, of any weight type.
    Result<graph::TensorId> matrix(std::string_view name, uint32_t rows, uint32_t width);
    // Rows [first, first + count) of a table of `rows`, under the name "NAME[part]".
    Result<graph::TensorId> matrix_rows(std::string_view name, uint32_t rows, uint32_t width, uint32_t first,
                                        uint32_t count, std::string_view part);
    // A stack of tables, one for each expert or head, and of each the rows [first, first + count).
    Result<graph::TensorId> stack(std::string_view name, uint32_t experts, uint32_t rows, uint32_t width);
    Result<graph::TensorId> stack_rows(std::string_view name, uint32_t experts, uint32_t rows, uint32_t width,
                                       uint32_t first, uint32_t count, std::string_view part);
    // A stack's biases, one row per expert.
    Result<graph::TensorId> optional_stack_vector(std::string_view name, uint32_t experts, uint32_t width);
    // How many rows a table or each of a stack has, as the file says; 0 if it is absent.
    uint32_t rows_of(std::string_view name) const;
    // The first `taken` of every `period` rows from `first` on, of a table of `rows`, likewise.
    Result<graph::TensorId> matrix_row_groups(std::string_view name, uint32_t rows, uint32_t width, uint32_t first,
                                              uint32_t taken, uint32_t period, std::string_view part);
    // Table number `index` of a stack of `tables`.
    Result<graph::TensorId> table_of_stack(std::string_view name, uint32_t tables, uint32_t rows, uint32_t width,
                                           uint32_t index);
    // A gain or a bias, as f32.
    Result<graph::TensorId> vector(std::string_view name, uint32_t width);
    // The first row of a table of as many as there are, as f32.
    Result<graph::TensorId> first_row(std::string_view name, uint32_t width);
    graph::TensorId ones(uint32_t width);  // a gain that changes nothing
    Result<graph::TensorId> vector_part(std::string_view name, uint32_t width, uint32_t first, uint32_t count,
                                        std::string_view part);
    // Row `index` of as many vectors of `width`, in one tensor.
    Result<graph::TensorId> vector_of_rows(std::string_view name, uint32_t rows, uint32_t width, uint32_t index);
    // Of such a row m: taps of a convolution over two rows that mixes each with m of the one before, m x' + (1 - m) x.
    Result<graph::TensorId> shift(std::string_view name, uint32_t rows, uint32_t width, uint32_t index);
    graph::TensorId differences(uint32_t width);  // taps that give x' - x
    // A vector that the file has as `rows` rows of `width`.
    Result<graph::TensorId> rows_as_vector(std::string_view name, uint32_t rows, uint32_t width);
    // Numbers of each channel, as f32 by channel (jit/kernel_spec.h); of channels [first, first + count), which begin
    // with a block.
    Result<graph::TensorId> by_channel(std::string_view name, uint32_t channels, uint32_t numbers);
    Result<graph::TensorId> by_channel_part(std::string_view name, uint32_t channels, uint32_t numbers, uint32_t first,
                                            uint32_t count, std::string_view part);
    Result<graph::TensorId> optional_vector(std::string_view name, uint32_t width);  // kNoTensor if absent
    // The factors of an adapter for a table that matrix() or matrix_rows() gave, whose rows B then has.
    struct LowRank {
        graph::TensorId a, b;
        float scale;
    };
    Result<std::optional<LowRank>> low_rank(const Lora& adapter, graph::TensorId weight);
    // The single f32 by which a matrix's products are multiplied (NVFP4's NAME.scale).
    Result<std::optional<float>> optional_scalar(std::string_view name);

    // A tensor, if it is there, that the computation does without.
    void pass_over(std::string_view name);

    bool has(std::string_view name) const { return model_.file.find_tensor(name) != nullptr; }
    const std::unordered_set<std::string_view>& used() const { return used_; }

private:
    // As find(), whatever dimensions of one element stand between those of width and rows.
    Result<const GgufTensor*> find_rows(std::string_view name, uint32_t rows, uint32_t width);
    Result<const GgufTensor*> find(std::string_view name, std::initializer_list<uint32_t> shape);
    Result<const float*> floats(const GgufTensor& tensor) const;

    const Model& model_;
    graph::Graph& graph_;
    std::unordered_set<std::string_view> used_;
};

}  // namespace riftjit::models
