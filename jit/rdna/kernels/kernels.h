// The project's RDNA kernels: for each op that has one how it is launched, and the program. Specs and args are those of
// jit/kernel_spec.h; what one asks beyond what its kernel does is refused by name. Byte offsets are 32 bits: no buffer
// may reach 4 GiB.
#pragma once

#include <bit>

#include "jit/kernel_spec.h"
#include "jit/rdna/emit/assembler.h"

namespace riftjit::rdna::kernels {

// A one-dimensional grid: the workgroups of a batch's first rows, then those of the next, and so on. What kernels ask
// of the batch (its rows, their positions and pages) they read from memory, so that no launch changes between two steps
// of as many rows.
struct LaunchShape {
    uint32_t lanes;               // of a workgroup: a power of two, whole waves
    uint32_t groups;              // workgroups, for each
    uint32_t rows_per_group = 1;  // this many rows of the batch, of which the last few may be missing
    // Attention in vector form: rows are the segments of single rows, segments_for(pages_per_sequence) of each, first
    // to last. Each workgroup leaves so many bytes of its own in BatchState::parts; `finished` counts by row and group.
    uint64_t part_bytes = 0;

    constexpr uint32_t grid(uint32_t rows) const { return (rows + rows_per_group - 1) / rows_per_group * groups; }
    // A power of two, so that kernels divide by it. Those beyond the row's position end at once.
    static constexpr uint32_t segments_for(uint32_t pages_per_sequence) { return std::bit_ceil(pages_per_sequence); }
};

// A workgroup per row, to f32 or i16.
Result<LaunchShape> shape_of(KernelTarget target, const RmsNormSpec& spec);
Result<KernelProgram> program_of(KernelTarget target, const RmsNormSpec& spec, PassOptions options);
Result<LaunchShape> shape_of(KernelTarget target, const LayerNormSpec& spec);
Result<KernelProgram> program_of(KernelTarget target, const LayerNormSpec& spec, PassOptions options);

// A workgroup per 2048 elements of a row; where the op has formats, to f32 or i16.
Result<LaunchShape> shape_of(KernelTarget target, const QuantizeSpec& spec);
Result<KernelProgram> program_of(KernelTarget target, const QuantizeSpec& spec, PassOptions options);
Result<LaunchShape> shape_of(KernelTarget target, const SwigluSpec& spec);
Result<KernelProgram> program_of(KernelTarget target, const SwigluSpec& spec, PassOptions options);
Result<LaunchShape> shape_of(KernelTarget target, const ElementwiseSpec& spec);
Result<KernelProgram> program_of(KernelTarget target, const ElementwiseSpec& spec, PassOptions options);
Result<LaunchShape> shape_of(KernelTarget target, const GatherRowsSpec& spec);
Result<KernelProgram> program_of(KernelTarget target, const GatherRowsSpec& spec, PassOptions options);

// A wave per head.
Result<LaunchShape> shape_of(KernelTarget target, const RopeSpec& spec);
Result<KernelProgram> program_of(KernelTarget target, const RopeSpec& spec, PassOptions options);

// A wave per KV head.
Result<LaunchShape> shape_of(KernelTarget target, const ValueStoreSpec& spec);
Result<KernelProgram> program_of(KernelTarget target, const ValueStoreSpec& spec, PassOptions options);

// A workgroup per panel of 32 rows and up to eight rows of the batch, a row of the matrix each lane (packed.h).
Result<LaunchShape> shape_of(KernelTarget target, const MatmulSpec& spec);
Result<KernelProgram> program_of(KernelTarget target, const MatmulSpec& spec, PassOptions options);

// Rows of up to 8192.
Result<LaunchShape> shape_of(KernelTarget target, const FusedMatmulSpec& spec);
Result<KernelProgram> program_of(KernelTarget target, const FusedMatmulSpec& spec, PassOptions options);

// Of one row of the batch.
Result<LaunchShape> shape_of(KernelTarget target, const SideBySideSpec& spec);
Result<KernelProgram> program_of(KernelTarget target, const SideBySideSpec& spec, PassOptions options);

// A workgroup per token.
Result<LaunchShape> shape_of(KernelTarget target, const EmbedSpec& spec);
Result<KernelProgram> program_of(KernelTarget target, const EmbedSpec& spec, PassOptions options);

// A workgroup per row; of `parts` one for each part of it.
Result<LaunchShape> shape_of(KernelTarget target, const HighestSpec& spec);
Result<KernelProgram> program_of(KernelTarget target, const HighestSpec& spec, PassOptions options);

// A workgroup per KV head with its query heads, of a tile or a segment of a single row.
Result<LaunchShape> shape_of(KernelTarget target, const AttentionSpec& spec);
Result<KernelProgram> program_of(KernelTarget target, const AttentionSpec& spec, PassOptions options);

// Of any spec. Refusals begin with the target: "gfx1100: no kernel for embed q4_k rows of 256".
Result<LaunchShape> launch_shape(KernelTarget target, const KernelSpec& spec);
Result<KernelProgram> kernel_program(KernelTarget target, const KernelSpec& spec, PassOptions options = {});

}  // namespace riftjit::rdna::kernels
