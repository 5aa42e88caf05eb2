#include "tests/hip_stand_in/cuda_stand_in/interpreter.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <sstream>
#include <stdexcept>
#include <tuple>

namespace riftjit::hip_stand_in {
namespace {

using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using i32 = int32_t;

float f32(u64 a) { return std::bit_cast<float>(u32(a)); }
double f64(u64 a) { return std::bit_cast<double>(a); }
u64 bits(float a) { return std::isnan(a) ? 0x7fffffff : std::bit_cast<u32>(a); }
u64 bits(double a) { return std::bit_cast<u64>(a); }

double fma_rounded(int rounding, u64 a, u64 b, u64 c) {
    std::fesetround(rounding);
    volatile double x = f64(a), y = f64(b), z = f64(c);
    volatile double result = std::fma(x, y, z);
    std::fesetround(FE_TONEAREST);
    return result;
}
float larger(float a, float b) {
    if (std::isnan(a)) return b;
    if (std::isnan(b)) return a;
    if (a == b) return std::signbit(a) ? b : a;
    return a > b ? a : b;
}
u64 permute(u64 a, u64 b, u64 selectors) {
    const u64 both = u32(a) | b << 32;
    u64 result = 0;
    for (unsigned i = 0; i < 4; ++i) {
        const u64 selector = selectors >> 4 * i & 15, byte = both >> 8 * (selector & 7) & 255;
        result |= ((selector & 8) == 0 ? byte : byte >> 7 != 0 ? 255 : 0) << 8 * i;
    }
    return result;
}
u64 dot4(u64 a, u64 b, u64 c) {
    u32 sum = u32(c);
    for (unsigned i = 0; i < 32; i += 8) sum += u32(int8_t(a >> i) * int8_t(b >> i));
    return sum;
}
u64 truncated(u64 a, u64, u64) {
    const float value = f32(a);
    if (std::isnan(value)) return 0;
    return u32(value >= 0x1p31f ? INT32_MAX : value <= -0x1p31f ? INT32_MIN : i32(value));
}
u64 reversed(u64 a, u64, u64) {
    u32 result = 0;
    for (unsigned i = 0; i < 32; ++i) result |= u32(a >> i & 1) << (31 - i);
    return result;
}

// Operands beyond those that an instruction has are 0.
#define LANE(expression)             \
    [](u64 a, u64 b, u64 c) -> u64 { \
        (void)a, (void)b, (void)c;   \
        return expression;           \
    }
const std::map<std::string, LaneFunction> kLanewise = {
    {"mov.b32", LANE(u32(a))},
    {"mov.b64", LANE(a)},
    {"cvta.param.u64", LANE(a)},
    {"add.u32", LANE(u32(a + b))},
    {"add.u64", LANE(a + b)},
    {"sub.u32", LANE(u32(a - b))},
    {"mul.lo.u32", LANE(u32(a) * u32(b))},
    {"mul.hi.u32", LANE(u64(u32(a)) * u32(b) >> 32)},
    {"mad.lo.u32", LANE(u32(a) * u32(b) + u32(c))},
    {"min.u32", LANE(std::min(u32(a), u32(b)))},
    {"max.u32", LANE(std::max(u32(a), u32(b)))},
    {"and.b32", LANE(u32(a& b))},
    {"and.b64", LANE(a& b)},
    {"or.b32", LANE(u32(a | b))},
    {"or.b64", LANE(a | b)},
    {"xor.b32", LANE(u32(a ^ b))},
    {"not.b32", LANE(u32(~a))},
    {"and.pred", LANE(a& b)},
    {"or.pred", LANE(a | b)},
    {"shl.b32", LANE(u32(b) > 31 ? 0 : u32(a) << b)},
    {"shr.u32", LANE(u32(b) > 31 ? 0 : u32(a) >> b)},
    {"shr.s32", LANE(u32(i32(a) >> std::min<u32>(u32(b), 31)))},
    {"shf.r.wrap.b32", LANE(u32((u32(a) | b << 32) >> (c & 31)))},
    {"bfe.u32", LANE(c == 0 ? 0 : u32(a) >> b << (32 - c) >> (32 - c))},
    {"bfe.s32", LANE(c == 0 ? 0 : u32(i32(u32(i32(a) >> b) << (32 - c)) >> (32 - c)))},
    {"popc.b32", LANE(u64(std::popcount(u32(a))))},
    {"clz.b32", LANE(u64(std::countl_zero(u32(a))))},
    {"brev.b32", reversed},
    {"prmt.b32", permute},
    {"dp4a.s32.s32", dot4},
    {"selp.b32", LANE(u32(c != 0 ? a : b))},
    {"selp.b64", LANE(c != 0 ? a : b)},
    {"selp.f64", LANE(c != 0 ? a : b)},
    {"cvt.u64.u32", LANE(u32(a))},
    {"cvt.f64.f32", LANE(bits(double(f32(a))))},
    {"cvt.rn.f32.f64", LANE(bits(float(f64(a))))},
    {"cvt.rn.f32.s32", LANE(bits(float(i32(a))))},
    {"cvt.rni.f32.f32", LANE(bits(std::nearbyint(f32(a))))},
    {"cvt.rzi.s32.f32", truncated},
    {"cvt.f32.f16", LANE(bits(float(std::bit_cast<_Float16>(u16(a)))))},
    {"cvt.rn.f16.f32", LANE(std::bit_cast<u16>(_Float16(f32(a))))},
    {"add.rn.f32", LANE(bits(f32(a) + f32(b)))},
    {"sub.rn.f32", LANE(bits(f32(a) - f32(b)))},
    {"mul.rn.f32", LANE(bits(f32(a) * f32(b)))},
    {"fma.rn.f32", LANE(bits(std::fma(f32(a), f32(b), f32(c))))},
    {"max.f32", LANE(bits(larger(f32(a), f32(b))))},
    {"min.f32", LANE(bits(-larger(-f32(a), -f32(b))))},
    {"rcp.approx.f32", LANE(bits(1 / f32(a)))},
    {"sqrt.rn.f32", LANE(bits(std::sqrt(f32(a))))},
    {"mul.rn.f64", LANE(bits(f64(a) * f64(b)))},
    {"fma.rz.f64", LANE(bits(fma_rounded(FE_TOWARDZERO, a, b, c)))},
    {"fma.rm.f64", LANE(bits(fma_rounded(FE_DOWNWARD, a, b, c)))},
    {"fma.rp.f64", LANE(bits(fma_rounded(FE_UPWARD, a, b, c)))},
    {"setp.eq.u32", LANE(u32(a) == u32(b))},
    {"setp.ne.u32", LANE(u32(a) != u32(b))},
    {"setp.lt.u32", LANE(u32(a) < u32(b))},
    {"setp.le.u32", LANE(u32(a) <= u32(b))},
    {"setp.gt.u32", LANE(u32(a) > u32(b))},
    {"setp.ge.u32", LANE(u32(a) >= u32(b))},
    {"setp.lt.s32", LANE(i32(a) < i32(b))},
    {"setp.le.s32", LANE(i32(a) <= i32(b))},
    {"setp.gt.s32", LANE(i32(a) > i32(b))},
    {"setp.ge.s32", LANE(i32(a) >= i32(b))},
    {"setp.eq.or.u32", LANE(u32(a) == u32(b) || c != 0)},
    {"setp.lt.f32", LANE(f32(a) < f32(b))},
    {"setp.le.f32", LANE(f32(a) <= f32(b))},
    {"setp.gt.f32", LANE(f32(a) > f32(b))},
    {"setp.ge.f32", LANE(f32(a) >= f32(b))},
    {"setp.ltu.f32", LANE(!(f32(a) >= f32(b)))},
    {"setp.leu.f32", LANE(!(f32(a) > f32(b)))},
    {"setp.gtu.f32", LANE(!(f32(a) <= f32(b)))},
    {"setp.geu.f32", LANE(!(f32(a) < f32(b)))},
    {"setp.neu.f32", LANE(f32(a) != f32(b))},
    {"setp.nan.f32", LANE(std::isnan(f32(a)) || std::isnan(f32(b)))},
    {"setp.neu.f64", LANE(f64(a) != f64(b))},
};
#undef LANE

using Kind = PtxOp::Kind;
// Of ld, st and the like with the bytes that they move.
const std::map<std::string, std::pair<Kind, uint8_t>> kForms = {
    {"ld.b32", {Kind::load, 4}},
    {"ld.global.b32", {Kind::load, 4}},
    {"ld.global.u16", {Kind::load, 2}},
    {"ld.shared.b32", {Kind::load, 4}},
    {"st.global.b32", {Kind::store, 4}},
    {"st.global.b16", {Kind::store, 2}},
    {"st.global.b8", {Kind::store, 1}},
    {"st.shared.b32", {Kind::store, 4}},
    {"red.shared.add.u32", {Kind::add, 4}},
    {"atom.global.inc.u32", {Kind::increment, 4}},
    {"shfl.sync.idx.b32", {Kind::shuffle, 4}},
    {"vote.sync.ballot.b32", {Kind::ballot, 4}},
    {"bra.uni", {Kind::branch, 0}},
    {"bar.sync", {Kind::barrier, 0}},
    {"bar.warp.sync", {Kind::nothing, 0}},
    {"fence.acq_rel.gpu", {Kind::nothing, 0}},
    {"ret", {Kind::end, 0}},
};

std::runtime_error unknown(const std::string& line) { return std::runtime_error("unknown PTX: " + line); }

// "{a, b}, [c+4], d": three; what braces hold comes apart.
std::vector<std::string> split_operands(std::string text) {
    std::erase_if(text, [](char c) { return c == ' ' || c == ';' || c == '{' || c == '}' || c == '[' || c == ']'; });
    std::vector<std::string> parts;
    std::istringstream in(text);
    for (std::string part; std::getline(in, part, ',');) parts.push_back(part);
    return parts;
}

}  // namespace

struct PtxProgram::Warp {
    std::vector<std::array<uint64_t, kWarpLanes>> slots;
    size_t next = 0;
    bool has_ended = false;
};

PtxProgram::PtxProgram(const std::string& text) {
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) parse_line(line);
    for (PtxOp& op : ops_)
        if (op.kind == Kind::branch) {
            if (!labels_.contains(op.target)) throw unknown("label " + op.target);
            op.next = labels_[op.target];
        }
}

