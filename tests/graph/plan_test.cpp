#include "graph/plan.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/graph/tiny_graph.h"

namespace riftjit::graph {
namespace {

PassSet all_but(std::string_view name) {
    PassSet passes = parse_passes("all").value();
    passes.erase(name);
    return passes;
}

const test::PlanBackend kBackend;

Plan plan_of(const test::TinyModel& model, uint32_t tokens, const PassSet& passes) {
    const Graph graph = apply_passes(model.graph, passes);
    auto plan = make_plan(graph, {.backend = &kBackend, .max_tokens = tokens, .passes = passes});
    EXPECT_TRUE(plan) << (plan ? "" : plan.error().message);
    return *plan;
}

// Bytes that a launch touches through each pointer, and whether it writes there.
struct Touch {
    Place place;
    uint64_t bytes;
    bool writes, reads;
};

std::vector<Touch> touches(const Step& step, uint32_t tokens) {
    std::vector<Touch> list;
    const std::vector<Argument> arguments = signature(step.spec).arguments;
    const auto* norm = std::get_if<RmsNormSpec>(&step.spec);
    for (size_t i = 0; i < step.places.size(); ++i) {
        const Argument& argument = arguments[i];
        const bool selects = norm != nullptr && norm->rows == RowRange::last && writes(argument.access);
        const uint64_t rows = step.one_row || selects ? 1 : tokens;
        uint64_t stride = argument.stride_bytes;
        if (const auto* matmul = std::get_if<MatmulSpec>(&step.spec); matmul != nullptr && !argument.format)
            stride = kBackend.row_bytes(kBackend.activation_format(matmul->weight), argument.width);
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
        const auto list = touches(step, plan.max_tokens);
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
    for (const bool select : {false, true}) {
        for (const uint32_t tokens : {1u, 7u}) {
            const auto model = test::make_tiny({.select_last = select, .chain = true});
            const Plan shared = plan_of(model, tokens, parse_passes("all").value());
            const Plan separate = plan_of(model, tokens, all_but("reuse-memory"));
            EXPECT_LT(shared.arena_bytes, separate.arena_bytes);
            EXPECT_NE(symbolic_logits(shared), 0u);
            EXPECT_EQ(symbolic_logits(shared), symbolic_logits(separate));
        }
    }
}

TEST(Plan, KeepsABarrierBetweenLaunchesThatTouchTheSameBytes) {
    for (const std::string_view passes : {"all", "-fuse-residual-matmul", "-fuse-quantize", "-reuse-memory"}) {
        const auto model = test::make_tiny({.chain = true});
        const Plan plan = plan_of(model, 5, parse_passes(passes).value());
        size_t elided = 0;
        std::vector<Touch> since_barrier;
        for (const Step& step : plan.steps) {
            const auto mine = touches(step, plan.max_tokens);
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
    const Plan two = plan_of(test::make_tiny({.layers = 2}), 1, parse_passes("all").value());
    const Plan three = plan_of(test::make_tiny({.layers = 3}), 1, parse_passes("all").value());
    // norm, q, k, v, rope q, rope k, store v, attention, o, norm, gate, up, swiglu, down
    EXPECT_EQ(three.steps.size() - two.steps.size(), 14u);
    const Plan unfused = plan_of(test::make_tiny({.layers = 2}), 1, {});
    EXPECT_GT(unfused.steps.size(), two.steps.size());
}

TEST(Plan, ProjectsOnlyTheLastRowOfABatch) {
    const Plan plan = plan_of(test::make_tiny(), 9, parse_passes("all").value());
    EXPECT_EQ(plan.logits_rows, 1u);
    EXPECT_EQ(plan.logits_stride, 64u);
    EXPECT_TRUE(plan.steps.back().one_row);
    EXPECT_EQ(std::get<MatmulSpec>(plan.steps.back().spec).form, MatmulForm::vector);
    const auto& norm = plan.steps[plan.steps.size() - 2];
    EXPECT_EQ(std::get<RmsNormSpec>(norm.spec).rows, RowRange::last);
    const Plan all = plan_of(test::make_tiny({.select_last = false}), 9, parse_passes("all").value());
    EXPECT_EQ(all.logits_rows, 9u);
    EXPECT_EQ(std::get<MatmulSpec>(all.steps.back().spec).form, MatmulForm::tile);
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

TEST(Passes, RemoveWhatNobodyReads) {
    auto model = test::make_tiny();
    const size_t nodes = model.graph.nodes.size();
    (void)model.graph.scale("unused", model.graph.logits, 2.0f).value();
    EXPECT_EQ(apply_passes(model.graph, {"remove-unused"}).nodes.size(), nodes);
}

}  // namespace
}  // namespace riftjit::graph
