// Damaged code objects: refused with a message or loaded, never a crash. Worth most under address and UB sanitizers.
#include <algorithm>
#include <random>

#include "host/little_endian.h"
#include "tests/jit/rdna/mutation.h"
#include "tests/jit/rdna/object/code_object_cases.h"

namespace riftjit::rdna {
namespace loader_mutation_test {

using namespace test;

constexpr uint64_t kInteresting[] = {0, 1, 7, 63, 0x7F, 0x80, 0xFF, 0x1000, 0x7FFFFFFF, 0x80000000, ~0ULL, 1ULL << 63};

struct Stretch {
    size_t first, size;
};

Stretch find(std::span<const std::byte> file, std::span<const std::byte> what, size_t size) {
    const auto at = std::ranges::search(file, what).begin() - file.begin();
    EXPECT_LT(size_t(at), file.size());
    return {size_t(at), std::min(size, file.size() - size_t(at))};
}

// What is damaged in turn: the whole file, the ELF headers at both ends of it, the kernel descriptors, the metadata.
std::vector<Stretch> stretches(std::span<const std::byte> file) {
    constexpr size_t kHeadBytes = 512, kTailBytes = 1024, kMetadataBytes = 2048;
    std::vector<Stretch> found = {{0, file.size()}, {0, kHeadBytes}, {file.size() - kTailBytes, kTailBytes}};
    const LoadedObject object = loaded(file);
    for (const LoadedKernel& kernel : object.kernels) {
        KernelDescriptor descriptor = kernel.descriptor;
        const auto bytes = encode(descriptor, generation(object.target));
        EXPECT_TRUE(bytes) << bytes.error().message;
        found.push_back(find(file, *bytes, bytes->size()));
    }
    constexpr std::string_view kKey = "amdhsa.kernels";
    for (size_t i = 0; i < object.kernels.size(); ++i)
        found.push_back(find(file, std::as_bytes(std::span(kKey)), kMetadataBytes));
    return found;
}

void damage(std::vector<std::byte>& file, const Stretch& where, std::mt19937& random) {
    const size_t at = std::min(where.first + random() % where.size, file.size() - 1);
    switch (random() % 5) {
        case 0:
            file[at] ^= std::byte(1U << random() % 8);
            break;
        case 1:
            file[at] = std::byte(random());
            break;
        case 2:
            if (at + 8 <= file.size())
                put_little_endian(std::span(file), at, kInteresting[random() % std::size(kInteresting)]);
            break;
        case 3:
            if (const size_t word = at & ~size_t{3}; word + 4 <= file.size()) {
                const auto step = static_cast<uint32_t>(random() % 33) - 16;
                put_little_endian(std::span(file), word, get_little_endian<uint32_t>(file, word) + step);
            }
            break;
        default:
            if (random() % 8 == 0) file.resize(at + 1);
    }
}

// Reads all that a user of a loaded object reads.
uint64_t use(LoadedObject& object) {
    uint64_t sum = 0;
    move_object(object, 0x100000);
    for (const LoadedKernel& kernel : object.kernels) {
        EXPECT_EQ(object.bytes(kernel.code).size(), kernel.code.size);
        for (std::byte byte : object.bytes(kernel.code)) sum += std::to_integer<unsigned>(byte);
        sum += kernel.descriptor.vgprs() + kernel.metadata.args.size();
        EXPECT_TRUE(encode(kernel.descriptor, generation(object.target)).has_value());
    }
    for (const AddressRange& text : object.text) EXPECT_EQ(object.bytes(text).size(), text.size);
    return sum;
}

struct Refusals {
    size_t all = 0, of_descriptors = 0, of_metadata = 0;
};

Refusals refuse_damaged(Target target, size_t count) {
    const std::vector<std::byte> whole = written(target);
    const std::vector<Stretch> where = stretches(whole);
    std::mt19937 random(test::asked_seed(static_cast<uint32_t>(target)));
    Refusals refusals;
    for (size_t i = 0; i < count; ++i) {
        std::vector<std::byte> file = whole;
        for (uint32_t edits = 1 + random() % 4; edits > 0; --edits) damage(file, where[i % where.size()], random);
        file.shrink_to_fit();  // so that a sanitizer sees a read beyond the end
        auto object = load_code_object(file);
        if (object) {
            use(*object);
            continue;
        }
        const std::string& message = object.error().message;
        EXPECT_TRUE(message.starts_with("code object: ") || message.starts_with("metadata: ")) << message;
        ++refusals.all;
        refusals.of_descriptors += message.find("descriptor") != std::string::npos;
        refusals.of_metadata += message.starts_with("metadata: ");
    }
    return refusals;
}

TEST(DamagedObjects, AreRefusedWithAMessageOrLoaded) {
    const size_t count = mutation_count(1000);
    for (const TargetInfo& target : all_targets()) {
        const Refusals refusals = refuse_damaged(target.target, count);
        // Most damage to code and padding is not the loader's to see; most damage to headers is.
        EXPECT_GT(refusals.all, count / 5) << target.name;
        EXPECT_LT(refusals.all, count) << target.name;
        EXPECT_GT(refusals.of_descriptors, count / 20) << target.name;
        EXPECT_GT(refusals.of_metadata, count / 20) << target.name;
    }
}

// The offset of the descriptor of a file's only kernel.
size_t descriptor_of(std::span<const std::byte> file) {
    const LoadedObject object = loaded(file);
    const auto bytes = encode(object.kernels.at(0).descriptor, generation(object.target));
    return find(file, *bytes, bytes->size()).first;
}

TEST(DamagedObjects, OfSizesThatNoLaunchCouldGiveAreRefused) {
    std::vector<std::byte> file =
        *write_code_object(Target::gfx1100, CodeObjectVersion::v5, std::vector{empty_kernel(Target::gfx1100, "k")});
    constexpr size_t kLdsOffset = 0, kScratchOffset = 4, kKernargOffset = 8;
    const auto refusal = [&](size_t offset, uint32_t value) {
        std::vector<std::byte> changed = file;
        put_little_endian(std::span(changed), descriptor_of(file) + offset, value);
        const auto object = load_code_object(changed);
        return object ? "accepted" : object.error().message;
    };
    EXPECT_EQ(refusal(kKernargOffset, 0xFFFFFFFF),
              "code object: kernel \"k\": kernarg size is 4294967295 in the descriptor, 8 in the metadata");
    EXPECT_EQ(refusal(kKernargOffset, 0), "accepted");  // left to the metadata
    EXPECT_EQ(refusal(kLdsOffset, 70000),
              "code object: kernel \"k\": LDS size is 70000 in the descriptor, 0 in the metadata");
    EXPECT_EQ(refusal(kScratchOffset, 1U << 31),
              "code object: kernel \"k\": scratch size is 2147483648 in the descriptor, 0 in the metadata");
    KernelCode kernel = empty_kernel(Target::gfx1100, "k");
    kernel.kernarg_size = 65537;
    EXPECT_FALSE(write_code_object(Target::gfx1100, CodeObjectVersion::v5, std::vector{kernel}));
    kernel = empty_kernel(Target::gfx1100, "k");
    kernel.resources.scratch_bytes = 262137;
    EXPECT_FALSE(write_code_object(Target::gfx1100, CodeObjectVersion::v5, std::vector{kernel}));
}

}  // namespace loader_mutation_test
}  // namespace riftjit::rdna
