#include "jit/rdna/emit/bound_arguments.h"

#include <gtest/gtest.h>

#include "jit/rdna/emit/rdna_kernel.h"
#include "tests/jit/rdna/passes/program_text.h"

namespace riftjit::rdna {
namespace bound_arguments_test {

constexpr Target kTarget = Target::gfx1101;

struct Args {
    const float *a, *b;
    float* c;
    uint32_t count;
};

class BoundKernel final : public KernelAssembler {
public:
    BoundKernel() : KernelAssembler({kTarget}, "bound") {}
    const BoundArguments<Args> bound = bind_arguments<Args>(
        {field("a", &Args::a), field("b", &Args::b), field("c", &Args::c), field("count", &Args::count)});
};

TEST(BoundArguments, AreLoadedOnceInAsFewLoadsAsTheirBytesAllow) {
    BoundKernel kernel;
    kernel.s_add_co_u32(kernel.bound[&Args::count], kernel.bound[&Args::b][0], kernel.bound[&Args::c][1]);
    kernel.end();
    const std::string text = text_of(kernel.finish(PassOptions::none()).program);
    EXPECT_EQ(text, normalized(kTarget, WaveSize::wave32,
                               "s_load_b128 s[4:7], s[0:1], 0x0\n s_load_b64 s[2:3], s[0:1], 0x10\n"
                               "s_load_b32 s0, s[0:1], 0x18\n s_add_u32 s0, s6, s3\n s_endpgm"));
}

TEST(BoundArguments, AreDescribedAsTheStructHoldsThem) {
    BoundKernel kernel;
    kernel.end();
    const KernelCode header = kernel.finish({}).header;
    EXPECT_EQ(header.kernarg_size, sizeof(Args));
    ASSERT_EQ(header.args.size(), 4u);
    const auto expect = [&](size_t i, const std::string& name, uint32_t offset, uint32_t size, ValueKind kind) {
        EXPECT_EQ(header.args[i].name, name);
        EXPECT_EQ(header.args[i].offset, offset);
        EXPECT_EQ(header.args[i].size, size);
        EXPECT_EQ(header.args[i].value_kind, kind);
    };
    expect(0, "a", 0, 8, ValueKind::global_buffer);
    expect(1, "b", 8, 8, ValueKind::global_buffer);
    expect(2, "c", 16, 8, ValueKind::global_buffer);
    expect(3, "count", 24, 4, ValueKind::by_value);
}

}  // namespace bound_arguments_test
}  // namespace riftjit::rdna
