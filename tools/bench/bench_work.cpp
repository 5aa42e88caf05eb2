#include "tools/bench/bench_work.h"

#include <algorithm>

#include "jit/batch.h"

namespace riftjit::tools {

namespace {

uint64_t rows_of_step(const graph::Step& step, const PlanRun& run) {
    switch (step.rows) {
        case graph::StepRows::batch:
            return uint64_t(run.rows) * step.rows_each;
        case graph::StepRows::outputs:
        case graph::StepRows::one_output:
            return run.has_output ? 1 : 0;
        case graph::StepRows::many_outputs:
            return 0;
    }
    return 0;
}

uint64_t row_bytes_read(const KernelSpec& spec, const Backend& backend) {
    uint64_t bytes = 0;
    for (const Argument& argument : signature(spec).arguments) {
        if (argument.role != Role::rows || !reads(argument.access) || argument.presence == Presence::absent) continue;
        const auto* matmul = std::get_if<MatmulSpec>(&spec);
        const RowFormat format = argument.format     ? *argument.format
                                 : matmul != nullptr ? backend.activation_format(matmul->weight, matmul->activations)
                                                     : RowFormat::f32;
        bytes += format == RowFormat::f32 ? argument.width * sizeof(float) : backend.row_bytes(format, argument.width);
    }
    return bytes;
}

// A last row that no tile takes is left to the vector form, which takes no other rows of a single text.
Work attention_work(const AttentionSpec& spec, const PlanRun& run, const Backend& backend) {
    const uint32_t singles = run.rows % kMaxTileRows == 1 ? 1 : 0;
    const bool is_tile = spec.form == MatmulForm::tile;
    const uint64_t rows = is_tile ? run.rows - singles : singles;
    if (rows == 0) return {};
    const uint64_t first = is_tile ? run.position : run.position + run.rows - 1;
    const uint64_t seen = rows * first + rows * (rows + 1) / 2;  // a row sees itself
    const uint64_t position_bytes =
        spec.kv_heads * (row_bytes(spec.key_type, spec.head_dim) + row_bytes(spec.value_type, spec.head_dim));
    return {double(cost(spec).flops * seen),
            double((first + rows) * position_bytes + rows * row_bytes_read(spec, backend))};
}

}  // namespace

std::vector<PlanRun> plan_runs(const BenchTest& test) {
    std::vector<PlanRun> runs;
    const uint32_t most = std::min(test.setup.batch, test.setup.ubatch);
    uint32_t done = 0;
    while (done < test.prompt) {
        const uint32_t call_end = std::min(test.prompt, done + test.setup.batch);
        while (done < call_end) {
            const uint32_t rows = std::min(most, call_end - done);
            runs.push_back({rows, test.depth + done, done + rows == call_end});
            done += rows;
        }
    }
    for (; done < test.prompt + test.generate; ++done) runs.push_back({1, test.depth + done, true});
    return runs;
}

Work work_of(const graph::Step& step, const PlanRun& run, const Backend& backend) {
    if (const auto* attention = std::get_if<AttentionSpec>(&step.spec)) return attention_work(*attention, run, backend);
    const uint64_t rows = rows_of_step(step, run);
    if (rows == 0) return {};
    const KernelCost per_row = cost(step.spec);
    const uint64_t launches = std::holds_alternative<EmbedSpec>(step.spec) ? rows : 1;
    return {double(per_row.flops * rows),
            double(per_row.weight_bytes * launches + row_bytes_read(step.spec, backend) * rows)};
}

}  // namespace riftjit::tools
