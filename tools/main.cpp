// Apart from what it calls, so that test programs can link that.
#include "tools/program.h"

int main(int argc, char** argv) { return riftjit::tools::program(argc, argv); }
