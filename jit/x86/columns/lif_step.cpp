// One step of leaky integrate-and-fire neurons: everything a neuron does between two deliveries in one pass over
// memory.
#include "jit/columns/lif_step.h"

#include <array>

#include "jit/x86/backend.h"
#include "jit/x86/emit/x86_kernel.h"

namespace riftjit::x86 {

namespace {

// What both widths share: the integer registers, the loop over neurons, constants.
class LifStepKernel : public X86Kernel<LifStepSpec> {
public:
    using X86Kernel::X86Kernel;

protected:
    const Reg64 args = rdi, index = rsi, end = rdx;
    const Reg64 v = r8, s_exc = r9, s_inh = r10, refractory = r11, spikes = rbx, arrivals = r12, fired = r13;
    const Reg64 fired_begin = r14, fired_ids = r15, scratch = rax, count = rcx;
    static constexpr uint8_t kLess = 0x11, kNotLess = 0x1D;  // ordered, quiet: LT_OQ and GE_OQ

    void generate() override {
        prologue({rbx, r12, r13, r14, r15});
        mov(index.cvt32(), index.cvt32());  // the upper halves of 32-bit arguments are undefined
        mov(end.cvt32(), end.cvt32());
        mov(v, ptr[args + offsetof(LifStepArgs, v)]);
        mov(s_exc, ptr[args + offsetof(LifStepArgs, s_exc)]);
        mov(s_inh, ptr[args + offsetof(LifStepArgs, s_inh)]);
        mov(refractory, ptr[args + offsetof(LifStepArgs, refractory)]);
        mov(spikes, ptr[args + offsetof(LifStepArgs, spikes)]);
        mov(arrivals, ptr[args + offsetof(LifStepArgs, arrivals)]);
        mov(fired, ptr[args + offsetof(LifStepArgs, fired)]);
        mov(fired_begin, fired);
        load_ids();
        Label loop, done;
        cmp(index, end);
        jae(done);
        L(loop);
        step_neurons();
        add(index, neurons_per_vector());
        cmp(index, end);
        jb(loop);
        L(done);
        sub(fired, fired_begin);
        shr(fired, 2);
        mov(ptr[args + offsetof(LifStepArgs, fired_count)], fired.cvt32());
        epilogue();
    }
    int neurons_per_vector() const { return vector_bytes() / int(sizeof(double)); }

    // The same value in every lane of a vector.
    Address splat_f64(double value) {
        std::array<double, 8> lanes;
        lanes.fill(value);
        return constant_bytes(lanes.data(), static_cast<size_t>(vector_bytes()), static_cast<size_t>(vector_bytes()));
    }
    Address splat_lanes(uint32_t value) {  // one dword per neuron: half a vector
        std::array<uint32_t, 8> lanes;
        lanes.fill(value);
        const auto bytes = static_cast<size_t>(vector_bytes() / 2);
        return constant_bytes(lanes.data(), bytes, bytes);
    }
    Address iota_lanes() {
        const std::array<uint32_t, 8> lanes = {0, 1, 2, 3, 4, 5, 6, 7};
        const auto bytes = static_cast<size_t>(vector_bytes() / 2);
        return constant_bytes(lanes.data(), bytes, bytes);
    }

    virtual void load_ids() = 0;
    virtual void step_neurons() = 0;
};

// Eight neurons at a time, conditions in opmasks.
class LifStepAvx512 final : public LifStepKernel {
    using LifStepKernel::LifStepKernel;

    // Constants stay in registers; AVX-512 has enough.
    const Zmm id = zmm31, exc = zmm0, inh = zmm1, potential = zmm2, drive = zmm3, weight = zmm4, n = zmm5;
    const Ymm id_lanes = ymm30, id_lanes_low = ymm9, counts = ymm6, left = ymm7, kind = ymm8;
    const Zmm decay_exc = zmm16, decay_inh = zmm17, membrane = zmm18, rest = zmm19, reset = zmm20, threshold = zmm21;
    const Zmm base = zmm22, slope = zmm23, eight = zmm24, excitatory = zmm25, neurons = zmm26;
    const Ymm full = ymm27, one = ymm28, low_byte = ymm29;
    const Opmask is_inhibitory = k1, is_refractory = k2, fires = k3, is_active = k4, is_neuron = k5;

