// One line against one form of one row.
#pragma once

#include "host/result.h"
#include "jit/rdna/table/instruction.h"
#include "jit/rdna/text/parse_line.h"
#include "jit/rdna/text/text.h"

namespace riftjit::rdna {

// An error says which operand or modifier does not suit the form.
Result<Parsed> match_form(Target target, WaveSize wave, const ParsedLine& line, Opcode opcode, Encoding encoding);

// "v_add_f32: operand 2 's300' (column 15): why (gfx1100)"
std::unexpected<Error> operand_error(Target target, std::string_view mnemonic, size_t number, const LinePiece& piece,
                                     std::string_view why);

}  // namespace riftjit::rdna
