// The cache of kernels holds code of any back end: objects of a GPU beside those of the processor.
#include <gtest/gtest.h>

#include <random>

#include "jit/x86/backend.h"
#include "runtime/rdna/rdna_backend.h"
#include "tests/jit/cache/cache_fixture.h"

namespace riftjit::runtime {
namespace rdna_cache_test {

const KernelSpec kSpec = SwigluSpec{64, 64, RowFormat::f32};
const RdnaBackend kGpu(rdna::Target::gfx1100);
const CacheKey kKey{"00112233445566778899aabbccddeeff"};

Result<CodeObject> compile_for(const KernelSpec& spec, Target target) {
    return target == kGpu.target() ? compile_rdna(spec, target) : x86::compile(spec, target);
}

TEST(RdnaCache, KeepsObjectsOfAGpuBesideThoseOfTheProcessor) {
    const Scratch scratch;
    for (const bool is_second_run : {false, true}) {
        KernelCache cache(compile_for, DiskCache::open(scratch.path("cache"), CacheMode::rw, {}));
        for (const Target target : {kGpu.target(), Target(Isa::avx2)}) {
            const auto kernel = cache.get(kSpec, target);
            ASSERT_TRUE(kernel) << kernel.error().message;
            EXPECT_EQ((*kernel)->from_disk, is_second_run) << name(target);
            EXPECT_EQ((*kernel)->object.name, kernel_name(kSpec));
            EXPECT_TRUE((*kernel)->object.target == target);
            EXPECT_EQ((*kernel)->object.elf, compile_for(kSpec, target)->elf) << name(target);
        }
    }
    const CacheAdmin admin = CacheAdmin::open(scratch.path("cache")).value();
    std::map<std::string, std::string> kernels;
    const std::vector<CacheListing> listings = admin.list().value();
    for (const CacheListing& listing : listings) kernels[listing.target] = listing.kernel;
    EXPECT_EQ(kernels, (std::map<std::string, std::string>{{"gfx1100", kernel_name(kSpec)},
                                                           {"x86_64-avx2", kernel_name(kSpec)}}));
    EXPECT_EQ(admin.verify()->sound, 2u);
}

TEST(RdnaCache, RefusesCodeOfAnotherArchitectureThanTheEntrySays) {
    const CodeObject gpu = kGpu.compile(kSpec).value(), processor = x86::compile(kSpec, Isa::avx2).value();
    const auto problem = [](const CodeObject& code, Target target) {
        const auto read = decode_entry(encode_entry(kKey, {code.name, target, code.elf}), kKey);
        return read ? "accepted" : read.error().text;
    };
    EXPECT_EQ(problem(gpu, gpu.target), "accepted");
    EXPECT_EQ(problem(processor, gpu.target), "code object: not a 64-bit ELF file for gfx1100");
    EXPECT_EQ(problem(gpu, Isa::avx2), "code object: not an x86-64 ELF object of this program");
}

// Whatever stands in the object, its kernel is looked for within its bytes.
TEST(RdnaCache, ReadsDamagedObjectsWithinTheirBytes) {
    const CodeObject sound = kGpu.compile(kSpec).value();
    std::mt19937 random(3);
    for (int i = 0; i < 20'000; ++i) {
        std::vector<std::byte> elf = sound.elf;
        for (int change = 0; change < 3; ++change) elf[random() % elf.size()] = std::byte(random());
        elf.resize(i % 2 == 0 ? elf.size() : random() % elf.size());
        elf.shrink_to_fit();  // a sanitizer sees the end
        const auto read = read_code_object(elf, sound.target);
        EXPECT_EQ(read ? read->elf : elf, elf);
    }
}

}  // namespace rdna_cache_test
}  // namespace riftjit::runtime
