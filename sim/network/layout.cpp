#include "sim/network/layout.h"

#include <algorithm>
#include <cmath>

#include "sim/network/random.h"

namespace riftjit::sim {

std::vector<Place> places_of(const Layout& layout, uint32_t size, uint64_t seed, uint32_t population) {
    std::vector<Place> places(size);
    const uint64_t key = random_key(seed, Purpose::position, population);
    const uint32_t columns = std::max(layout.columns, 1u), rows = (size + columns - 1) / columns;
    for (uint32_t i = 0; i < size; ++i) {
        if (layout.shape == Layout::Shape::uniform) {
            const PhiloxWords words = random_words(key, i, 0);
            places[i] = {layout.width * uniform_f64(philox_first(words)),
                         layout.height * uniform_f64(philox_second(words))};
        } else if (layout.shape == Layout::Shape::grid) {
            places[i] = {layout.width * (i % columns) / columns, layout.height * (i / columns) / rows};
        } else {
            places[i] = {layout.width * i / size, 0};
        }
    }
    return places;
}

double distance(const Place& a, const Place& b, const Layout& layout, DistanceDependent::Boundary boundary) {
    double dx = std::abs(a.x - b.x), dy = std::abs(a.y - b.y);
    // A ring has no other way than round.
    if (boundary == DistanceDependent::Boundary::periodic || layout.shape == Layout::Shape::ring) {
        dx = std::min(dx, std::abs(layout.width - dx));
        dy = std::min(dy, std::abs(layout.height - dy));
    }
    return std::sqrt(dx * dx + dy * dy);
}

}  // namespace riftjit::sim
