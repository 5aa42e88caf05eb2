#include "runtime/cpu/cpu_device.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "jit/x86/decoders/packed.h"
#include "runtime/cpu/cpu_plan.h"
#include "runtime/cpu/peaks.h"

namespace riftjit::runtime {
namespace {

// Bytes of a weight that are in memory twice while it is packed. Small enough not to show in the peak, large enough
// to keep threads busy between two barriers.
constexpr uint64_t kPackChunkBytes = 8 << 20;

// One of several chunks of a tensor's panels: of each thread's share, which it reads later and therefore is the first
// to touch, the piece that comes next.
struct PackJob {
    const FileTensor& tensor;
    std::byte* out;
    uint32_t panels, threads, chunk, chunks;

    Share piece(uint32_t thread) const {
        const Share share = share_of(panels, thread, threads);
        const Share piece = share_of(share.end - share.begin, chunk, chunks);
        return {share.begin + piece.begin, share.begin + piece.end};
    }
    void run(uint32_t thread) const {
        const auto [begin, end] = piece(thread);
        x86::pack_panels(tensor.type, tensor.rows, tensor.width, tensor.data, out, begin, end);
    }
};

}  // namespace

Result<std::unique_ptr<CpuDevice>> CpuDevice::create(Isa isa, uint32_t threads, Helpers helpers, KernelCache& cache,
                                                     Profile profile, std::optional<WeightsOnDemand> on_demand) {
    if (threads == 0) return fail(ErrorKind::Usage, "threads 0: expected 1 or more");
    RIFTJIT_TRY(pool, ThreadPool::create(threads));
    return std::unique_ptr<CpuDevice>(
        new CpuDevice(isa, std::move(pool), helpers, x86::HostKernels(cache, profile), on_demand));
}

bool CpuDevice::is_on_demand(const std::byte* address) const {
    return weights_ && address >= weights_->data() && address < weights_->data() + weights_->size_bytes();
}

Result<Address> CpuDevice::allocate(uint64_t bytes, MemoryUse use, std::string_view what) {
    if (use == MemoryUse::stream && on_demand_) {
        check(weights_ == nullptr, "a device holds the weights of one model");
        pieces_ = std::make_unique<WeightPieces>();
        RIFTJIT_TRY(memory,
                    DemandMemory::reserve(bytes, {on_demand_->most_resident, pool_.size(), on_demand_->piece_bytes},
                                          *pieces_, what));
        weights_ = std::move(memory);
        return weights_->data();
    }
    const bool is_sparse = use == MemoryUse::sparse;  // in normal pages: huge ones would back more than is touched
    RIFTJIT_TRY(pages, Pages::allocate(bytes, is_sparse ? Pages::Size::normal : Pages::Size::huge, what,
                                       is_sparse ? Pages::Backing::sparse : Pages::Backing::whole));
    return memory_.emplace_back(std::move(pages)).data();
}

Result<void> CpuDevice::write(Address to, std::span<const std::byte> bytes) {
    if (is_on_demand(to))
        pieces_->add(uint64_t(to - weights_->data()), {bytes.begin(), bytes.end()});
    else
        std::memcpy(to, bytes.data(), bytes.size());
    return {};
}

Result<void> CpuDevice::read(std::span<std::byte> to, Address from) const {
    std::memcpy(to.data(), from, to.size());
    return {};
}

Result<void> CpuDevice::copy(Address to, Address from, uint64_t bytes) {
    std::memcpy(to, from, bytes);
    return {};
}

Result<void> CpuDevice::pack(const FileTensor& tensor, Address to, const Release& release) {
    if (is_on_demand(to)) {
        pieces_->add(uint64_t(to - weights_->data()), tensor);
        return {};
    }
    const uint64_t bytes_per_row = row_bytes(tensor.type, tensor.width);
    const uint64_t bytes_per_panel = bytes_per_row * x86::kPanelRows;
    const auto panels = uint32_t(round_up(tensor.rows, x86::kPanelRows) / x86::kPanelRows);
    const auto chunks = uint32_t((panels * bytes_per_panel + kPackChunkBytes - 1) / kPackChunkBytes);
    PackJob job{tensor, to, panels, pool_.size(), 0, chunks};
    for (; job.chunk < chunks; ++job.chunk) {
        pool_.run([](void* pack, uint32_t thread) { static_cast<const PackJob*>(pack)->run(thread); }, &job);
        if (!release || job.chunk + 1 == chunks) continue;
        for (uint32_t thread = 0; thread < pool_.size(); ++thread) {
            const Share piece = job.piece(thread);
            const uint64_t begin_row = uint64_t(piece.begin) * x86::kPanelRows;
            const uint64_t end_row = std::min<uint64_t>(uint64_t(piece.end) * x86::kPanelRows, tensor.rows);
            if (begin_row < end_row)
                release({tensor.data + begin_row * bytes_per_row, (end_row - begin_row) * bytes_per_row});
        }
    }
    // And once more all of it: a page that two pieces share is released with neither, and many threads have many.
    if (release) release({tensor.data, tensor.rows * bytes_per_row});
    return {};
}

Result<std::unique_ptr<BoundPlan>> CpuDevice::bind(const graph::Plan& plan, const Addresses& addresses) {
    RIFTJIT_TRY(bound, CpuPlan::create(plan, addresses, {isa_, pool_, helpers_, kernels_}));
    return std::unique_ptr<BoundPlan>(std::move(bound));
}

Result<void> CpuDevice::make_ready() { return kernels_.seal(); }

Result<double> CpuDevice::read_rate(Address from, uint64_t bytes) const {
    // What has to be made first is not what is measured.
    const uint64_t present = is_on_demand(from) ? std::min(bytes, weights_->most_resident() / 2) : bytes;
    return measure_read_rate(isa_, pool_.size(), {from, present});
}

Result<void> CpuDevice::lock(Address from, uint64_t bytes) const {
    if (is_on_demand(from)) return fail(ErrorKind::Unsupported, "weights come into memory as they are read");
    if (mlock(from, bytes) != 0) return fail(ErrorKind::Io, "{}", std::strerror(errno));
    return {};
}

}  // namespace riftjit::runtime
