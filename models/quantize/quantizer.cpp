#include "models/quantize/quantizer.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "graph/dequantize.h"
#include "graph/quantize/encode_row.h"
#include "models/gguf/gguf_text.h"

namespace riftjit::models {

namespace {

constexpr uint32_t kBlockVersion = 2;          // of GGML's block types
constexpr uint64_t kSlabBytes = 8 << 20;       // of what is made, at a time
constexpr uint64_t kPieceElements = 32 * 512;  // of rows that a thread takes at a time

uint64_t tensor_rows(const GgufTensor& tensor) {
    uint64_t rows = 1;
    for (size_t i = 1; i < tensor.ne.size(); ++i) rows *= tensor.ne[i];
    return rows;
}

uint64_t experts_of(const GgufTensor& tensor) { return tensor.ne.size() > 2 ? tensor.ne[2] : 1; }

// The tensors of each file to write.
std::vector<std::vector<const GgufTensor*>> divide(const Gguf& file, bool keeps_split) {
    if (!keeps_split) return {tensors_in_order(file)};
    std::vector<std::vector<const GgufTensor*>> parts(file.part_count());
    for (const GgufTensor& tensor : file.tensors()) parts[file.part_of(tensor)].push_back(&tensor);
    return parts;
}

constexpr std::string_view kVersionKey = "general.quantization_version", kTypeKey = "general.file_type";

// What a reader would take for a place in a set, or for an alignment that this file does not have; and what is set
// anew.
bool is_dropped(std::string_view key) {
    return key.starts_with("split.") || key == "general.alignment" || key == kVersionKey || key == kTypeKey;
}

// In llama-quantize's order: what it sets comes last.
void set_metadata(const Gguf& file, const QuantizeOptions& options, GgufWriter& writer) {
    for (const GgufEntry& entry : file.entries())
        if (!is_dropped(entry.key)) writer.copy(entry);
    writer.set_u32(kVersionKey, kBlockVersion);
    const FileType& type = options.types.file_type;
    const GgufEntry* old_type = file.find(kTypeKey);
    if (!type.only_copies)
        writer.set_u32(kTypeKey, uint32_t(type.kind));
    else if (old_type != nullptr)
        writer.copy(*old_type);  // is still what it was
    if (options.importance == nullptr) return;
    writer.set_string("quantize.imatrix.file", options.importance_file);
    if (!options.importance->datasets.empty())
        writer.set_string("quantize.imatrix.dataset", options.importance->datasets.front());
    writer.set_u32("quantize.imatrix.entries_count", uint32_t(options.importance->entries.size()));
    if (options.importance->chunk_count > 0)
        writer.set_u32("quantize.imatrix.chunks_count", options.importance->chunk_count);
}

class Planner {
public:
    Planner(const Gguf& file, const QuantizeOptions& options) : file_(file), options_(options) {}

    Result<Quantization> plan() {
        const auto parts = divide(file_, options_.keeps_split);
        std::vector<const GgufTensor*> all;
        for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
        RIFTJIT_TRY(types, choose_types(file_, all, options_.types));
        size_t index = 0;
        for (size_t number = 0; number < parts.size(); ++number) {
            QuantizedPart part;
            GgufWriter writer;
            if (number == 0) set_metadata(file_, options_, writer);
            if (parts.size() > 1) {
                writer.set_u16("split.no", uint16_t(number));
                writer.set_u16("split.count", uint16_t(parts.size()));
                writer.set_i32("split.tensors.count", int32_t(all.size()));
            }
            for (const GgufTensor* tensor : parts[number]) {
                RIFTJIT_TRY(quantized, plan_tensor(*tensor, types[index++]));
                writer.add_tensor(tensor->name, quantized.type, tensor->ne, quantized.size_bytes);
                part.tensors.push_back(std::move(quantized));
            }
            part.index = writer.finish();
            plan_.parts.push_back(std::move(part));
        }
        warn_of_fallbacks();
        warn_of_missing();
        return std::move(plan_);
    }

private:
    Result<QuantizedTensor> plan_tensor(const GgufTensor& tensor, const ChosenType& chosen) {
        const uint64_t elements = tensor.width() * tensor_rows(tensor);
        if (chosen.type == tensor.type) return QuantizedTensor{&tensor, tensor.type, tensor.size_bytes};
        if (!traits(tensor.type).is_weight)
            return fail(ErrorKind::Unsupported, "{}: is {}, which is no type of weights", file_.place_of(tensor),
                        name(tensor.type));
        if (is_quantized(tensor.type) && !options_.allows_requantizing)
            return fail(ErrorKind::Usage,
                        "{}: requantizing from type {} is disabled; --allow-requantize makes {} of it, which is worse "
                        "than of the original",
                        file_.place_of(tensor), name(tensor.type), name(chosen.type));
        fallbacks_ += chosen.is_fallback;
        if (chosen.is_fallback && first_fallback_.empty())
            first_fallback_ =
                fmt::format("{} of width {} becomes {}", printable(tensor.name), tensor.width(), name(chosen.type));
        QuantizedTensor quantized{&tensor, chosen.type,
                                  elements / traits(chosen.type).block_elements * traits(chosen.type).block_bytes};
        RIFTJIT_TRY(importance, importance_of(tensor));
        quantized.importance = std::move(importance);
        if (chosen.needs_importance && quantized.importance.empty() && !plan_.lacks_importance)
            plan_.lacks_importance = fmt::format("{} ({})", printable(tensor.name), name(chosen.type));
        return quantized;
    }

