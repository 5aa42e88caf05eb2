// Entries of the kernel cache: as a run and `riftjit cache` read them. Those with a right checksum, too, which no
// accident has.
#include "engine/machine.h"
#include "jit/cache/cache_entry.h"
#include "jit/kernel_spec.h"
#include "tests/mutants/campaign.h"

namespace riftjit::mutants {
namespace cache_entry_mutants_test {

constexpr size_t kChecksumOffset = 16, kCheckedOffset = 32, kPayloadBytesOffset = 80;

std::span<const std::byte> bytes_in(const std::string& file) { return std::as_bytes(std::span(file)); }

CacheKey key() { return cache_key(SwigluSpec{256, 512, RowFormat::f32}, Target(Isa::avx2), {}); }

Outcome read(const std::string& file) {
    const auto entry = bytes_in(file);
    const auto summary = summarize_entry(entry.first(std::min(entry.size(), kEntryPrefixBytes)));
    if (!summary) check(!summary.error().text.empty(), "a refusal says why");
    const auto object = decode_entry(entry, key());
    if (!object) check(!object.error().text.empty(), "a refusal says why");
    return {object ? "" : object.error().text};
}

// Of three in four: the others show that damage is seen.
void mend(std::string& file, const std::string&, Random& random) {
    if (below(random, 4) == 0 || file.size() < kEntryHeaderBytes) return;
    const uint64_t payload = file.size() - kEntryHeaderBytes;
    std::memcpy(file.data() + kPayloadBytesOffset, &payload, sizeof payload);
    const auto sum = checksum_of(bytes_in(file).subspan(kCheckedOffset));
    std::memcpy(file.data() + kChecksumOffset, sum.data(), sum.size());
}

TEST(CacheEntryMutants, AreRefusedOrDecoded) {
    std::vector<std::string> seeds;
    for (const std::string_view name : {"x86_64-avx2", "x86_64-avx512_vnni", "gfx1100"}) {
        const auto target = target_from_name(name);
        ASSERT_TRUE(target) << name;
        const auto object = engine::compile(SwigluSpec{256, 512, RowFormat::f32}, *target);
        ASSERT_TRUE(object) << object.error().message;
        const std::vector<std::byte> entry = encode_entry(key(), *object);
        seeds.emplace_back(reinterpret_cast<const char*>(entry.data()), entry.size());
    }
    Campaign("cache-entry", std::move(seeds), read, mend).run();
}

}  // namespace cache_entry_mutants_test
}  // namespace riftjit::mutants
