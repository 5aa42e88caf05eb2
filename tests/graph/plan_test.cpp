#include "graph/plan.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/graph/tiny_graph.h"

namespace riftjit::graph {
namespace plan_test {

PassSet all_but(std::string_view name) {
    PassSet passes = parse_passes("all").value();
    passes.erase(name);
    return passes;
}

const test::PlanBackend kBackend;

Plan plan_of(const test::TinyModel& model, uint32_t tokens, const PassSet& passes, uint32_t outputs = 1) {
    const Graph graph = apply_passes(model.graph, passes);
    auto plan =
        make_plan(graph, {.backend = &kBackend, .max_tokens = tokens, .max_outputs = outputs, .passes = passes});
    EXPECT_TRUE(plan) << (plan ? "" : plan.error().message);
    return *plan;
}

// Bytes that a launch touches through each pointer, and whether it writes there.
struct Touch {
    Place place;
    uint64_t bytes;
    bool writes, reads;
};

std::vector<Touch> touches(const Step& step, const Plan& plan) {
    std::vector<Touch> list;
    const std::vector<Argument> arguments = signature(step.spec).arguments;
    for (size_t i = 0; i < step.places.size(); ++i) {
        const Argument& argument = arguments[i];
        const bool gathers = std::holds_alternative<GatherRowsSpec>(step.spec) && !writes(argument.access);
        const uint64_t rows = uint64_t(step.rows == StepRows::batch || gathers ? plan.max_tokens : plan.max_outputs) *
                              step.rows_each * argument.rows_each;
        uint64_t stride = argument.stride_bytes;
        if (const auto* matmul = std::get_if<MatmulSpec>(&step.spec); matmul != nullptr && !argument.format)
            stride =
                kBackend.row_bytes(kBackend.activation_format(matmul->weight, matmul->activations), argument.width);
        else if (stride == 0 && argument.role == Role::rows)
            stride = kBackend.row_bytes(*argument.format, argument.width);
        list.push_back({step.places[i], argument.role == Role::rows ? stride * rows : 1, writes(argument.access),
                        reads(argument.access)});
    }
    return list;
}

// Executes a plan on symbols: every write stores an expression made of what the launch read; 64-byte granules.
uint64_t symbolic_logits(const Plan& plan) {
    using Cell = std::pair<int, uint64_t>;
    std::map<Cell, uint64_t> memory;
    const auto cells = [&](const Touch& touch, auto&& visit) {
        const int kind = static_cast<int>(touch.place.kind);
        if (touch.place.kind == Place::Kind::none || touch.place.kind == Place::Kind::weight ||
            touch.place.kind == Place::Kind::token_ids)
            return;
        if (touch.place.kind != Place::Kind::arena) return visit(Cell{kind, touch.place.index});
        for (uint64_t at = touch.place.offset_bytes; at < touch.place.offset_bytes + touch.bytes; at += 64)
            visit(Cell{kind, at});
    };
    for (const Step& step : plan.steps) {
        const auto list = touches(step, plan);
        uint64_t value = std::hash<std::string>{}(step.name + describe(step.spec));
        for (const Touch& touch : list) {
            if (!touch.reads) continue;
            uint64_t first = 0;
            bool is_first = true;
            cells(touch, [&](Cell cell) {
                const uint64_t seen = memory.contains(cell) ? memory[cell] : 0;
                if (is_first) first = seen, is_first = false;
                EXPECT_EQ(seen, first) << step.name << ": an operand was partly overwritten";
            });
            value = value * 0x9E3779B97F4A7C15ull + first + 1;
        }
        for (const Touch& touch : list)
            if (touch.writes) cells(touch, [&](Cell cell) { memory[cell] = value; });
    }
    const auto logits = memory.find({static_cast<int>(Place::Kind::arena), plan.logits_offset_bytes});
    return logits == memory.end() ? 0 : logits->second;
}

bool overlap(const Touch& a, const Touch& b) {
    if (a.place.kind != b.place.kind || a.place.kind == Place::Kind::none) return false;
    if (a.place.kind != Place::Kind::arena) return a.place.index == b.place.index;
    return a.place.offset_bytes < b.place.offset_bytes + b.bytes &&
           b.place.offset_bytes < a.place.offset_bytes + a.bytes;
}

TEST(Plan, SharesMemoryWithoutChangingWhatAnyLaunchReads) {
    for (const uint32_t outputs : {1u, 5u}) {
        for (const uint32_t tokens : {1u, 7u}) {
            const auto model = test::make_tiny({.chain = true});
            const Plan shared = plan_of(model, tokens, parse_passes("all").value(), outputs);
            const Plan separate = plan_of(model, tokens, all_but("reuse-memory"), outputs);
            EXPECT_LT(shared.arena_bytes, separate.arena_bytes);
            EXPECT_NE(symbolic_logits(shared), 0u);
            EXPECT_EQ(symbolic_logits(shared), symbolic_logits(separate));
        }
    }
}

TEST(Plan, KeepsABarrierBetweenLaunchesThatTouchTheSameBytes) {
    for (const std::string_view passes : {"all", "-fuse-residual-matmul", "-fuse-quantize", "-reuse-memory"}) {
        const auto model = test::make_tiny({.chain = true});
        const Plan plan = plan_of(model, 5, parse_passes(passes).value(), 3);
        size_t elided = 0;
        std::vector<Touch> since_barrier;
        for (const Step& step : plan.steps) {
            const auto mine = touches(step, plan);
            for (const Touch& touch : mine)
                for (const Touch& earlier : since_barrier)
                    EXPECT_FALSE((touch.writes || earlier.writes) && overlap(touch, earlier)) << step.name << " races";
            since_barrier.insert(since_barrier.end(), mine.begin(), mine.end());
            if (!step.parallel_with_next)
                since_barrier.clear();
            else
                ++elided;
        }
        EXPECT_GT(elided, 0u);
    }
}

TEST(Plan, WithoutThePassHasABarrierAfterEveryLaunch) {
    const Plan plan = plan_of(test::make_tiny(), 5, all_but("elide-barriers"));
    for (const Step& step : plan.steps) EXPECT_FALSE(step.parallel_with_next);
}

TEST(Plan, TakesFourteenLaunchesPerLayerWhenFused) {
    const PassSet passes = parse_passes("-join-launches,-fuse-rows").value();
    const Plan two = plan_of(test::make_tiny({.layers = 2}), 1, passes);
    const Plan three = plan_of(test::make_tiny({.layers = 3}), 1, passes);
    // norm, q, k, v, rope q, rope k, store v, attention, o, norm, gate, up, swiglu, down
    EXPECT_EQ(three.steps.size() - two.steps.size(), 14u);
    // norm, q, k, v; rope q, rope k, store v; attention; o; norm, gate, up, swiglu; down
    const PassSet all = parse_passes("all").value();
    EXPECT_EQ(plan_of(test::make_tiny({.layers = 3}), 1, all).steps.size() -
                  plan_of(test::make_tiny({.layers = 2}), 1, all).steps.size(),
              6u);
    const Plan unfused = plan_of(test::make_tiny({.layers = 2}), 1, {});
    EXPECT_GT(unfused.steps.size(), two.steps.size());
}

// The last steps of a plan: their ops, rows and forms.
std::vector<std::string> head_of(const Plan& plan, size_t steps) {
    std::vector<std::string> head;
    for (const Step& step : std::span(plan.steps).last(steps)) {
        static constexpr const char* kRows[] = {"batch", "outputs", "one_output", "many_outputs"};
        const auto* matmul = std::get_if<MatmulSpec>(&step.spec);
        const char* form = matmul == nullptr ? "" : matmul->form == MatmulForm::vector ? " vector" : " tile";
        head.push_back(step.name + " " + kRows[size_t(step.rows)] + form);
    }
    return head;
}

TEST(Plan, NormsAndProjectsGatheredRowsAlone) {
    const Plan one = plan_of(test::make_tiny(), 9, parse_passes("all").value());
    EXPECT_EQ(one.max_outputs, 1u);
    EXPECT_EQ(one.logits_stride, 64u);
    EXPECT_EQ(head_of(one, 4), (std::vector<std::string>{"output_rows outputs", "output_norm outputs",
                                                         "output one_output vector", "highest outputs"}));
    const Plan many = plan_of(test::make_tiny(), 9, parse_passes("all").value(), 20);
    EXPECT_EQ(many.max_outputs, 9u) << "a batch has no more";
    EXPECT_EQ(head_of(many, 5),
              (std::vector<std::string>{"output_rows outputs", "output_norm outputs", "output one_output vector",
                                        "output many_outputs tile", "highest outputs"}));
}

// In two launches where a row is too wide for one; beside the logits, which must still be there.
TEST(Plan, FindsTheHighestLogitsWhereTheBackEndDoes) {
    for (const uint32_t vocabulary : {50u, 5000u})
        for (const uint32_t tokens : {1u, 9u}) {
            const Plan plan = plan_of(test::make_tiny({.vocabulary = vocabulary}), tokens, parse_passes("all").value());
            const size_t launches = vocabulary == 50 ? 1 : 2;
            EXPECT_EQ(head_of(plan, launches), std::vector<std::string>(launches, "highest outputs"));
            ASSERT_TRUE(plan.highest_offset_bytes);
            const uint64_t lists = *plan.highest_offset_bytes, logits = plan.logits_offset_bytes;
            EXPECT_TRUE(lists >= logits + plan.logits_stride * sizeof(float) ||
                        lists + kHighest * sizeof(IndexedLogit) <= logits);
        }
    EXPECT_FALSE(plan_of(test::make_tiny(), 1, all_but("find-highest")).highest_offset_bytes);
    test::PlanBackend lacking;
    lacking.lacks = KernelSpec(HighestSpec{}).index();
    const PassSet passes = parse_passes("find-highest").value();
    const auto without = make_plan(test::make_tiny().graph, {.backend = &lacking, .max_tokens = 1, .passes = passes});
    ASSERT_TRUE(without) << without.error().message;
    EXPECT_FALSE(without->highest_offset_bytes);
}

TEST(Plan, OfOneRowGathersNothing) {
    const Plan plan = plan_of(test::make_tiny(), 1, parse_passes("-fuse-rows,-find-highest").value());
    EXPECT_EQ(head_of(plan, 3), (std::vector<std::string>{"blk.1.ffn_down batch vector", "output_norm outputs",
                                                          "output one_output vector"}));
}

TEST(Plan, TakesTilesAndSingleRowsInTurn) {
    const Plan plan = plan_of(test::make_tiny({.layers = 1}), 9, parse_passes("all").value());
    std::vector<MatmulForm> forms;
    for (const Step& step : plan.steps)
        if (const auto* attention = std::get_if<AttentionSpec>(&step.spec)) forms.push_back(attention->form);
    EXPECT_EQ(forms, (std::vector{MatmulForm::tile, MatmulForm::vector}));
}

TEST(Plan, RefusesLogitsOfRowsThatNobodyGathered) {
    Graph graph = test::make_tiny().graph;
    std::erase_if(graph.nodes, [](const Node& node) { return node.name == "output_rows"; });
    const auto gathered = std::get<MatmulOp>(graph.nodes.back().op).x;
    auto& norm = std::get<RmsNormOp>(graph.nodes[graph.nodes.size() - 2].op);
    ASSERT_EQ(norm.out, gathered);
    norm.x = std::get<AddOp>(graph.nodes[graph.nodes.size() - 3].op).out;
    const auto plan = make_plan(graph, {.backend = &kBackend, .max_tokens = 4, .passes = {}});
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().message, "graph: the logits are not of gathered rows");
}

TEST(Plan, FailsByNameWhereTheBackEndHasNoKernel) {
    test::PlanBackend backend;
    backend.lacks = KernelSpec(AttentionSpec{}).index();
    const auto model = test::make_tiny();
    const auto plan = make_plan(model.graph, {.backend = &backend, .max_tokens = 4, .passes = {}});
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().kind, ErrorKind::Unsupported);
    EXPECT_EQ(plan.error().message, "no kernel for attention 4 heads on 2 of 16, keys f16, values f16, tile form");
}

