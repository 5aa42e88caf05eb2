// The list of elements that fired: few do, so the code jumps over it where no lane of a vector has.
#pragma once

#include "jit/x86/columns/column_compiler.h"

namespace riftjit::x86 {

class ColumnFired {
public:
    using Gp = ColumnCompiler::Gp;

    explicit ColumnFired(ColumnCompiler& compiler) : cc_(compiler) {}

    void begin(const Gp& args);  // once, before the loop
    // Appends element + lane for each of the bits (one per lane), but no element of the padding. Overwrites bits.
    void append(const Gp& args, const Gp& element, const Gp& bits, int lanes);
    void finish(const Gp& args);  // once, after it

private:
    void drop_padding(const Gp& args, const Gp& element, const Gp& bits, int lanes);
    void append_compressed(const Gp& element, const Gp& bits, int lanes);
    void append_four(const Gp& element, const Gp& bits, int first_lane);
    void add_count_of(const Gp& bits);
    ColumnCompiler::Mem end_of_list() const { return asmjit::x86::ptr(list_, count_, 2); }

    ColumnCompiler& cc_;
    Gp list_, count_;
};

}  // namespace riftjit::x86
