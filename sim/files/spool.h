// PATH.part: what a run recorded so far, block by block, for formats whose files cannot grow. Layout: kSpoolMagic; then
// blocks of {u32 kind, u32 recorder, u64 bytes, u64 XXH3 of the payload}, payload: kind 0 metadata as JSON (first, and
// again when the run ends), 1 spikes (u32 step, u32 id), 2 states (f64), 3 synapses (u32 source, u32 target), 4 weights
// (f64). Little-endian. A block cut short ends the file.
#pragma once

#include "sim/files/append_file.h"
#include "sim/files/recording.h"

namespace riftjit::sim {

inline constexpr std::string_view kSpoolMagic = "RIFTPART";

enum class SpoolBlock : uint32_t { metadata, spikes, states, synapses, weights };

struct SpoolBlockHead {
    SpoolBlock kind;
    uint32_t recorder;
    uint64_t bytes, checksum;
};
static_assert(sizeof(SpoolBlockHead) == 24 && sizeof(Spike) == 8 && sizeof(SynapseEnds) == 8);

// Records into PATH.part and makes PATH of it at the end.
Result<std::unique_ptr<RecordingWriter>> create_spooled(const std::string& path, RecordingFormat format,
                                                        const RecordingHeader& header, Existing existing);

Result<void> append_spool(AppendFile& file, const Recording& recording);  // to an empty file
Result<Recording> parse_spool(std::string_view bytes);

}  // namespace riftjit::sim