TEST(Plan, NamesTheCacheThatWantsWhatTheBackEndLacks) {
    test::PlanBackend backend;
    backend.lacks = KernelSpec(HadamardSpec{}).index();
    const auto model = test::make_tiny({.head_dim = 32});
    const auto plan =
        make_plan(model.graph, {.backend = &backend, .max_tokens = 4, .value_type = DType::RQ4, .passes = {}});
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().kind, ErrorKind::Unsupported);
    EXPECT_EQ(plan.error().message, "no kernel for hadamard 128 in parts of 32, which a cache of rq4 needs");
}

TEST(Plan, SharesOneRopeTableAmongLayersWithTheSameAngles) {
    EXPECT_EQ(plan_of(test::make_tiny(), 1, parse_passes("all").value()).rope_tables.size(), 1u);
}

TEST(Passes, AreNamedAndUnknownNamesListTheKnown) {
    EXPECT_TRUE(parse_passes("none")->empty());
    EXPECT_EQ(parse_passes("all")->size(), passes().size());
    EXPECT_EQ(parse_passes("-fuse-quantize,-reuse-memory")->size(), passes().size() - 2);
    EXPECT_EQ(*parse_passes("fuse-quantize"), PassSet{"fuse-quantize"});
    const auto unknown = parse_passes("fuse-everything");
    ASSERT_FALSE(unknown);
    EXPECT_NE(unknown.error().message.find("unknown pass 'fuse-everything'; known: all, none, remove-unused"),
              std::string::npos);
    EXPECT_FALSE(parse_passes("-fuse-quantize,reuse-memory"));
}

}  // namespace plan_test
}  // namespace riftjit::graph