    void load_ids() override {
        vmovdqu(id_lanes_low, iota_lanes());
        mov(scratch.cvt32(), ptr[args + offsetof(LifStepArgs, first)]);
        add(scratch.cvt32(), index.cvt32());
        vpbroadcastd(id_lanes, scratch.cvt32());
        vpaddd(id_lanes, id_lanes, id_lanes_low);
        vcvtudq2pd(id, id_lanes);
        const std::pair<Zmm, double> constants[] = {{decay_exc, spec_.decay_exc},
                                                    {decay_inh, spec_.decay_inh},
                                                    {membrane, spec_.membrane},
                                                    {rest, spec_.rest},
                                                    {reset, spec_.reset},
                                                    {threshold, spec_.threshold},
                                                    {base, spec_.drive},
                                                    {slope, spec_.drive_slope},
                                                    {eight, 8.0},
                                                    {excitatory, spec_.excitatory},
                                                    {neurons, spec_.neurons}};
        for (const auto& [reg, value] : constants) vmovapd(reg, splat_f64(value));
        vmovdqa32(full, splat_lanes(spec_.refractory_steps));
        vmovdqa32(one, splat_lanes(1));
        vmovdqa32(low_byte, splat_lanes(0xFF));
    }
    void step_neurons() override {
        vcmppd(is_inhibitory, id, excitatory, kNotLess);
        receive(exc, s_exc, decay_exc, spec_.weight_ee, spec_.weight_ei, [&] { vpandd(kind, counts, low_byte); });
        receive(inh, s_inh, decay_inh, spec_.weight_ie, spec_.weight_ii, [&] { vpsrld(kind, counts, 8); });
        vpxord(xmm9, xmm9, xmm9);
        vmovdqu(ptr[arrivals + index * 2], xmm9);
        // Neighbours have nearly the same drive, so often all of a vector rest: v is the reset potential already.
        Label all_rest, done;
        vpmovzxbd(left, ptr[refractory + index]);
        vptestmd(is_refractory, left, left);
        kortestb(is_refractory, is_refractory);
        jc(all_rest);
        integrate();
        test_threshold();
        jmp(done);
        L(all_rest);
        vpsubd(left, left, one);
        vpmovdb(ptr[refractory + index], left);
        L(done);
        vaddpd(id, id, eight);
    }
    // s += n * weight; s -= s * decay.
    template <class Select>
    void receive(const Zmm& s, const Reg64& array, const Zmm& decay, double to_excitatory, double to_inhibitory,
                 const Select& select) {
        if (array.getIdx() == s_exc.getIdx()) vpmovzxwd(counts, ptr[arrivals + index * 2]);
        select();
        vcvtdq2pd(n, kind);
        vmovapd(weight, splat_f64(to_excitatory));
        vmovapd(weight | is_inhibitory, splat_f64(to_inhibitory));
        vmovupd(s, ptr[array + index * 8]);
        vfmadd231pd(s, n, weight);
        vmovapd(n, s);
        vfnmadd231pd(s, n, decay);
        vmovupd(ptr[array + index * 8], s);
    }
    void integrate() {  // potential += membrane * (rest - potential + base + id * slope + exc - inh)
        vmulpd(drive, id, slope);
        vaddpd(drive, drive, base);
        vaddpd(drive, drive, exc);
        vsubpd(drive, drive, inh);
        vmovupd(potential, ptr[v + index * 8]);
        vsubpd(n, rest, potential);
        vaddpd(n, n, drive);
        vfmadd231pd(potential, n, membrane);
    }
    void test_threshold() {
        knotb(is_active, is_refractory);
        vcmppd(is_neuron | is_active, id, neurons, kLess);
        vcmppd(fires | is_neuron, potential, threshold, kNotLess);
        vpsubd(left | is_refractory, left, one);
        vmovdqa32(left | fires, full);
        vpmovdb(ptr[refractory + index], left);
        korb(is_refractory, is_refractory, fires);
        vmovapd(potential | is_refractory, reset);
        vmovupd(ptr[v + index * 8], potential);
        Label nobody;
        kortestb(fires, fires);
        jz(nobody);
        vmovdqu(xmm9, ptr[spikes + index * 2]);
        vpmovm2w(xmm10, fires);  // -1 where it fires
        vpsubw(xmm9, xmm9, xmm10);
        vmovdqu(ptr[spikes + index * 2], xmm9);
        vcvtpd2udq(kind, id);
        vpcompressd(kind | fires | T_z, kind);  // to a register: to memory it is microcode on Zen 4
        vmovdqu(ptr[fired], kind);
        kmovb(count.cvt32(), fires);
        popcnt(count.cvt32(), count.cvt32());
        lea(fired, ptr[fired + count * 4]);
        L(nobody);
    }
};

// Four neurons at a time, conditions as all-ones lanes; constants come from memory.
class LifStepAvx2 final : public LifStepKernel {
    using LifStepKernel::LifStepKernel;

