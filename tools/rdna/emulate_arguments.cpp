#include "tools/rdna/emulate_arguments.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "host/half.h"
#include "tools/cli/input_file.h"
#include "tools/rdna/rdna_files.h"

namespace riftjit::tools {

namespace {

constexpr uint64_t kMaxBufferBytes = uint64_t{1} << 34;
constexpr std::string_view kScalarTypes = "u8, u16, u32, u64, i8, i16, i32, i64, f16, f32, f64 or hex";

template <class T>
std::vector<std::byte> bytes_of(T value) {
    std::vector<std::byte> bytes(sizeof value);
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
}

// "0x1f" too.
template <class T>
Result<std::vector<std::byte>> integer(std::string_view text) {
    T value = 0;
    const bool is_hex = text.starts_with("0x");
    const std::string_view digits = text.substr(is_hex ? 2 : 0);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, is_hex ? 16 : 10);
    if (error == std::errc::result_out_of_range)
        return fail(ErrorKind::Usage, "{} is out of range, expected {} to {}", text, std::numeric_limits<T>::min(),
                    std::numeric_limits<T>::max());
    if (error != std::errc{} || end != digits.data() + digits.size())
        return fail(ErrorKind::Usage, "expected an integer, got \"{}\"", text);
    return bytes_of(value);
}

template <class T>
Result<T> floating(std::string_view text) {
    T value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc::result_out_of_range) return fail(ErrorKind::Usage, "{} is out of range", text);
    if (error != std::errc{} || end != text.data() + text.size())
        return fail(ErrorKind::Usage, "expected a number, got \"{}\"", text);
    return value;
}

// Rounded once: what lies between two floats becomes the odd one of them, which keeps it off the ties of f16.
uint16_t half_from_double(double value) {
    const float nearest = static_cast<float>(value);
    if (std::isnan(value) || std::isinf(nearest) || nearest == value) return float_to_half(nearest);
    const bool is_beyond = std::abs(static_cast<double>(nearest)) > std::abs(value);
    const uint32_t toward_zero = std::bit_cast<uint32_t>(nearest) - (is_beyond ? 1 : 0);
    return float_to_half(std::bit_cast<float>(toward_zero | 1));
}

Result<std::vector<std::byte>> hex_bytes(std::string_view text) {
    std::vector<std::byte> bytes;
    for (size_t at = 0; at < text.size(); at += 2) {
        const std::string_view pair = text.substr(at, 2);
        uint8_t value = 0;
        const auto [end, error] = std::from_chars(pair.data(), pair.data() + pair.size(), value, 16);
        if (pair.size() != 2 || error != std::errc{} || end != pair.data() + 2)
            return fail(ErrorKind::Usage, "expected two hex digits a byte, got \"{}\"", text);
        bytes.push_back(std::byte{value});
    }
    if (bytes.empty()) return fail(ErrorKind::Usage, "expected two hex digits a byte, got \"\"");
    return bytes;
}

Result<std::vector<std::byte>> scalar_value(std::string_view type, std::string_view value) {
    if (type == "u8") return integer<uint8_t>(value);
    if (type == "u16") return integer<uint16_t>(value);
    if (type == "u32") return integer<uint32_t>(value);
    if (type == "u64") return integer<uint64_t>(value);
    if (type == "i8") return integer<int8_t>(value);
    if (type == "i16") return integer<int16_t>(value);
    if (type == "i32") return integer<int32_t>(value);
    if (type == "i64") return integer<int64_t>(value);
    if (type == "hex") return hex_bytes(value);
    if (type == "f32") {
        RIFTJIT_TRY(number, floating<float>(value));
        return bytes_of(number);
    }
    if (type != "f16" && type != "f64")
        return fail(ErrorKind::Usage, "type \"{}\" is not known, expected {}", type, kScalarTypes);
    RIFTJIT_TRY(number, floating<double>(value));
    if (type == "f64") return bytes_of(number);
    constexpr double kBeyondHalf = 65520;  // from here on the nearest f16 is infinite
    if (std::isfinite(number) && std::abs(number) >= kBeyondHalf)
        return fail(ErrorKind::Usage, "{} is out of range, f16 reaches 65504", value);
    return bytes_of(half_from_double(number));
}

std::vector<rdna::KernelArgument> explicit_arguments(const rdna::LoadedKernel& kernel) {
    std::vector<rdna::KernelArgument> args;
    for (const rdna::KernelArgument& argument : kernel.metadata.args)
        if (!rdna::is_hidden(argument.value_kind)) args.push_back(argument);
    std::ranges::sort(args, {}, &rdna::KernelArgument::offset);
    return args;
}

std::string described(const rdna::KernelArgument& argument) {
    const std::string name = argument.name.empty() ? "" : " " + argument.name;
    if (argument.value_kind == rdna::ValueKind::global_buffer) return "--buffer" + name;
    const bool is_plain = argument.value_kind == rdna::ValueKind::by_value;
    return fmt::format("--scalar{} ({} byte{}{}{})", name, argument.size, argument.size == 1 ? "" : "s",
                       is_plain ? "" : ", ", is_plain ? "" : rdna::name(argument.value_kind));
}

