// NWB's table of units: one per neuron of the populations that were recorded whole, and of those recorded in part one
// per neuron that fired, for which of their silent neurons were recorded is not known.
#pragma once

#include "sim/files/hdf5/layouts.h"

namespace riftjit::sim::h5 {

// NWB's marks of an object's type, with an identifier of its own.
void mark_type(hid_t object, const char* space, const char* type);
std::string random_uuid();

// Memory: 12 bytes per unit, and a bounded part of the spikes at a time; refused if that is not available.
void write_units(hid_t file, const RecordingSource& source);

}  // namespace riftjit::sim::h5