void PtxProgram::parse_line(std::string line) {
    constexpr std::string_view kEntry = ".visible .entry ";
    if (line.starts_with(kEntry)) {
        name_ = line.substr(kEntry.size(), line.find('(') - kEntry.size());
        parameter_bytes_ = uint32_t(std::stoul(line.substr(line.find('[') + 1)));
    }
    if (line.empty() || line[0] == '.' || line[0] == '{' || line[0] == '}') return;
    if (line.back() == ':')
        labels_[line.substr(0, line.size() - 1)] = ops_.size();
    else
        parse_instruction(line);
}

void PtxProgram::parse_instruction(const std::string& line) {
    PtxOp op;
    std::string rest = line;
    if (rest[0] == '@') {
        op.guard_negated = rest[1] == '!';
        const size_t begin = op.guard_negated ? 2 : 1, end = rest.find(' ');
        op.guard = slot(rest.substr(begin, end - begin));
        rest.erase(0, end + 1);
    }
    const size_t end = rest.find_first_of(" ;");
    const std::string name = rest.substr(0, end);
    const std::vector<std::string> operands = split_operands(rest.substr(end));
    const bool has_parts = rest.find('{') != std::string::npos;
    size_t destinations = 1;
    if (name.starts_with("mov.b") && has_parts) {
        op.kind = rest.find('{') < rest.find(',') ? Kind::split : Kind::join;
        destinations = op.kind == Kind::split ? 2 : 1;
        op.bytes = name == "mov.b64" ? 4 : 2;
    } else if (const auto lanewise = kLanewise.find(name); lanewise != kLanewise.end()) {
        op.kind = Kind::lanewise;
        op.function = lanewise->second;
    } else if (const auto form = kForms.find(name); form != kForms.end()) {
        std::tie(op.kind, op.bytes) = form->second;
        op.is_shared = name.find(".shared.") != std::string::npos;
        if (op.kind == Kind::store || op.kind == Kind::add) destinations = 0;
    } else {
        throw unknown(line);
    }
    if (op.kind == Kind::branch) {
        op.target = operands.at(0);
    } else if (op.kind != Kind::barrier && op.kind != Kind::nothing && op.kind != Kind::end) {
        if (operands.size() < destinations + 1) throw unknown(line);
        for (size_t i = 0; i < operands.size() && i < destinations + 3; ++i)
            (i < destinations ? op.to[i] : op.from[i - destinations]) = operand(operands[i]);
    }
    ops_.push_back(op);
}

