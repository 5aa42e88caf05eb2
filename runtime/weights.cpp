#include "runtime/weights.h"

#include <algorithm>
#include <cstring>

#include "graph/dequantize.h"

namespace riftjit::runtime {
namespace {

enum class Layout : uint8_t { unused, packed, vector };

constexpr uint64_t kTensorAlignment = 64;

std::vector<Layout> find_layouts(const graph::Graph& graph, std::span<const graph::Plan* const> plans) {
    std::vector<Layout> layouts(graph.tensors.size(), Layout::unused);
    for (const graph::Plan* plan : plans) {
        for (const graph::Step& step : plan->steps) {
            const std::vector<Argument> arguments = signature(step.spec).arguments;
            for (size_t i = 0; i < step.places.size(); ++i) {
                if (step.places[i].kind != graph::Place::Kind::weight) continue;
                const Layout wanted = arguments[i].role == Role::packed ? Layout::packed : Layout::vector;
                Layout& layout = layouts[step.places[i].index];
                check(layout == Layout::unused || layout == wanted, "a weight is a matrix or a vector, not both");
                layout = wanted;
            }
        }
    }
    return layouts;
}

FileTensor file_tensor(const graph::Tensor& tensor, uint32_t matrix) {
    return {tensor.type, tensor.rows, tensor.width, tensor.data + matrix * tensor.matrix_bytes};
}

// Rows that are not neighbours in the file are gathered first. Who has the rows between them still wants the file.
Result<void> pack(const graph::Tensor& tensor, Address to, Device& device, const Device::Release& release) {
    if (tensor.period == 0) {
        const uint64_t packed_bytes = device.backend().packed_bytes(tensor.type, tensor.rows, tensor.width);
        for (uint32_t matrix = 0; matrix < tensor.matrices; ++matrix)
            RIFTJIT_TRY_VOID(device.pack(file_tensor(tensor, matrix), to + matrix * packed_bytes, release));
        return {};
    }
    const size_t bytes = row_bytes(tensor.type, tensor.width);
    std::vector<std::byte> rows(tensor.rows * bytes);
    for (uint32_t row = 0; row < tensor.rows; ++row) std::memcpy(rows.data() + row * bytes, tensor.row(row), bytes);
    FileTensor gathered = file_tensor(tensor, 0);
    gathered.data = rows.data();
    gathered.is_temporary = true;
    return device.pack(gathered, to, {});
}

uint64_t vector_bytes(const graph::Tensor& tensor) { return f32_row_bytes(tensor.width); }

uint64_t bytes_of(const graph::Tensor& tensor, Layout layout, const Backend& backend) {
    if (layout == Layout::unused) return 0;
    if (layout == Layout::vector) return round_up(vector_bytes(tensor), kTensorAlignment);
    return round_up(tensor.matrices * backend.packed_bytes(tensor.type, tensor.rows, tensor.width), kTensorAlignment);
}

// In file order, so that pages of the file are read, packed and released front to back.
std::vector<graph::TensorId> file_order(const graph::Graph& graph, const std::vector<Layout>& layouts) {
    std::vector<graph::TensorId> order;
    for (graph::TensorId id = 0; id < layouts.size(); ++id)
        if (layouts[id] != Layout::unused) order.push_back(id);
    std::ranges::sort(order, {}, [&](graph::TensorId id) { return graph.tensor(id).data; });
    return order;
}

}  // namespace

std::vector<float> vector_weight(const graph::Tensor& tensor) {
    check(tensor.rows == 1, "a vector weight has one row");
    std::vector<float> values(round_up(tensor.width, 16), 0.0f);
    graph::dequantize_row(tensor.type, tensor.data, tensor.width, values.data());
    return values;
}

uint64_t weight_bytes(const graph::Graph& graph, std::span<const graph::Plan* const> plans, const Backend& backend) {
    const std::vector<Layout> layouts = find_layouts(graph, plans);
    uint64_t bytes = 0;
    for (graph::TensorId id = 0; id < layouts.size(); ++id) bytes += bytes_of(graph.tensor(id), layouts[id], backend);
    return bytes;
}

Result<LoadedWeights> load_weights(const graph::Graph& graph, std::span<const graph::Plan* const> plans, Device& device,
                                   const Device::Release& release) {
    const std::vector<Layout> layouts = find_layouts(graph, plans);
    const std::vector<graph::TensorId> order = file_order(graph, layouts);
    LoadedWeights loaded;
    loaded.bytes = weight_bytes(graph, plans, device.backend());
    RIFTJIT_TRY(memory, device.allocate(loaded.bytes, MemoryUse::stream, "the model's weights"));

    loaded.addresses.resize(graph.tensors.size(), nullptr);
    loaded.memory = memory;
    Address next = memory;
    for (const graph::TensorId id : order) {
        const graph::Tensor& tensor = graph.tensor(id);
        loaded.addresses[id] = next;
        if (layouts[id] == Layout::packed) {
            RIFTJIT_TRY_VOID(pack(tensor, next, device, release));
        } else {
            const std::vector<float> values = vector_weight(tensor);
            RIFTJIT_TRY_VOID(device.write(next, std::as_bytes(std::span(values))));
        }
        next += bytes_of(tensor, layouts[id], device.backend());
    }
    return loaded;
}

}  // namespace riftjit::runtime
