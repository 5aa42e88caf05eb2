// What a plan, a loader of weights and a kernel cache ask of a back end: one object per target, without state.
#pragma once

#include <cstddef>
#include <cstdint>

#include "jit/code_object.h"
#include "jit/kernel_spec.h"
#include "jit/target.h"

namespace riftjit {

class Backend {
public:
    virtual ~Backend() = default;

    virtual Target target() const = 0;

    // The row format that a matmul with weights of this type reads, which is the same for all activations beside
    // floats.
    virtual RowFormat activation_format(DType weight, Activations activations) const = 0;
    // Bytes from one row of activations to the next.
    virtual uint32_t row_bytes(RowFormat format, uint32_t width) const = 0;
    // Of weights in the layout that matmuls and lookups read.
    virtual uint64_t packed_bytes(DType type, uint32_t rows, uint32_t width) const = 0;
    // Of a page of one layer's KV cache (kKvPage positions), in the layout that rope, value store and attention share.
    virtual uint64_t key_page_bytes(DType type, uint32_t kv_heads, uint32_t head_dim) const = 0;
    virtual uint64_t value_page_bytes(DType type, uint32_t kv_heads, uint32_t head_dim) const = 0;

    // Refuses a spec that this back end has no kernel for: "gfx1100: no kernel for attention 8 heads on ...".
    virtual Result<void> supports(const KernelSpec& spec) const = 0;
    // Deterministic: the same spec gives the same bytes in any process. Never runs what it generates.
    virtual Result<CodeObject> compile(const KernelSpec& spec) const = 0;
};

}  // namespace riftjit
