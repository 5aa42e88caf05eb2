// Where the neurons of a population lie.
#pragma once

#include <vector>

#include "sim/network/description.h"

namespace riftjit::sim {

struct Place {
    double x, y;
};
std::vector<Place> places_of(const Layout& layout, uint32_t size, uint64_t seed, uint32_t population);

// Between places; periodic: along each axis the shorter way round a torus of the extent of `layout`.
double distance(const Place& a, const Place& b, const Layout& layout, DistanceDependent::Boundary boundary);

}  // namespace riftjit::sim