    Result<std::vector<float>> importance_of(const GgufTensor& tensor) {
        if (options_.importance == nullptr) return std::vector<float>();
        const auto entry = options_.importance->entries.find(std::string(tensor.name));
        const bool is_table = role_of(tensor.name) == TensorRole::embedding;  // is looked up, not multiplied
        if (entry == options_.importance->entries.end()) {
            missing_ += is_table ? 0 : 1;
            if (!is_table && first_missing_.empty()) first_missing_ = printable(tensor.name);
            return std::vector<float>();
        }
        const uint64_t expected = tensor.width() * experts_of(tensor);
        if (entry->second.sums.size() == expected) return entry->second.means();
        if (is_table) return std::vector<float>();
        return fail(ErrorKind::Format, "{}: has {} values for {}, expected {}", options_.importance_file,
                    entry->second.sums.size(), file_.place_of(tensor), expected);
    }

    void warn_of_fallbacks() {
        if (fallbacks_ > 0)
            plan_.warnings.push_back(
                fmt::format("{} tensors have rows that blocks do not divide, and get another type: {}", fallbacks_,
                            first_fallback_));
    }
    void warn_of_missing() {
        if (missing_ > 0)
            plan_.warnings.push_back(fmt::format("{}: has nothing for {} tensors, the first is {}",
                                                 options_.importance_file, missing_, first_missing_));
    }

    const Gguf& file_;
    const QuantizeOptions& options_;
    Quantization plan_;
    size_t fallbacks_ = 0, missing_ = 0;
    std::string first_fallback_, first_missing_;
};

// One tensor's rows, made slab by slab.
class RowMaker {
public:
    RowMaker(const Gguf& file, const QuantizedTensor& tensor, ThreadPool& pool)
        : file_(file),
          quantized_(tensor),
          tensor_(*tensor.tensor),
          pool_(pool),
          width_(tensor_.width()),
          rows_(tensor_rows(tensor_)),
          rows_per_expert_(rows_ / experts_of(tensor_)),
          in_bytes_(row_bytes(tensor_.type, width_)),
          out_bytes_(row_bytes(tensor.type, width_)),
          scratch_(pool.size()) {
        for (Scratch& scratch : scratch_) {
            scratch.values.resize(width_);
            scratch.read.resize(width_);
        }
    }

    Result<TensorError> make(const Append& append) {
        const uint64_t slab_rows = std::clamp<uint64_t>(kSlabBytes / out_bytes_, 1, rows_);
        std::vector<std::byte> slab(slab_rows * out_bytes_);
        for (uint64_t begin = 0; begin < rows_; begin += slab_rows) {
            begin_ = begin;
            end_ = std::min(rows_, begin + slab_rows);
            next_ = begin;
            out_ = slab.data();
            pool_.run([](void* self, uint32_t thread) { static_cast<RowMaker*>(self)->make_rows(thread); }, this);
            if (bad_row_ != UINT64_MAX) return describe_bad_row();
            RIFTJIT_TRY_VOID(append(std::span(slab).first((end_ - begin_) * out_bytes_)));
            file_.drop_pages(tensor_.data.subspan(begin_ * in_bytes_, (end_ - begin_) * in_bytes_));
        }
        double squares = 0;
        for (const Scratch& scratch : scratch_) squares += scratch.squares;
        return TensorError{std::sqrt(squares / double(width_ * rows_))};
    }

private:
    // A cache line apart.
    struct alignas(64) Scratch {
        std::vector<float> values, read;
        double squares = 0;
    };

