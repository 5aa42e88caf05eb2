#include "jit/rdna/emit/arguments.h"

namespace riftjit::rdna {
namespace {

Dpp within_row(unsigned control) {
    Dpp dpp;
    dpp.control = static_cast<uint16_t>(control);
    dpp.bound_control = true;
    return dpp;
}

}  // namespace

Dpp row_shl(unsigned lanes) { return within_row(0x100 + lanes); }
Dpp row_shr(unsigned lanes) { return within_row(0x110 + lanes); }
Dpp row_share(unsigned lane) { return within_row(0x150 + lane); }
Dpp row_xmask(unsigned mask) { return within_row(0x160 + mask); }
Dpp quad_perm(unsigned a, unsigned b, unsigned c, unsigned d) { return within_row(a | b << 2 | c << 4 | d << 6); }

}  // namespace riftjit::rdna