PtxOperand PtxProgram::operand(const std::string& text) {
    if (text.starts_with("0d")) return {-1, std::stoull(text.substr(2), nullptr, 16)};
    if (text[0] == '-' || (text[0] >= '0' && text[0] <= '9')) return {-1, uint64_t(std::stoll(text, nullptr, 0))};
    const size_t plus = std::min(text.find('+'), text.size());
    const uint64_t added = plus == text.size() ? 0 : std::stoull(text.substr(plus + 1));
    return {slot(text.substr(0, plus)), added};
}

int PtxProgram::slot(const std::string& name) { return slots_.try_emplace(name, int(slots_.size())).first->second; }

void PtxProgram::run(uint32_t groups, uint32_t lanes, uint32_t lds_bytes,
                     const std::vector<std::byte>& parameters) const {
    for (uint32_t g = 0; g < groups; ++g) {
        std::vector<std::byte> lds(lds_bytes);
        std::vector<Warp> warps(lanes / kWarpLanes);
        for (size_t w = 0; w < warps.size(); ++w) {
            warps[w].slots.resize(slots_.size());
            const auto set = [&](const std::string& name, auto value_of_lane) {
                const auto found = slots_.find(name);
                for (unsigned lane = 0; found != slots_.end() && lane < kWarpLanes; ++lane)
                    warps[w].slots[size_t(found->second)][lane] = value_of_lane(lane);
            };
            set("%laneid", [](unsigned lane) { return lane; });
            set("%lanemask_eq", [](unsigned lane) { return 1u << lane; });
            set("%tid.x", [&](unsigned lane) { return w * kWarpLanes + lane; });
            set("%ctaid.x", [&](unsigned) { return g; });
            set("args", [&](unsigned) { return reinterpret_cast<uintptr_t>(parameters.data()); });
        }
        while (!std::ranges::all_of(warps, &Warp::has_ended))
            for (Warp& warp : warps) run_until_barrier(warp, lds);
    }
}

