// A folder's tensors before their names are GGUF's: what a family stores otherwise than its files have it, made anew in
// memory of its own.
#pragma once

#include <functional>

#include "models/folder/json_file.h"
#include "models/folder/safetensors.h"

namespace riftjit::models::folder {

class Rewriter {
public:
    Rewriter(const Config& config, Weights& weights, std::vector<std::unique_ptr<std::byte[]>>& owned)
        : config_(config), weights_(weights), owned_(owned) {}

    const Config& config() const { return config_; }
    std::vector<StoredTensor>& tensors() { return weights_.tensors; }

    StoredTensor* find(std::string_view name);
    // What stands before `part` in the names that end with it.
    std::vector<std::string> stems_of(std::string_view part) const;

    // Leaves out blocks that guess several tokens at once: behind the last layer, or named mtp.
    Result<void> leave_out_drafts();
    // "A.experts.0.B", "A.experts.1.B" and so on become "A.experts.B", one behind the other; gates and ups that are one
    // stack become two.
    Result<void> stack_experts();

    // Element i of the result, as it is stored, is element from(i) of `tensor`.
    StoredTensor gathered(const StoredTensor& tensor, std::string name, std::vector<uint64_t> shape,
                          const std::function<uint64_t(uint64_t)>& from);
    // Rows of `tensor` in an order of their own.
    StoredTensor rows_of(const StoredTensor& tensor, std::string name, const std::vector<uint64_t>& order);
    // Of [A, 2n, W] or [2n, W] the rows [0, n) and [n, 2n) of each, or those with even and with odd numbers.
    enum class Halves : uint8_t { in_order, by_turns };
    Result<void> split_halves(const std::string& name, const std::string& first, const std::string& second,
                              Halves halves);
    // The last two dimensions change places.
    Result<void> transpose(StoredTensor& tensor);
    // Each number v becomes change(v, its index), in f16 if it is stored so, else in f32; bf16 becomes f32.
    Result<void> change_numbers(StoredTensor& tensor, const std::function<float(float, uint64_t)>& change);
    // The same, and bf16 stays bf16: of matrices, whose numbers are rounded once more.
    Result<void> change_matrix(StoredTensor& tensor, const std::function<float(float, uint64_t)>& change);
    // Other extents for as many elements.
    static Result<void> reshape(StoredTensor& tensor, std::vector<uint64_t> shape);
    // Without dimensions of one element, if it is a matrix then.
    static Result<void> squeeze(StoredTensor& tensor);

    // Blocks of 32 codes of four bits, 16 bytes in the order of the elements, and their scales of eight bits each in a
    // tensor of its own, as GGUF's MXFP4: of the rows that `from` gives.
    Result<StoredTensor> mxfp4(const StoredTensor& blocks, const StoredTensor& scales, std::string name, uint64_t rows,
                               const std::function<uint64_t(uint64_t)>& from);

    std::byte* own(uint64_t bytes);
    // Behind changes of names and numbers of tensors.
    void index_again();

private:
    void narrow_to_bf16(StoredTensor& tensor);

    const Config& config_;
    Weights& weights_;
    std::vector<std::unique_ptr<std::byte[]>>& owned_;
};

}  // namespace riftjit::models::folder
