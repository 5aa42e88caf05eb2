// The least, the greatest and the middle of signed 16-bit integers, two to a word. f16 take them too, once reordered.
#pragma once

#include "jit/rdna/emulator/lanes/lanes_emitter.h"

namespace riftjit::rdna::emulator {

inline void min_i16(LaneEmitter& e) { e.vpminsw(e.d, e.a, e.b); }
inline void max_i16(LaneEmitter& e) { e.vpmaxsw(e.d, e.a, e.b); }
inline void min3_i16(LaneEmitter& e) {
    min_i16(e);
    e.vpminsw(e.d, e.d, e.c);
}
inline void max3_i16(LaneEmitter& e) {
    max_i16(e);
    e.vpmaxsw(e.d, e.d, e.c);
}
inline void med3_i16(LaneEmitter& e) {  // max(min(a, b), min(max(a, b), c))
    min_i16(e);
    e.vpmaxsw(e.t, e.a, e.b);
    e.vpminsw(e.t, e.t, e.c);
    e.vpmaxsw(e.d, e.d, e.t);
}

}  // namespace riftjit::rdna::emulator