std::string kernel_takes(const rdna::LoadedKernel& kernel) {
    return fmt::format("kernel {} takes {}", kernel.name, argument_list(kernel));
}

// Of a kernel whose file says nothing of its arguments but their bytes.
Result<std::vector<std::byte>> lay_out_in_order(const rdna::LoadedKernel& kernel, std::span<const PassedValue> values) {
    const uint32_t size = kernel.descriptor.kernarg_bytes;
    std::vector<std::byte> bytes;
    for (const PassedValue& value : values) {
        const size_t alignment = std::min<size_t>(std::bit_ceil(value.bytes.size()), 8);
        bytes.resize((bytes.size() + alignment - 1) / alignment * alignment);
        bytes.insert(bytes.end(), value.bytes.begin(), value.bytes.end());
    }
    // The segment may be padded at its end to the alignment of its largest argument.
    if (bytes.size() != size && (bytes.size() > size || (bytes.size() + 7) / 8 * 8 != size))
        return fail(ErrorKind::Usage, "kernel {} takes {} bytes of arguments (.kernarg_size), {} are given",
                    kernel.name, size, bytes.size());
    return bytes;
}

}  // namespace

std::string argument_list(const rdna::LoadedKernel& kernel) {
    if (kernel.metadata.args.empty() && kernel.descriptor.kernarg_bytes > 0)
        return fmt::format("{} bytes of arguments (.kernarg_size)", kernel.descriptor.kernarg_bytes);
    std::string text;
    for (const rdna::KernelArgument& argument : explicit_arguments(kernel))
        text += (text.empty() ? "" : ", ") + described(argument);
    return text.empty() ? "no arguments" : text;
}

Result<BufferArgument> parse_buffer(const std::string& text) {
    BufferArgument buffer;
    const size_t colon = text.find(':');
    const std::string kind = text.substr(0, colon);
    if (colon == std::string::npos || (kind != "zero" && kind != "undefined")) {
        if (text.empty())
            return fail(ErrorKind::Usage, "--buffer: expected FILE, zero:BYTES or undefined:BYTES, got \"\"");
        RIFTJIT_TRY(bytes, read_bytes(text, kMaxBufferBytes));
        buffer.size = bytes.size();
        buffer.bytes = std::move(bytes);
        return buffer;
    }
    const char *first = text.data() + colon + 1, *last = text.data() + text.size();
    const auto [end, error] = std::from_chars(first, last, buffer.size);
    if (error != std::errc{} || end != last || buffer.size > kMaxBufferBytes)
        return fail(ErrorKind::Usage, "--buffer {}: expected a number of bytes up to {}", text, kMaxBufferBytes);
    buffer.is_undefined = kind == "undefined";
    if (!buffer.is_undefined) buffer.bytes.resize(buffer.size);
    return buffer;
}

Result<std::vector<std::byte>> parse_scalar(std::string_view text) {
    const size_t colon = text.find(':');
    if (colon == std::string_view::npos)
        return fail(ErrorKind::Usage, "--scalar {}: expected TYPE:VALUE, TYPE being {}", text, kScalarTypes);
    auto bytes = scalar_value(text.substr(0, colon), text.substr(colon + 1));
    if (!bytes) return fail(bytes.error().kind, "--scalar {}: {}", text, bytes.error().message);
    return bytes;
}

Result<SavedBuffer> parse_saved_buffer(std::string_view text, size_t buffers) {
    SavedBuffer saved;
    const size_t colon = std::min(text.find(':'), text.size());
    const auto [end, error] = std::from_chars(text.data(), text.data() + colon, saved.buffer);
    if (error != std::errc{} || end != text.data() + colon || colon + 1 >= text.size())
        return fail(ErrorKind::Usage, "--out {}: expected N:FILE, N counting buffers from 0", text);
    if (saved.buffer >= buffers)
        return fail(ErrorKind::Usage, "--out {}: there are {} buffers, counted from 0", text, buffers);
    saved.path = text.substr(colon + 1);
    return saved;
}

Result<std::vector<std::byte>> lay_out_arguments(const rdna::LoadedKernel& kernel,
                                                 std::span<const PassedValue> values) {
    const std::vector<rdna::KernelArgument> args = explicit_arguments(kernel);
    if (kernel.metadata.args.empty()) return lay_out_in_order(kernel, values);
    if (args.size() != values.size())
        return fail(ErrorKind::Usage, "{}; {} are given", kernel_takes(kernel), values.size());
    std::vector<std::byte> bytes;
    for (size_t i = 0; i < args.size(); ++i) {
        const bool has_its_size = values[i].bytes.size() == args[i].size;
        const bool is_pointer = args[i].value_kind == rdna::ValueKind::global_buffer;
        if (!has_its_size || (is_pointer && !values[i].is_buffer))
            return fail(ErrorKind::Usage, "{}; argument {} is a {} of {} bytes", kernel_takes(kernel), i,
                        values[i].is_buffer ? "buffer's address" : "scalar", values[i].bytes.size());
        bytes.resize(std::max<size_t>(bytes.size(), size_t{args[i].offset} + args[i].size));
        std::ranges::copy(values[i].bytes, bytes.begin() + args[i].offset);
    }
    return bytes;
}

}  // namespace riftjit::tools
