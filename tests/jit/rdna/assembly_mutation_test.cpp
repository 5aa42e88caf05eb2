// Damaged assembly files: assembled or refused with file, line and column, never a crash.
#include <gtest/gtest.h>

#include "jit/rdna/assembly_file.h"
#include "jit/rdna/assembly_object.h"
#include "jit/rdna/text.h"
#include "tests/jit/rdna/mutation.h"
#include "tests/jit/rdna/random_instruction.h"

namespace riftjit::rdna {
namespace {

// What clang -S writes around a kernel, with code of every kind in it.
std::string whole_file(Target target) {
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

std::string simple_file() {
    return ".globl k\nk: s_load_b64 s[2:3], s[0:1], 0x0\n v_mov_b32 v1, 0 /* a\n */ again:\n s_cbranch_scc1 again\n"
           " s_endpgm\n.lds_size 512\n.kernarg_size 8\n";
}

TEST(DamagedAssembly, IsRefusedWithItsPlaceOrAssembled) {
    const size_t count = test::mutation_count(300);
    for (const Target target : {Target::gfx1030, Target::gfx1100, Target::gfx1150, Target::gfx1201}) {
        const std::string files[] = {whole_file(target), simple_file()};
        const Result<AssembledFile> whole = assemble(files[0], "k.s", target);
        ASSERT_TRUE(whole) << whole.error().message;
        std::mt19937 random(static_cast<uint32_t>(target));
        size_t refused = 0;
        for (size_t i = 0; i < count; ++i) {
            const std::string text = test::mutated_text(files[i % 2], files[0], random);
            const Result<AssembledFile> file = assemble(text, "k.s", target);
            if (!file) {
                ++refused;
                ASSERT_TRUE(file.error().message.starts_with("k.s:")) << file.error().message;
            } else if (const auto object = write_code_object(*file); !object) {
                ASSERT_FALSE(object.error().message.empty());
            }
        }
        EXPECT_GT(refused, count / 4) << name(target);
        EXPECT_LT(refused, count) << name(target);
    }
}

}  // namespace
}  // namespace riftjit::rdna
