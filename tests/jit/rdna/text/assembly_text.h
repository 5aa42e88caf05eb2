// A whole assembly file with a kernel, its descriptor, its metadata and a table, to damage.
#pragma once

#include <fmt/format.h>

#include <string>

#include "jit/rdna/text/text.h"
#include "tests/jit/rdna/encode/random_instruction.h"

namespace riftjit::rdna::test {

// What clang -S writes around a kernel, with code of every kind in it.
inline std::string whole_file(Target target) {
    std::string code;
    RandomInstructions random(target, WaveSize::wave32, 5);
    for (int lines = 0; lines < 12;) {
        const std::string line = print(target, WaveSize::wave32, random.next());
        if (!parse(target, WaveSize::wave32, line)) continue;  // a text that LLVM prints and does not read
        code += '\t' + line + '\n';
        ++lines;
    }
    return fmt::format(R"(	.text
	.amdgcn_target "amdgcn-amd-amdhsa--{0}"
	.amdhsa_code_object_version 5
	.protected	add                     ; -- Begin function add
	.globl	add
	.p2align	8
	.type	add,@function
add:                                    ; @add
{1}	s_cbranch_execz .LBB0_2
	s_getpc_b64 s[4:5]
	s_add_u32 s4, s4, table@rel32@lo+4
	s_addc_u32 s5, s5, table@rel32@hi+12
.LBB0_2:
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel add
		.amdhsa_group_segment_fixed_size 16
		.amdhsa_kernarg_size 20
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_wavefront_size32 1
		.amdhsa_next_free_vgpr 256
		.amdhsa_next_free_sgpr (2+3)*8-1
		.amdhsa_float_denorm_mode_32 3
	.end_amdhsa_kernel
	.text
.Lfunc_end0:
	.size	add, .Lfunc_end0-add
	.fill 96, 4, 3214868480
	.type	table,@object
	.section	.rodata,"a",@progbits
	.p2align	2, 0x0
table:
	.long	500                             ; 0x1f4
	.asciz	"a \"word\"\n\033"
	.size	table, 4
	.set answer, ~(1 << 4) & 0xff
	.amdgpu_metadata
---
amdhsa.kernels:
  - .args:
      - .address_space:  global
        .offset:         0
        .size:           8
        .type_name:      'float*'
        .value_kind:     global_buffer
    .group_segment_fixed_size: 16
    .kernarg_segment_align: 8
    .kernarg_segment_size: 20
    .max_flat_workgroup_size: 256
    .name:           add
    .private_segment_fixed_size: 0
    .sgpr_count:     10
    .symbol:         add.kd
    .vgpr_count:     4
    .wavefront_size: 32
amdhsa.target:   amdgcn-amd-amdhsa--{0}
amdhsa.version:
  - 1
  - 2
...
	.end_amdgpu_metadata
)",
                       name(target), code);
}

}  // namespace riftjit::rdna::test
