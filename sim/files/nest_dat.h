// NEST's ASCII recordings: two lines of #, the names of the columns, one row per spike. Ours carries its metadata as
// JSON in the first line; NEST's own files, in either time mode, and bare columns of sender and time are read too.
#pragma once

#include "sim/files/recording.h"

namespace riftjit::sim {

Result<std::unique_ptr<RecordingWriter>> create_nest_dat(const std::string& path, const RecordingHeader& header,
                                                         Existing existing);
bool looks_like_nest_dat(std::string_view head);
Result<Recording> parse_nest_dat(std::string_view text, const ReadOptions& options);

}  // namespace riftjit::sim
