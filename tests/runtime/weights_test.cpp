#include "runtime/weights.h"

#include <gtest/gtest.h>

#include <cstring>

#include "graph/graph.h"
#include "host/half.h"
#include "jit/x86/backend.h"

namespace riftjit::runtime {
namespace weights_test {

// Remembers what it was asked to do; "packs" by copying.
class RecordingDevice final : public Device {
public:
    const Backend& backend() const override { return x86::backend(Isa::avx2); }
    Result<Address> allocate(uint64_t bytes, MemoryUse, std::string_view) override {
        return memory.emplace_back(bytes).data();
    }
    Result<void> write(Address to, std::span<const std::byte> bytes) override {
        std::memcpy(to, bytes.data(), bytes.size());
        ++writes;
        return {};
    }
    Result<void> read(std::span<std::byte> to, Address from) const override {
        std::memcpy(to.data(), from, to.size());
        return {};
    }
    Result<void> copy(Address to, Address from, uint64_t bytes) override {
        std::memcpy(to, from, bytes);
        return {};
    }
    Result<void> pack(const FileTensor& tensor, Address to, const Release& release) override {
        const uint64_t bytes = tensor.rows * row_bytes(tensor.type, tensor.width);
        packed.push_back(tensor.data);
        std::memcpy(to, tensor.data, bytes);
        if (release) release({tensor.data, bytes});
        return {};
    }
    Result<std::unique_ptr<BoundPlan>> bind(const graph::Plan&, const Addresses&) override {
        return fail(ErrorKind::Unsupported, "this device runs nothing");
    }
    Result<void> make_ready() override { return {}; }
    Result<double> read_rate(Address, uint64_t) const override { return 1.0; }
    Result<void> lock(Address, uint64_t) const override { return {}; }

    std::vector<std::vector<std::byte>> memory;
    std::vector<const std::byte*> packed;
    int writes = 0;
};

struct Fixture {
    std::vector<float> table = std::vector<float>(8 * 16, 0.5f), gain = std::vector<float>(16, 2.0f);
    std::vector<uint16_t> bias = std::vector<uint16_t>(8);
    graph::Graph graph;
    graph::TensorId table_id, gain_id, bias_id, unused_id;
    graph::Plan plan;

    Fixture() {
        for (size_t i = 0; i < bias.size(); ++i) bias[i] = float_to_half(float(i) - 3.5f);
        const auto bytes = [](const auto& values) { return reinterpret_cast<const std::byte*>(values.data()); };
        table_id = graph.add_weight("table", DType::F32, 8, 16, bytes(table));
        gain_id = graph.add_weight("gain", DType::F32, 1, 16, bytes(gain));
        bias_id = graph.add_weight("bias", DType::F16, 1, 8, bytes(bias));
        unused_id = graph.add_weight("unused", DType::F32, 1, 16, bytes(gain));
        using graph::Place;
        const auto weight = [](graph::TensorId id) { return Place{Place::Kind::weight, 0, id}; };
        const Place arena{Place::Kind::arena, 0, 0}, ids{Place::Kind::token_ids, 0, 0};
        plan.steps.push_back({"embed", EmbedSpec{DType::F32, 16}, {weight(table_id), ids, arena}});
        plan.steps.push_back({"norm",
                              RmsNormSpec{16, 1e-5f, Presence::present, Addend::none, RowFormat::f32},
                              {arena, Place{}, weight(gain_id), arena}});
        plan.steps.push_back({"output",
                              MatmulSpec{DType::F32, 8, 16, 16, MatmulForm::vector, Epilogue::store, Presence::present},
                              {weight(table_id), weight(bias_id), arena, arena}});
    }
};

TEST(Weights, ATiedTableIsPackedOnceForAllPlans) {
    Fixture fixture;
    RecordingDevice device;
    std::vector<std::span<const std::byte>> released;
    const graph::Plan* plans[] = {&fixture.plan, &fixture.plan};
    const auto loaded = load_weights(fixture.graph, plans, device, [&](auto range) { released.push_back(range); });
    ASSERT_TRUE(loaded) << loaded.error().message;
    ASSERT_EQ(device.packed.size(), 1u);
    EXPECT_EQ(device.packed[0], fixture.graph.tensor(fixture.table_id).data);
    ASSERT_EQ(released.size(), 1u);
    EXPECT_EQ(released[0].data(), device.packed[0]);
    EXPECT_EQ(loaded->addresses[fixture.unused_id], nullptr) << "nobody reads it";
    EXPECT_EQ(std::memcmp(loaded->addresses[fixture.table_id], fixture.table.data(), 8 * 16 * 4), 0);
}

TEST(Weights, VectorsBecomePaddedF32) {
    Fixture fixture;
    RecordingDevice device;
    const graph::Plan* plans[] = {&fixture.plan};
    const auto loaded = load_weights(fixture.graph, plans, device, {});
    ASSERT_TRUE(loaded);
    EXPECT_EQ(device.writes, 2) << "gain and bias";
    const auto* const bias = reinterpret_cast<const float*>(loaded->addresses[fixture.bias_id]);
    for (int i = 0; i < 16; ++i) EXPECT_EQ(bias[i], i < 8 ? float(i) - 3.5f : 0.0f);
    for (const graph::TensorId id : {fixture.table_id, fixture.gain_id, fixture.bias_id})
        EXPECT_EQ((loaded->addresses[id] - device.memory[0].data()) % 64, 0) << "aligned like the memory";
}

TEST(Weights, OneBlockHoldsThemAll) {
    Fixture fixture;
    RecordingDevice device;
    const graph::Plan* plans[] = {&fixture.plan};
    const auto loaded = load_weights(fixture.graph, plans, device, {});
    ASSERT_TRUE(loaded);
    ASSERT_EQ(device.memory.size(), 1u);
    EXPECT_EQ(device.memory[0].size(), loaded->bytes);
    EXPECT_EQ(loaded->bytes, 16u * 16 * 4 + 64 + 64);
}

}  // namespace weights_test
}  // namespace riftjit::runtime
