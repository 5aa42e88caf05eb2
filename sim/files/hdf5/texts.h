// Texts of variable length, read past libhdf5's own way: it takes memory for whatever length a damaged reference claims
// and copies what the heap has behind its end, and comes to no end with a heap one of whose objects has no length.
#pragma once

#include "sim/files/hdf5/h5.h"

namespace riftjit::sim::h5 {

std::vector<std::string> variable_texts_of(hid_t dataset, size_t count, const std::string& name);
std::string variable_text_of(hid_t attribute, const std::string& name);  // of one element

}  // namespace riftjit::sim::h5
