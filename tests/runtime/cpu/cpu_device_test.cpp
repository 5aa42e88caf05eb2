#include "runtime/cpu/cpu_device.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <numeric>
#include <vector>

#include "host/round_up.h"

namespace riftjit::runtime {
namespace cpu_device_test {

constexpr uint32_t kWidth = 512;

// Packs that many rows; for each whole page of the file's, whether it was released.
struct Packed {
    std::vector<std::byte> bytes;
    std::vector<bool> released;
};
Packed pack(uint32_t rows, uint32_t threads) {
    KernelCache cache([](const KernelSpec&, Target) -> Result<CodeObject> { return fail(ErrorKind::Encoding, "no"); },
                      DiskCache::disabled());
    auto device = CpuDevice::create(Isa::avx2, threads, Helpers::always, cache);
    EXPECT_TRUE(device);
    std::vector<float> values(uint64_t(rows) * kWidth);
    std::iota(values.begin(), values.end(), 1.0f);
    const auto file = std::as_bytes(std::span(values));
    const uint64_t page = uint64_t(sysconf(_SC_PAGESIZE));
    const auto address = [](const std::byte* at) { return reinterpret_cast<uintptr_t>(at); };
    const uintptr_t first = round_up(address(file.data()), page),
                    last = (address(file.data()) + file.size()) / page * page;
    Packed packed{std::vector<std::byte>(file.size()), std::vector<bool>((last - first) / page)};
    const auto release = [&](std::span<const std::byte> range) {
        EXPECT_TRUE(range.data() >= file.data() && range.data() + range.size() <= file.data() + file.size());
        const uintptr_t end = address(range.data()) + range.size();
        for (uintptr_t at = round_up(address(range.data()), page); at + page <= end; at += page)
            packed.released[(at - first) / page] = true;
    };
    (*device)->pack({DType::F32, rows, kWidth, file.data()}, packed.bytes.data(), release);
    return packed;
}

TEST(CpuDevice, ReleasesEveryPageOfWhatItPacked) {
    for (const uint32_t rows : {1008u, 6400u}) {  // one chunk, and two
        const Packed alone = pack(rows, 1);
        for (const uint32_t threads : {1u, 3u, 16u}) {
            const Packed packed = pack(rows, threads);
            EXPECT_EQ(std::ranges::count(packed.released, false), 0) << rows << " rows, " << threads << " threads";
            EXPECT_TRUE(packed.bytes == alone.bytes) << rows << " rows, " << threads << " threads";
        }
    }
}

}  // namespace cpu_device_test
}  // namespace riftjit::runtime
