#include "host/pages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

namespace riftjit {
namespace pages_test {

TEST(Pages, AreZeroedAndAligned) {
    for (uint64_t bytes : {1ull, 4096ull, 5ull << 20}) {
        for (Pages::Size size : {Pages::Size::normal, Pages::Size::huge}) {
            const auto pages = Pages::allocate(bytes, size, "a test");
            ASSERT_TRUE(pages) << pages.error().message;
            EXPECT_GE(pages->size_bytes(), bytes);
            const bool whole_huge_pages = size == Pages::Size::huge && bytes >= 2 << 20;
            EXPECT_EQ(reinterpret_cast<uintptr_t>(pages->data()) % (whole_huge_pages ? 2 << 20 : 64), 0u);
            EXPECT_TRUE(
                std::all_of(pages->data(), pages->data() + bytes, [](std::byte b) { return b == std::byte{}; }));
            std::fill_n(pages->data(), pages->size_bytes(), std::byte{1});  // to the last byte
        }
    }
}

TEST(Pages, OfNothingAreNothing) {
    const auto pages = Pages::allocate(0, Pages::Size::huge, "nothing");
    ASSERT_TRUE(pages);
    EXPECT_EQ(pages->size_bytes(), 0u);
}

TEST(Pages, SayWhatNeededHowMuch) {
    for (uint64_t bytes : {1ull << 60, 1ull << 46, ~0ull}) {
        const auto pages = Pages::allocate(bytes, Pages::Size::huge, "the KV cache of 7 positions");
        ASSERT_FALSE(pages);
        EXPECT_EQ(pages.error().kind, ErrorKind::OutOfMemory);
        const std::string start = "the KV cache of 7 positions needs " + std::to_string(bytes) + " bytes";
        EXPECT_TRUE(pages.error().message.starts_with(start)) << pages.error().message;
    }
}

TEST(Pages, MoveWithoutFreeingTwice) {
    auto first = Pages::allocate(4096, Pages::Size::normal, "a test");
    ASSERT_TRUE(first);
    std::byte* const data = first->data();
    Pages second = std::move(*first);
    EXPECT_EQ(first->data(), nullptr);
    EXPECT_EQ(second.data(), data);
    second = Pages();
    EXPECT_EQ(second.data(), nullptr);
}

}  // namespace pages_test
}  // namespace riftjit
