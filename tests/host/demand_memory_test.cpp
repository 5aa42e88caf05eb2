#include "host/demand_memory.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

namespace riftjit {
namespace demand_memory_test {

constexpr uint64_t kPiece = 64 << 10;

// Every eighth byte tells where it is; flanks are overwritten as far as they go.
class Numbers final : public DemandMemory::Maker {
public:
    static uint64_t at(uint64_t place) { return place * 0x9e3779b97f4a7c15 + 1; }
    void make(uint64_t begin, uint64_t end, std::byte* out) const override {
        std::memset(out - flank(), 0xee, flank());
        for (uint64_t i = begin; i < end; i += 8) {
            const uint64_t value = at(i);
            std::memcpy(out + (i - begin), &value, 8);
        }
        std::memset(out + (end - begin), 0xee, flank());
        made.fetch_add(1);
    }
    uint64_t flank() const override { return 4096; }
    mutable std::atomic<uint64_t> made{0};
};

uint64_t word(const DemandMemory& memory, uint64_t place) {
    uint64_t value;
    std::memcpy(&value, memory.data() + place, 8);
    return value;
}

TEST(DemandMemory, IsMadeOnceWhereAllOfItFits) {
    const Numbers numbers;
    const auto memory = DemandMemory::reserve(10 * kPiece + 100, {20 * kPiece, 1, kPiece}, numbers, "numbers").value();
    EXPECT_EQ(memory->size_bytes(), 11 * kPiece);
    EXPECT_EQ(numbers.made.load(), 0u);
    for (int round = 0; round < 3; ++round)
        for (uint64_t at = 0; at < 10 * kPiece; at += 8) ASSERT_EQ(word(*memory, at), Numbers::at(at)) << at;
    EXPECT_EQ(numbers.made.load(), 10u);
    EXPECT_EQ(memory->made_bytes(), 10 * kPiece);
}

// Far less than all of it is there, and several threads read it in any order.
TEST(DemandMemory, IsTheSameAgainAndAgain) {
    const Numbers numbers;
    constexpr uint64_t kBytes = 400 * kPiece;
    const auto memory = DemandMemory::reserve(kBytes, {40 * kPiece, 4, kPiece}, numbers, "numbers").value();
    EXPECT_EQ(memory->most_resident(), 40 * kPiece);
    std::atomic<uint64_t> wrong{0};
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 4; ++i)
        threads.emplace_back([&, i] {
            std::mt19937_64 random(i);
            for (int round = 0; round < 800; ++round) {
                const uint64_t begin = random() % (kBytes / 8 - 600) * 8;  // across the ends of pieces, now and then
                for (uint64_t at = begin; at < begin + 4800; at += 8) wrong += word(*memory, at) != Numbers::at(at);
            }
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong.load(), 0u);
    EXPECT_GT(numbers.made.load(), 400u);
}

// Reading from end to end again and again keeps what fits: the longest unused piece would always be the next.
TEST(DemandMemory, KeepsAShareOfWhatIsReadInCircles) {
    const Numbers numbers;
    const auto memory = DemandMemory::reserve(100 * kPiece, {80 * kPiece, 1, kPiece}, numbers, "numbers").value();
    for (int round = 0; round < 20; ++round)
        for (uint64_t piece = 0; piece < 100; ++piece)
            ASSERT_EQ(word(*memory, piece * kPiece), Numbers::at(piece * kPiece));
    // 80 of 100 fit, so 20 a round are the least; always the oldest would be 100.
    EXPECT_LT(numbers.made.load(), 20u * 60);
}

TEST(DemandMemory, OfSeveralRegionsEachHasItsOwn) {
    const Numbers numbers;
    const auto first = DemandMemory::reserve(3 * kPiece, {kPiece, 1, kPiece}, numbers, "numbers").value();
    {
        const auto gone = DemandMemory::reserve(3 * kPiece, {kPiece, 1, kPiece}, numbers, "numbers").value();
    }
    const auto second = DemandMemory::reserve(3 * kPiece, {kPiece, 1, kPiece}, numbers, "numbers").value();
    EXPECT_EQ(word(*first, 2 * kPiece), Numbers::at(2 * kPiece));
    EXPECT_EQ(word(*second, 8), Numbers::at(8));
}

TEST(DemandMemory, FailsForMoreThanAddressesReach) {
    const Numbers numbers;
    const auto memory = DemandMemory::reserve(uint64_t{1} << 62, {kPiece, 1, kPiece}, numbers, "the numbers");
    ASSERT_FALSE(memory);
    EXPECT_TRUE(memory.error().message.starts_with("the numbers needs ")) << memory.error().message;
}

using DemandMemoryDeathTest = testing::Test;
TEST_F(DemandMemoryDeathTest, LeavesOtherFaultsAlone) {
    const Numbers numbers;
    const auto memory = DemandMemory::reserve(3 * kPiece, {kPiece, 1, kPiece}, numbers, "numbers").value();
    EXPECT_EQ(word(*memory, 0), Numbers::at(0));
    EXPECT_DEATH(*const_cast<volatile std::byte*>(memory->data()) = std::byte{1}, "");
    EXPECT_DEATH(*reinterpret_cast<volatile int*>(8) = 1, "");
}

}  // namespace demand_memory_test
}  // namespace riftjit