void PtxProgram::run_until_barrier(Warp& warp, std::vector<std::byte>& lds) const {
    while (!warp.has_ended) {
        if (warp.next == ops_.size()) throw unknown("the end of " + name_);
        const PtxOp& op = ops_[warp.next++];
        uint32_t on = ~0u;
        if (op.guard >= 0) {
            on = 0;
            for (unsigned lane = 0; lane < kWarpLanes; ++lane)
                on |= uint32_t((warp.slots[size_t(op.guard)][lane] != 0) != op.guard_negated) << lane;
        }
        if (op.kind == Kind::barrier) return;
        if (op.kind == Kind::end) warp.has_ended = true;
        if (op.kind == Kind::branch && on != 0 && on != ~0u)
            throw std::runtime_error(name_ + ": lanes disagree on a branch to " + op.target);
        if (op.kind == Kind::branch && on != 0) warp.next = op.next;
        step(op, on, warp, lds);
    }
}

void PtxProgram::step(const PtxOp& op, uint32_t on, Warp& warp, std::vector<std::byte>& lds) const {
    const auto value = [&](const PtxOperand& operand, unsigned lane) {
        return operand.slot >= 0 ? warp.slots[size_t(operand.slot)][lane] : operand.number;
    };
    const auto pointer = [&](const PtxOperand& operand, unsigned lane) {
        const uint64_t address = warp.slots[size_t(operand.slot)][lane] + operand.number;
        if (!op.is_shared) return reinterpret_cast<std::byte*>(address);
        if (uint32_t(address) + op.bytes > lds.size()) throw std::runtime_error(name_ + ": beyond its shared memory");
        return lds.data() + uint32_t(address);
    };
    const std::array<uint64_t, kWarpLanes> before =
        op.kind == Kind::shuffle ? warp.slots[size_t(op.from[0].slot)] : std::array<uint64_t, kWarpLanes>{};
    uint32_t ballot = 0;
    if (op.kind == Kind::ballot)
        for (unsigned lane = 0; lane < kWarpLanes; ++lane) ballot |= uint32_t(value(op.from[0], lane) != 0) << lane;
    for (unsigned lane = 0; lane < kWarpLanes; ++lane) {
        if ((on >> lane & 1) == 0) continue;
        const auto result = [&](unsigned i) -> uint64_t& { return warp.slots[size_t(op.to[i].slot)][lane]; };
        const unsigned half = 8 * op.bytes;
        switch (op.kind) {
            case Kind::lanewise:
                result(0) = op.function(value(op.from[0], lane), value(op.from[1], lane), value(op.from[2], lane));
                break;
            case Kind::split: {
                const uint64_t whole = value(op.from[0], lane), mask = (uint64_t{1} << half) - 1;
                result(0) = whole & mask;
                result(1) = whole >> half & mask;
                break;
            }
            case Kind::join:
                result(0) = value(op.from[0], lane) | value(op.from[1], lane) << half;
                break;
            case Kind::load: {
                uint64_t loaded = 0;
                std::memcpy(&loaded, pointer(op.from[0], lane), op.bytes);
                result(0) = loaded;
                break;
            }
            case Kind::store: {
                const uint64_t stored = value(op.from[1], lane);
                std::memcpy(pointer(op.from[0], lane), &stored, op.bytes);
                break;
            }
            case Kind::add:
            case Kind::increment: {
                uint32_t old = 0;
                const auto limit = uint32_t(value(op.from[1], lane));
                std::memcpy(&old, pointer(op.from[0], lane), 4);
                const uint32_t changed = op.kind == Kind::add ? old + limit : old >= limit ? 0 : old + 1;
                std::memcpy(pointer(op.from[0], lane), &changed, 4);
                if (op.kind == Kind::increment) result(0) = old;
                break;
            }
            case Kind::shuffle:
                result(0) = before[value(op.from[1], lane) & (kWarpLanes - 1)];
                break;
            case Kind::ballot:
                result(0) = ballot;
                break;
            default:
                break;
        }
    }
}

}  // namespace riftjit::hip_stand_in
