#include "sim/files/network_file.h"

#include "sim/files/append_file.h"
#include "sim/files/hdf5_module.h"

namespace riftjit::sim {

Result<void> write_network_file(const std::string& path, const NetworkSource& source, Existing existing) {
    RIFTJIT_TRY(module, load_hdf5_module());
    return write_whole_file(path, existing,
                            [&](const std::string& temporary) { return module->write_network(temporary, source); });
}

}  // namespace riftjit::sim
