// Damaged assembly files: assembled or refused with file, line and column, never a crash.
#include <gtest/gtest.h>

#include "jit/rdna/assembly/assembly_file.h"
#include "jit/rdna/assembly/assembly_object.h"
#include "tests/jit/rdna/mutation.h"
#include "tests/jit/rdna/text/assembly_text.h"

namespace riftjit::rdna {
namespace assembly_mutation_test {

std::string simple_file() {
    return ".globl k\nk: s_load_b64 s[2:3], s[0:1], 0x0\n v_mov_b32 v1, 0 /* a\n */ again:\n s_cbranch_scc1 again\n"
           " s_endpgm\n.lds_size 512\n.kernarg_size 8\n";
}

TEST(DamagedAssembly, IsRefusedWithItsPlaceOrAssembled) {
    const size_t count = test::mutation_count(300);
    for (const Target target : {Target::gfx1030, Target::gfx1100, Target::gfx1150, Target::gfx1201}) {
        const std::string files[] = {test::whole_file(target), simple_file()};
        const Result<AssembledFile> whole = assemble(files[0], "k.s", target);
        ASSERT_TRUE(whole) << whole.error().message;
        std::mt19937 random(test::asked_seed(static_cast<uint32_t>(target)));
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

}  // namespace assembly_mutation_test
}  // namespace riftjit::rdna
