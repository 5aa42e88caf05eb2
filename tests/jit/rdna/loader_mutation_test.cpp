// Damaged code objects: refused with a message or loaded, never a crash. Worth most under address and UB sanitizers.
#include <algorithm>
#include <random>

#include "jit/little_endian.h"
#include "tests/jit/rdna/code_object_cases.h"

namespace riftjit::rdna {
namespace {

using namespace test;

constexpr int kMutationsPerTarget = 10000;
constexpr uint64_t kInteresting[] = {0, 1, 7, 63, 0x7F, 0x80, 0xFF, 0x1000, 0x7FFFFFFF, 0x80000000, ~0ULL, 1ULL << 63};

// Headers lie at both ends of the file; half of the damage goes there, half anywhere.
size_t place(std::mt19937& random, size_t size) {
    constexpr size_t kHeadBytes = 512, kTailBytes = 1024;
    switch (random() % 4) {
        case 0:
            return random() % std::min(size, kHeadBytes);
        case 1:
            return size - 1 - random() % std::min(size, kTailBytes);
        default:
            return random() % size;
    }
}

void damage(std::vector<std::byte>& file, std::mt19937& random) {
    const size_t at = place(random, file.size());
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

TEST(DamagedObjects, AreRefusedWithAMessageOrLoaded) {
    for (const TargetInfo& target : all_targets()) {
        const std::vector<std::byte> whole = written(target.target);
        std::mt19937 random(static_cast<uint32_t>(target.target));
        int refused = 0;
        for (int i = 0; i < kMutationsPerTarget; ++i) {
            std::vector<std::byte> file = whole;
            for (uint32_t count = 1 + random() % 4; count > 0; --count) damage(file, random);
            file.shrink_to_fit();  // so that a sanitizer sees a read beyond the end
            auto object = load_code_object(file);
            if (object) {
                use(*object);
            } else {
                ++refused;
                const std::string& message = object.error().message;
                EXPECT_TRUE(message.starts_with("code object: ") || message.starts_with("metadata: ")) << message;
            }
        }
        // Most damage to code and padding is not the loader's to see; most damage to headers is.
        EXPECT_GT(refused, kMutationsPerTarget / 5) << target.name;
        EXPECT_LT(refused, kMutationsPerTarget) << target.name;
    }
}

}  // namespace
}  // namespace riftjit::rdna
