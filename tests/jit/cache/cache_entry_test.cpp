#include "jit/cache/cache_entry.h"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <cstring>

#include "tests/jit/cache/cache_fixture.h"
#include "tests/jit/spec_table.h"

namespace riftjit {
namespace cache_entry_test {

const CacheKey kKey{"00112233445566778899aabbccddeeff"};

std::vector<std::byte> sound_entry(Isa isa = Isa::avx2) { return encode_entry(kKey, test_object(test_spec(), isa)); }

// Makes the checksum right again, so that what lies behind it is what gets refused.
void seal(std::vector<std::byte>& entry) {
    const auto checksum = checksum_of(std::span(entry).subspan(32));
    std::memcpy(entry.data() + 16, checksum.data(), checksum.size());
}

CacheProblem problem_of(const std::vector<std::byte>& entry) {
    const auto object = decode_entry(entry, kKey);
    return object ? CacheProblem{CacheFault::missing, "accepted"} : object.error();
}

TEST(CacheEntry, ReturnsTheObjectAtEveryLevel) {
    for (Isa isa : all_isas()) {
        const auto object = decode_entry(sound_entry(isa), kKey);
        ASSERT_TRUE(object) << object.error().text;
        EXPECT_TRUE(object->target == isa);
        EXPECT_EQ(object->name, kernel_name(test_spec()));
        EXPECT_EQ(object->elf, test_object(test_spec(), isa).elf);
    }
}

TEST(CacheEntry, LaysItsHeaderOutAsDocumented) {
    const std::vector<std::byte> entry = sound_entry(Isa::avx512_vnni);
    const std::string_view text(reinterpret_cast<const char*>(entry.data()), kEntryHeaderBytes);
    EXPECT_EQ(text.substr(0, 8), "RJCACHE\n");
    EXPECT_EQ(text.substr(8, 8), std::string_view("\x01\0\0\0\x04\x03\x02\x01", 8));
    EXPECT_EQ(text.substr(32, 24), std::string_view("x86_64-avx512_vnni\0\0\0\0\0\0", 24));
    EXPECT_EQ(text.substr(64, 4), std::string_view("\x00\x11\x22\x33", 4));
    uint64_t payload_bytes = 0;
    std::memcpy(&payload_bytes, entry.data() + 80, sizeof payload_bytes);
    EXPECT_EQ(payload_bytes, entry.size() - kEntryHeaderBytes);
    const XXH128_hash_t hash = XXH3_128bits(entry.data() + 32, entry.size() - 32);
    EXPECT_EQ(std::to_integer<uint64_t>(entry[16]), hash.high64 >> 56);
}

TEST(CacheEntry, RefusesEverySingleBitFlip) {
    std::vector<std::byte> entry = sound_entry();
    for (size_t bit = 0; bit < entry.size() * 8; ++bit) {
        entry[bit / 8] ^= std::byte(1u << (bit % 8));
        ASSERT_FALSE(decode_entry(entry, kKey)) << "bit " << bit;
        entry[bit / 8] ^= std::byte(1u << (bit % 8));
    }
    EXPECT_TRUE(decode_entry(entry, kKey));
}

TEST(CacheEntry, RefusesEveryTruncationAsCorrupt) {
    const std::vector<std::byte> entry = sound_entry();
    for (size_t length = 0; length < entry.size(); ++length) {
        const auto object = decode_entry(std::span(entry).first(length), kKey);
        ASSERT_FALSE(object) << length;
        ASSERT_EQ(object.error().fault, CacheFault::corrupt) << length;
    }
}

TEST(CacheEntry, SaysWhatIsWrong) {
    struct Fault {
        std::function<void(std::vector<std::byte>&)> inject;
        CacheFault fault;
        std::string text;
    };
    const auto set = [](size_t offset, uint8_t value) {
        return [=](std::vector<std::byte>& entry) { entry[offset] = std::byte{value}; };
    };
    const auto sealed = [](auto inject) { return [=](std::vector<std::byte>& entry) { inject(entry), seal(entry); }; };
    const Fault faults[] = {
        {[](auto& entry) { entry.clear(); }, CacheFault::corrupt, "truncated to 0 bytes"},
        {[](auto& entry) { entry.resize(50); }, CacheFault::corrupt, "truncated to 50 bytes"},
        {[](auto& entry) { entry.resize(entry.size() - 1); }, CacheFault::corrupt, "truncated: "},
        {[](auto& entry) { entry.resize(entry.size() + 3); }, CacheFault::corrupt, "3 trailing bytes"},
        {set(0, 'X'), CacheFault::corrupt, "not a cache entry (wrong magic)"},
        {set(8, 2), CacheFault::stale, "format version 2, not 1"},
        {set(8, 0), CacheFault::stale, "format version 0, not 1"},
        {set(12, 1), CacheFault::corrupt, "wrong byte order mark"},
        {set(87, 0x7f), CacheFault::corrupt, "truncated: "},  // a huge declared length
        {set(100, 1), CacheFault::corrupt, "checksum does not match"},
        {sealed(set(38, '9')), CacheFault::stale, "target \"x86_649avx2\" is not one of this build's"},
        {sealed(set(39, '\n')), CacheFault::stale, "target \"x86_64-?vx2\""},
        {sealed(set(56, 0xff)), CacheFault::stale, "feature bits 0xff, not 0xf as x86_64-avx2 has"},
        {sealed(set(64, 0x01)), CacheFault::stale, "holds the entry of key 01112233445566778899aabbccddeeff"},
        {sealed(set(88, 0)), CacheFault::corrupt, "not an x86-64 ELF object"},
        {[](auto& entry) {  // code for another level than the header says
             entry = sound_entry(Isa::avx512);
             const std::vector<std::byte> avx2 = sound_entry(Isa::avx2);
             std::copy_n(avx2.begin() + 32, 32, entry.begin() + 32);
             seal(entry);
         },
         CacheFault::corrupt, "code for avx512 under target x86_64-avx2"},
    };
    for (const Fault& fault : faults) {
        std::vector<std::byte> entry = sound_entry();
        fault.inject(entry);
        const CacheProblem problem = problem_of(entry);
        EXPECT_TRUE(has_text(problem.text, fault.text));
        EXPECT_EQ(name(problem.fault), name(fault.fault)) << fault.text;
    }
}

TEST(CacheEntry, MarksOnlyLaterVersionsAsNewer) {
    std::vector<std::byte> entry = sound_entry();
    entry[8] = std::byte{2};
    EXPECT_TRUE(problem_of(entry).is_newer);
    entry[8] = std::byte{0};
    EXPECT_FALSE(problem_of(entry).is_newer);
}

TEST(CacheEntry, IsSummarizedFromItsPrefix) {
    const std::vector<std::byte> entry = sound_entry(Isa::avx512);
    const auto summary = summarize_entry(std::span(entry).first(std::min(entry.size(), kEntryPrefixBytes)));
    ASSERT_TRUE(summary) << summary.error().text;
    EXPECT_EQ(summary->name, kernel_name(test_spec()));
    EXPECT_EQ(summary->target, "x86_64-avx512");
    for (size_t length = 0; length < kEntryHeaderBytes + 64; ++length)
        EXPECT_FALSE(summarize_entry(std::span(entry).first(length))) << length;
}

TEST(CacheEntry, NamesFilesByKey) {
    EXPECT_EQ(entry_file_name(kKey), kKey.hex + ".rjk");
    EXPECT_TRUE(is_entry_file_name(kKey.hex + ".rjk"));
    EXPECT_EQ(key_of_file_name(kKey.hex + ".rjk").hex, kKey.hex);
    for (const std::string name :
         {"", ".rjk", "00112233445566778899AABBCCDDEEFF.rjk", "00112233445566778899aabbccddeef.rjk",
          "00112233445566778899aabbccddeeff.tmp", "../2233445566778899aabbccddeeff.rjk"})
        EXPECT_FALSE(is_entry_file_name(name)) << name;
}

TEST(CacheKey, DiffersForEverySpecLevelAndBuild) {
    const std::byte first_build[20] = {std::byte{1}}, second_build[20] = {std::byte{2}};
    std::set<std::string> keys;
    size_t asked = 0;
    for (const KernelSpec& spec : distinct_specs())
        for (Isa isa : all_isas())
            for (const auto& build : {first_build, second_build}) {
                keys.insert(cache_key(spec, isa, std::span(build, 20)).hex);
                ++asked;
            }
    EXPECT_EQ(keys.size(), asked);
}

TEST(CacheKey, HoldsTheArchitectureBesideTheLevel) {
    const Target x86(Architecture::x86_64, 0x2), gpu(Architecture::rdna, 0x2);
    EXPECT_NE(cache_key(test_spec(), x86).hex, cache_key(test_spec(), gpu).hex);
    EXPECT_EQ(name(Target(Isa::avx512)), "x86_64-avx512");
    EXPECT_EQ(name(Target(Architecture::rdna, 0x1100)), "gfx1100");
    for (const Target target : {Target(Isa::avx512), Target(Architecture::rdna, 0x1100)})
        EXPECT_TRUE(target_from_name(name(target)) == target);
    for (const std::string_view text :
         {"", "x86_64-", "x86_64-sse2", "gfx", "gfx01100", "gfx1100 ", "GFX1100", "gfx123456"})
        EXPECT_FALSE(target_from_name(text)) << text;
}

TEST(CacheKey, IsTheSameInEveryProcess) {
    const std::string here = cache_key(test_spec(), Isa::avx2).hex;
    EXPECT_EQ(here.size(), 32u);
    EXPECT_EQ(in_child([] { return cache_key(test_spec(), Isa::avx2).hex; }), here);
}

}  // namespace cache_entry_test
}  // namespace riftjit
