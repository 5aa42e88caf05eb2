// Runs generated kernels in tests: compiled, mapped executable, on buffers that end at an unmapped page.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cmath>
#include <cstring>
#include <span>
#include <stdexcept>
#include <vector>

#include "jit/code_memory.h"
#include "jit/code_object.h"
#include "jit/x86/backend.h"
#include "jit/x86/detect.h"

namespace riftjit::x86 {

inline const std::vector<Isa>& machine_isas() {
    static const std::vector<Isa> levels = detect().levels;
    return levels;
}

class RunnableKernel {
public:
    RunnableKernel(const KernelSpec& spec, Isa isa) : RunnableKernel(machine_code(spec, isa)) {}
    explicit RunnableKernel(const MachineCode& code) {
        const auto address = memory_.add(code.bytes);
        if (!address || !memory_.seal()) throw std::runtime_error("generated code cannot be mapped");
        function_ = reinterpret_cast<KernelFunction>(const_cast<std::byte*>(*address));
    }
    void operator()(const void* args, uint32_t begin, uint32_t end) const { function_(args, begin, end); }

    KernelFunction function() const { return function_; }

    static MachineCode machine_code(const KernelSpec& spec, Isa isa) {
        const auto object = compile(spec, isa);
        if (!object) throw std::runtime_error(object.error().message);
        const auto read = read_x86_object(object->elf);
        if (!read) throw std::runtime_error(read.error().message);
        return read->code;
    }

private:
    CodeMemory memory_;
    KernelFunction function_ = nullptr;
};

// `count` elements whose last byte is the last of a page, before one that cannot be touched. Filled with 0xff bytes (a
// NaN in every floating-point type), so that what a kernel should not read shows.
template <class T>
class GuardedBuffer {
public:
    explicit GuardedBuffer(size_t count) : count_(count), mapped_bytes_(round_up(count * sizeof(T), kPage) + kPage) {
        void* base = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (base == MAP_FAILED) throw std::bad_alloc();
        base_ = static_cast<std::byte*>(base);
        mprotect(base_ + mapped_bytes_ - kPage, kPage, PROT_NONE);
        std::memset(base_, 0xff, mapped_bytes_ - kPage);
    }
    GuardedBuffer(const GuardedBuffer& other) : GuardedBuffer(other.count_) {
        std::memcpy(data(), other.data(), bytes());
    }
    GuardedBuffer& operator=(const GuardedBuffer&) = delete;
    ~GuardedBuffer() { munmap(base_, mapped_bytes_); }

    T* data() const { return reinterpret_cast<T*>(base_ + mapped_bytes_ - kPage - count_ * sizeof(T)); }
    T& operator[](size_t index) const { return data()[index]; }
    size_t size() const { return count_; }
    size_t bytes() const { return count_ * sizeof(T); }
    bool operator==(const GuardedBuffer& other) const {
        return count_ == other.count_ && std::memcmp(data(), other.data(), bytes()) == 0;
    }

private:
    static constexpr size_t kPage = 4096;
    size_t count_, mapped_bytes_;
    std::byte* base_;
};

// A small deterministic generator (SplitMix64).
class Random {
public:
    explicit Random(uint64_t seed) : state_(seed) {}
    uint64_t bits() {
        uint64_t z = state_ += 0x9e3779b97f4a7c15;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
        z = (z ^ z >> 27) * 0x94d049bb133111eb;
        return z ^ z >> 31;
    }
    uint32_t below(uint32_t bound) { return static_cast<uint32_t>(bits() % bound); }
    double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }  // [0, 1)
    float normal(double deviation = 1.0) {
        const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
        return static_cast<float>(deviation * radius * std::cos(2.0 * M_PI * uniform()));
    }

private:
    uint64_t state_;
};

// Distance from one f32 number of this magnitude to the next.
inline double ulp(double value) {
    const float magnitude = static_cast<float>(std::fabs(value));
    return double(std::nextafter(magnitude, INFINITY)) - double(magnitude);
}

inline constexpr double kHalfUlp = 0x1p-24;  // largest relative error of one f32 rounding

}  // namespace riftjit::x86
