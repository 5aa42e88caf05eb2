// The base of every RDNA kernel: the assembler, and the short sequences that generations or wave sizes spell
// differently.
#pragma once

#include <array>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "jit/rdna/emit/assembler.h"
#include "jit/rdna/emit/bound_arguments.h"

namespace riftjit::rdna {

// How far a store is seen, or from how far a load must see.
enum class Scope : uint8_t { workgroup, device, system };
// What a barrier hands from wave to wave.
enum class Exchange : uint8_t { nothing, lds, lds_and_global };

class KernelAssembler : public Assembler {
public:
    using Assembler::Assembler;

    // Describes the launch's arguments and loads all of them at once, in as few scalar loads as their bytes allow; said
    // where a kernel declares its registers, so the loads are its first instructions. Every field of Args, in its
    // order.
    template <class Args>
    BoundArguments<Args> bind_arguments(std::initializer_list<ArgumentField> fields) {
        header_.kernarg_size = sizeof(Args);
        return BoundArguments<Args>(load_arguments(fields));
    }
    // Metadata of one argument.
    static KernelArgument buffer(std::string name, size_t offset);
    static KernelArgument scalar(std::string name, size_t offset, size_t size);

    // Control flow. The body is emitted once; `counter` holds first, first + step, ... below `end`; at least one round.
    void loop(Sgpr counter, uint32_t first, const Argument& end, uint32_t step, const std::function<void()>& body);
    // The body runs for those lanes of `condition` that are on; waves that have none skip it. exec comes back.
    void if_lanes(Sgpr condition, const std::function<void()>& body);
    // The body runs for the lanes whose number `lane` is below `count`, the number of lanes or less in a wave; for all
    // of them without a branch.
    void for_lanes(Vgpr lane, uint32_t count, const std::function<void()>& body);
    // The wave goes on with the lanes of `condition` alone; it ends if there are none. No barrier may follow.
    void keep_lanes(Sgpr condition);
    void s_mov_mask(const Argument& destination, const Argument& source);
    void s_and_mask(const Argument& destination, const Argument& a, const Argument& b);
    void end();  // of the kernel

    // Workgroup barrier: every wave's work before it is seen by every wave after it, as far as `exchange` says.
    void barrier(Exchange exchange = Exchange::lds);
    void release_memory(Scope scope);
    void acquire_memory(Scope scope);
    CachePolicy load_policy(Scope scope) const;    // a load that sees other workgroups' stores
    CachePolicy atomic_policy(Scope scope) const;  // whether it returns a value is the emitter's business
    CachePolicy streaming_load_policy() const;     // data read once

    // acc += dot(a, b) of four signed bytes.
    void dot4_i8(Vgpr acc, Vgpr a, const Argument& b);
    // acc += a.lo * b.lo + a.hi * b.hi, halves in f16, sum in f32.
    void dot2_f16(Vgpr acc, Vgpr a, Vgpr b);
    // destination = number of the lane in its wave.
    void wave_lane(Vgpr destination);
    // 64-bit address arithmetic: destination = base + offset, offset unsigned.
    void s_add_u64(Sgpr destination, Sgpr base, const Argument& offset);

    // Cross-lane sums and maxima over the whole wave, every lane must be on. `value` holds the result in every lane;
    // `other` is clobbered.
    void wave_sum_f32(Vgpr value, Vgpr other);
    void wave_max_f32(Vgpr value, Vgpr other);
    void wave_sum_i32(Vgpr value, Vgpr other);
    void wave_max_u32(Vgpr value, Vgpr other);
    void wave_sum_f64(Vgpr value, Vgpr other);

    // The same over the workgroup's `group_lanes` lanes, through LDS and one barrier. `lane` is the lane's number in
    // the workgroup. Not for loops: a second round would overwrite what slow waves still read.
    void group_sum_f32(Vgpr value, Vgpr other, Vgpr lane, unsigned group_lanes);
    void group_max_f32(Vgpr value, Vgpr other, Vgpr lane, unsigned group_lanes);
    void group_sum_f64(Vgpr value, Vgpr other, Vgpr lane, unsigned group_lanes);

    // address += count * bytes, in 64 bits.
    void s_advance(Sgpr address, Sgpr count, uint32_t bytes);

    // quotient = dividend / divisor, and the remainder. The dividend is below 2^27, as numbers of workgroups are: a
    // grid has fewer than 2^32 lanes.
    void s_divide_u32(Sgpr quotient, Sgpr dividend, uint32_t divisor);
    void s_divide_u32(Sgpr quotient, Sgpr remainder, Sgpr dividend, uint32_t divisor);
    // quotient = numerator / denominator, correctly rounded, denormals kept. Clobbers vcc and the scratch registers.
    void divide_f32(Vgpr quotient, Vgpr numerator, Vgpr denominator, std::array<Vgpr, 3> scratch);

private:
    // combine(result, a, b, how the lanes of a move): the last is empty where they do not.
    using Combine = std::function<void(Vgpr, const Argument&, Vgpr, std::optional<Dpp>)>;
    void reduce_wave(Vgpr value, Vgpr other, const Combine& combine);
    void reduce_group(Vgpr value, Vgpr other, Vgpr lane, unsigned group_lanes, const Combine& combine);
    Combine add_f32();
    Combine max_f32();
    Combine add_f64(Vgpr value, Vgpr other);

    std::vector<LoadedArguments> load_arguments(std::span<const ArgumentField> fields);

    std::optional<Label> end_;
};

template <class Spec>
class RdnaKernel : public KernelAssembler {
public:
    RdnaKernel(KernelTarget target, const Spec& spec, std::string name)
        : KernelAssembler(target, std::move(name)), spec_(spec) {}
    virtual ~RdnaKernel() = default;
    virtual void generate() = 0;

protected:
    const Spec spec_;
};

// Emits, allocates, runs the passes.
template <class Kernel, class Spec>
Result<KernelProgram> assemble(KernelTarget target, const Spec& spec, std::string name, PassOptions options = {}) {
    try {
        Kernel kernel(target, spec, std::move(name));
        kernel.generate();
        kernel.end();
        if (target.is_part) return KernelProgram{.part = std::make_shared<KernelPart>(kernel.take_part())};
        return kernel.finish(options);
    } catch (const AssemblyError& error) {
        return std::unexpected(Error{ErrorKind::Encoding, error.what()});
    }
}

}  // namespace riftjit::rdna
