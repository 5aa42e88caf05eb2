// Values as the bytes they are made of.
#pragma once

#include <span>
#include <string_view>

namespace riftjit {

template <class T>
std::string_view bytes_of(std::span<const T> values) {
    return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

}  // namespace riftjit