    void make_rows(uint32_t thread) {
        const uint64_t piece = std::max<uint64_t>(kPieceElements / width_, 1);
        Scratch& scratch = scratch_[thread];
        for (uint64_t first; (first = next_.fetch_add(piece)) < end_;)
            for (uint64_t row = first; row < std::min(first + piece, end_); ++row)
                if (!make_row(row, scratch)) {
                    for (uint64_t bad = bad_row_; row < bad && !bad_row_.compare_exchange_weak(bad, row);) {
                    }
                    return;
                }
    }

    bool make_row(uint64_t row, Scratch& scratch) {
        graph::dequantize_row(tensor_.type, tensor_.data.data() + row * in_bytes_, uint32_t(width_),
                              scratch.values.data());
        for (const float value : scratch.values)
            if (!std::isfinite(value)) return false;
        std::span<const float> importance;
        if (!quantized_.importance.empty())
            importance = std::span(quantized_.importance).subspan(row / rows_per_expert_ * width_, width_);
        std::byte* out = out_ + (row - begin_) * out_bytes_;
        graph::encode_row(quantized_.type, scratch.values, importance, out);
        graph::dequantize_row(quantized_.type, out, uint32_t(width_), scratch.read.data());
        double squares = 0;
        for (size_t i = 0; i < width_; ++i) {
            const double difference = double(scratch.read[i]) - double(scratch.values[i]);
            squares += difference * difference;
        }
        if (!std::isfinite(squares)) return false;
        scratch.squares += squares;
        return true;
    }

    std::unexpected<Error> describe_bad_row() {
        Scratch& scratch = scratch_.front();
        const uint64_t row = bad_row_;
        graph::dequantize_row(tensor_.type, tensor_.data.data() + row * in_bytes_, uint32_t(width_),
                              scratch.values.data());
        const auto not_finite = [](float value) { return !std::isfinite(value); };
        auto bad = std::ranges::find_if(scratch.values, not_finite);
        if (bad == scratch.values.end())
            bad = std::ranges::max_element(scratch.values, {}, [](float value) { return std::fabs(value); });
        return fail(ErrorKind::Format, "{}: element {} of row {} is {}: {} has no value for it",
                    file_.place_of(tensor_), bad - scratch.values.begin(), row, *bad, name(quantized_.type));
    }

    const Gguf& file_;
    const QuantizedTensor& quantized_;
    const GgufTensor& tensor_;
    ThreadPool& pool_;
    uint64_t width_, rows_, rows_per_expert_, in_bytes_, out_bytes_;
    std::vector<Scratch> scratch_;
    uint64_t begin_ = 0, end_ = 0;
    std::atomic<uint64_t> next_ = 0, bad_row_ = UINT64_MAX;
    std::byte* out_ = nullptr;
};

}  // namespace

uint64_t Quantization::bytes() const {
    uint64_t bytes = 0;
    for (const QuantizedPart& part : parts)
        for (const QuantizedTensor& tensor : part.tensors) bytes += tensor.size_bytes;
    return bytes;
}

uint64_t Quantization::bytes_before() const {
    uint64_t bytes = 0;
    for (const QuantizedPart& part : parts)
        for (const QuantizedTensor& tensor : part.tensors) bytes += tensor.tensor->size_bytes;
    return bytes;
}

uint64_t Quantization::elements() const {
    uint64_t elements = 0;
    for (const QuantizedPart& part : parts)
        for (const QuantizedTensor& tensor : part.tensors)
            elements += tensor.tensor->width() * tensor_rows(*tensor.tensor);
    return elements;
}

Result<Quantization> plan_quantization(const Gguf& file, const QuantizeOptions& options) {
    return Planner(file, options).plan();
}

Result<void> write_quantized(const Gguf& file, const QuantizedPart& part, ThreadPool& pool, const Append& append,
                             const TensorDone& done) {
    uint64_t written = 0;
    const Append counted = [&](std::span<const std::byte> bytes) {
        written += bytes.size();
        return append(bytes);
    };
    RIFTJIT_TRY_VOID(counted(part.index.header));
    for (size_t i = 0; i < part.tensors.size(); ++i) {
        const QuantizedTensor& tensor = part.tensors[i];
        RIFTJIT_TRY_VOID(counted(std::vector<std::byte>(part.index.offsets_bytes[i] - written)));
        std::optional<TensorError> error;
        if (tensor.type == tensor.tensor->type) {
            RIFTJIT_TRY_VOID(counted(tensor.tensor->data));
        } else {
            RIFTJIT_TRY(made, RowMaker(file, tensor, pool).make(counted));
            error = made;
        }
        file.drop_pages(tensor.tensor->data);
        done(tensor, error);
    }
    return counted(std::vector<std::byte>(part.index.file_bytes - written));
}

}  // namespace riftjit::models
