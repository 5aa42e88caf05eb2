// Sums over rows in KOrder::lanes64. A sum takes its terms one after the other, so 64 chains are all that can go on at
// a time: the workgroup lays its row out in LDS, and the first wave adds up, two chains in a lane.
#pragma once

#include "jit/rdna/kernels/row_lanes.h"

namespace riftjit::rdna::kernels {

class RowSums {
public:
    RowSums(KernelAssembler& kernel, const RowPieces& pieces);

    void locate(Vgpr lane);  // once, before all else
    void begin(Vgpr sums);   // two dwords: both chains of each lane

    // Lays a piece out and waits for the other waves.
    void lay_out(RowLanes& lanes, const RowLanes::Quads& quads);
    void wait();  // until every wave has come here

    // The body runs for the first wave alone, whose lanes are all on.
    void for_first_wave(const std::function<void()>& body);
    // What lies in LDS, for the first wave: add(sum, element, clear) for `count` elements. Behind them zeros are added;
    // where add() makes something else of zeros, it must clear() that. It may change the element.
    using Clear = std::function<void(Vgpr value)>;
    using Add = std::function<void(Vgpr sum, Vgpr element, const Clear& clear)>;
    void add_up(Vgpr sums, uint32_t count, const Add& add);

    // From the first wave's lanes, which call give(), to all, which take() after a wait(): one dword or two, the same
    // in every lane.
    void give(Vgpr value);
    void take(Vgpr value);

private:
    KernelAssembler& k_;
    const uint32_t waves_, row_, results_;
    const Vgpr pair_, result_;  // bytes into the two regions
    const Sgpr is_first_;
};

// Norms a row that is one piece: values = values * gains / sqrt(mean(values^2) + epsilon), as RmsNormSpec has it.
// Without gains where there are none. Clobbers vcc.
void emit_rms_norm(KernelAssembler& k, RowSums& row_sums, RowLanes& lanes, const RowLanes::Quads& values,
                   const RowLanes::Quads& gains, float epsilon);

}  // namespace riftjit::rdna::kernels