    const Ymm id = ymm15, exc = ymm0, inh = ymm1, potential = ymm2, drive = ymm3, weight = ymm4, n = ymm5;
    const Ymm is_inhibitory = ymm6, is_active = ymm7, fires = ymm8;
    const Xmm counts = xmm9, kind = xmm10, left = xmm11, fires_lanes = xmm12, zero = xmm14;

    void load_ids() override {
        mov(scratch.cvt32(), ptr[args + offsetof(LifStepArgs, first)]);
        add(scratch, index);
        vcvtsi2sd(xmm15, xmm15, scratch);  // from 64 bits: ids may exceed 2^31
        vbroadcastsd(id, xmm15);
        const std::array<double, 4> iota = {0, 1, 2, 3};
        vaddpd(id, id, constant_bytes(iota.data(), sizeof iota, sizeof iota));
        vpxor(zero, zero, zero);
        lea(fired_ids, compress_table());
    }
    void step_neurons() override {
        vcmppd(is_inhibitory, id, splat_f64(spec_.excitatory), kNotLess);
        vpmovzxwd(counts, ptr[arrivals + index * 2]);
        vmovq(ptr[arrivals + index * 2], zero);
        vpand(kind, counts, splat_lanes(0xFF));
        receive(exc, s_exc, spec_.decay_exc, spec_.weight_ee, spec_.weight_ei);
        vpsrld(kind, counts, 8);
        receive(inh, s_inh, spec_.decay_inh, spec_.weight_ie, spec_.weight_ii);
        Label all_rest, done;
        vpmovzxbd(left, ptr[refractory + index]);
        vpcmpeqd(fires_lanes, left, zero);  // active lanes, as dwords
        vptest(fires_lanes, fires_lanes);
        jz(all_rest);
        integrate();
        test_threshold();
        jmp(done);
        L(all_rest);
        vpaddd(left, left, splat_lanes(~0u));
        vpshufb(left, left, low_bytes());
        vmovd(ptr[refractory + index], left);
        L(done);
        vaddpd(id, id, splat_f64(4.0));
    }
    void receive(const Ymm& s, const Reg64& array, double decay, double to_excitatory, double to_inhibitory) {
        vcvtdq2pd(n, kind);
        vmovapd(weight, splat_f64(to_excitatory));
        vblendvpd(weight, weight, splat_f64(to_inhibitory), is_inhibitory);
        vmovupd(s, ptr[array + index * 8]);
        vfmadd231pd(s, n, weight);
        vmovapd(n, s);
        vfnmadd231pd(s, n, splat_f64(decay));
        vmovupd(ptr[array + index * 8], s);
    }
    void integrate() {
        vmulpd(drive, id, splat_f64(spec_.drive_slope));
        vaddpd(drive, drive, splat_f64(spec_.drive));
        vaddpd(drive, drive, exc);
        vsubpd(drive, drive, inh);
        vmovupd(potential, ptr[v + index * 8]);
        vmovapd(n, splat_f64(spec_.rest));
        vsubpd(n, n, potential);
        vaddpd(n, n, drive);
        vfmadd231pd(potential, n, splat_f64(spec_.membrane));
    }
    void test_threshold() {
        vpmovzxbd(left, ptr[refractory + index]);
        vpcmpeqd(fires_lanes, left, zero);  // active lanes, as dwords
        vpmovsxdq(is_active, fires_lanes);
        vpaddd(left, left, splat_lanes(~0u));  // refractory: one step less; active: -1, mended below
        vpandn(left, fires_lanes, left);
        vcmppd(fires, potential, splat_f64(spec_.threshold), kNotLess);
        vandpd(fires, fires, is_active);
        vcmppd(n, id, splat_f64(spec_.neurons), kLess);
        vandpd(fires, fires, n);
        vandnpd(n, fires, is_active);  // active and below the threshold: keeps what was integrated
        vmovapd(weight, splat_f64(spec_.reset));
        vblendvpd(potential, weight, potential, n);
        vmovupd(ptr[v + index * 8], potential);
        narrow(fires_lanes, fires);
        vmovdqa(kind, splat_lanes(spec_.refractory_steps));
        vpand(kind, kind, fires_lanes);
        vpor(left, left, kind);
        vpshufb(left, left, low_bytes());
        vmovd(ptr[refractory + index], left);
        store_fired();
    }
    void store_fired() {
        Label nobody;
        vmovmskpd(scratch.cvt32(), fires);
        test(scratch.cvt32(), scratch.cvt32());
        jz(nobody);
        vpackssdw(kind, fires_lanes, fires_lanes);
        vmovq(counts, ptr[spikes + index * 2]);
        vpsubw(counts, counts, kind);
        vmovq(ptr[spikes + index * 2], counts);
        mov(count.cvt32(), ptr[args + offsetof(LifStepArgs, first)]);
        add(count.cvt32(), index.cvt32());
        vmovd(kind, count.cvt32());
        vpshufd(kind, kind, 0);
        vpaddd(kind, kind, iota_lanes());
        popcnt(count.cvt32(), scratch.cvt32());
        shl(scratch.cvt32(), 4);
        vpshufb(kind, kind, ptr[fired_ids + scratch]);
        vmovdqu(ptr[fired], kind);
        lea(fired, ptr[fired + count * 4]);
        L(nobody);
    }
    // The low dword of each qword.
    void narrow(const Xmm& out, const Ymm& wide) {
        vextractf128(xmm13, wide, 1);
        vshufps(out, Xmm(wide.getIdx()), xmm13, 0x88);
    }
    Address low_bytes() {  // bytes 0, 4, 8, 12
        std::array<uint8_t, 16> shuffle;
        shuffle.fill(0x80);
        for (uint8_t lane = 0; lane < 4; ++lane) shuffle[lane] = static_cast<uint8_t>(4 * lane);
        return constant_bytes(shuffle.data(), shuffle.size(), shuffle.size());
    }
    // For each set of lanes, the byte shuffle that moves its dwords to the front.
    Address compress_table() {
        std::array<std::array<uint8_t, 16>, 16> shuffles;
        for (uint32_t set = 0; set < 16; ++set) {
            shuffles[set].fill(0x80);
            uint32_t out = 0;
            for (uint32_t lane = 0; lane < 4; ++lane) {
                if ((set >> lane & 1) == 0) continue;
                for (uint32_t byte = 0; byte < 4; ++byte) shuffles[set][out++] = static_cast<uint8_t>(4 * lane + byte);
            }
        }
        return constant_bytes(shuffles.data(), sizeof shuffles);
    }
};

}  // namespace

MachineCode generate(OpOf<LifStepSpec>, const LifStepSpec& spec, Isa isa) {
    if (has_avx512(isa)) return LifStepAvx512(spec, isa).finish();
    return LifStepAvx2(spec, isa).finish();
}

}  // namespace riftjit::x86
