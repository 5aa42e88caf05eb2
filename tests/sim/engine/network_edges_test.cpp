#include "sim/engine/network_edges.h"

#include <sys/resource.h>
#include <sys/wait.h>

#include <csignal>

#include "sim/network/synapse_table.h"
#include "tests/host/oracle.h"
#include "tests/sim/files/python.h"

namespace riftjit::sim {
namespace network_edges_test {

// Pairs, weights and delays that stand in the text; one weight for all; a name with a '/'.
constexpr const char* kListed = R"(
name = "listed"
[simulation]
duration = "10 ms"
step = "0.5 ms"
seed = 9
[population.A]
model = "iaf_psc_exp"
size = 4
[population.B]
model = "iaf_psc_delta"
size = 3
[[projection]]
from = "A"
to = "B"
rule = "list"
pairs = [[3, 1], [0, 2], [0, 2]]
weight = ["0.5 mV", "-1.25 mV", "2 mV"]
delay = ["1 ms", "2 ms", "4.5 ms"]
multapses = true
[[projection]]
name = "few"
from = "A"
to = "B"
rule = "fixed_total_number"
synapses = 2
weight = "0.1 mV"
delay = "1.5 ms"
[[projection]]
name = "back/forth"
from = "B"
to = "A"
receptor = "in"
rule = "all_to_all"
weight = "-3 pA"
delay = "0.5 ms"
)";

class NetworkExport : public ReadByPython {
protected:
    Network network(const std::string& text) const {
        auto parsed = parse_network(text, "test.toml");
        EXPECT_TRUE(parsed) << message(parsed);
        return std::move(*parsed);
    }
    Result<NetworkFileSummary> write(const Network& network, Existing existing = Existing::refuse) const {
        return write_network_edges(path("net.h5"), network, Precision::f64, "riftjit sim test.toml", "0.1.0", existing);
    }
};

TEST_F(NetworkExport, HoldsEverySynapseForH5py) {
    if (!has(kPython, "h5py")) return lack_oracle("Debian's python3-h5py");
    const auto written = write(network(kListed));
    ASSERT_TRUE(written) << message(written);
    EXPECT_EQ(written->synapses, 3u + 2 + 12);
    EXPECT_EQ(python(kPython, R"py(
import sys, h5py
f = h5py.File(sys.argv[1], "r")
print(sorted(f["edges"]), f.attrs["seed"], f.attrs["step_ms"], hex(f.attrs["magic"]), list(f.attrs["version"]))
e = f["edges/A -> B"]
for key in ("source_node_id", "target_node_id", "0/syn_weight", "0/delay", "edge_group_index", "edge_group_id", "edge_type_id"):
    print(key, e[key].dtype, e[key][:].tolist())
print(e["source_node_id"].attrs["node_population"], e["target_node_id"].attrs["node_population"])
print(e["0/syn_weight"].attrs["units"], e["0/delay"].attrs["units"], e.attrs["projection"])
e = f["edges/few"]
print(e["0/syn_weight"][:].tolist(), e["0/delay"][:].tolist())
e = f["edges/back_forth (2)"]
print(e["source_node_id"][:].tolist(), e["target_node_id"][:].tolist())
print(e.attrs["projection"], e.attrs["receptor"], e["0/syn_weight"].attrs["units"], e["edge_type_id"].shape)
for name in "AB":
    n = f["nodes/" + name]
    print(name, n["node_type_id"][:].tolist(), n["node_group_id"][:].tolist(), n["node_group_index"][:].tolist())
)py",
                     path("net.h5")),
              "['A -> B', 'back_forth (2)', 'few'] 9 0.5 0xa7a [0, 1]\n"
              "source_node_id uint64 [0, 0, 3]\n"
              "target_node_id uint64 [2, 2, 1]\n"
              "0/syn_weight float64 [-1.25, 2.0, 0.5]\n"
              "0/delay float64 [2.0, 4.5, 1.0]\n"
              "edge_group_index uint64 [0, 1, 2]\n"
              "edge_group_id uint32 [0, 0, 0]\n"
              "edge_type_id int64 [-1, -1, -1]\n"
              "A B\n"
              "mV ms A -> B\n"
              "[0.1, 0.1] [1.5, 1.5]\n"
              "[0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2] [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3]\n"
              "back/forth in pA (12,)\n"
              "A [-1, -1, -1, -1] [0, 0, 0, 0] [0, 1, 2, 3]\n"
              "B [-1, -1, -1] [0, 0, 0] [0, 1, 2]\n");
}

// More synapses than a block and a flush hold, of a rule that draws by target.
std::string many(uint32_t indegree) {
    return fmt::format(R"(
name = "many"
[simulation]
duration = "10 ms"
[population.A]
model = "iaf_psc_exp"
size = 2000
[[projection]]
name = "all"
from = "A"
to = "A"
receptor = "ex"
rule = "fixed_indegree"
indegree = {}
weight = {{ normal = ["30 pA", "3 pA"] }}
delay = {{ uniform = ["1 ms", "4 ms"] }}
)",
                       indegree);
}

TEST_F(NetworkExport, IsReadByLibsonata) {
    const char* const interpreter = std::getenv("RIFTJIT_PEER_NWB");
    if (interpreter == nullptr || !has(interpreter, "libsonata"))
        return lack_oracle("RIFTJIT_PEER_NWB, a Python with libsonata: tests/peer/fetch.sh");
    const Network drawn = network(many(150));
    const auto written = write(drawn);
    ASSERT_TRUE(written) << message(written);
    EXPECT_EQ(written->synapses, 300'000u);
    uint64_t sources = 0, targets = 0;
    double weights = 0, delays = 0;
    const auto builder = ProjectionBuilder::create(drawn, 0);
    builder->generate({0, 2000}, {0, 2000}, [&](uint32_t source, std::span<const Synapse> synapses) {
        for (const Synapse& synapse : synapses) {
            sources += source;
            targets += synapse.target;
            weights += synapse.weight;
            delays += synapse.delay;
        }
    });
    EXPECT_EQ(python(interpreter, R"(
import sys, libsonata
e = libsonata.EdgeStorage(sys.argv[1]).open_population("all")
n = libsonata.NodeStorage(sys.argv[1]).open_population("A")
print(e.size, e.source, e.target, n.size)
s = e.select_all()
print(e.source_nodes(s).sum(), e.target_nodes(s).sum())
print("%.6f %.3f" % (e.get_attribute("syn_weight", s).sum(), (e.get_attribute("delay", s) * 10).sum()))
)",
                     path("net.h5")),
              fmt::format("300000 A A 2000\n{} {}\n{:.6f} {:.3f}\n", sources, targets, weights, delays));
}

// Of every node by its index, against what is found by looking through all edges.
TEST_F(NetworkExport, LetsLibsonataFindTheEdgesOfANode) {
    const char* const interpreter = std::getenv("RIFTJIT_PEER_NWB");
    if (interpreter == nullptr || !has(interpreter, "libsonata"))
        return lack_oracle("RIFTJIT_PEER_NWB, a Python with libsonata: tests/peer/fetch.sh");
    const std::string script = R"(
import sys, libsonata, numpy as np
storage = libsonata.EdgeStorage(sys.argv[1])
nodes = libsonata.NodeStorage(sys.argv[1])
for name in sorted(storage.population_names):
    e = storage.open_population(name)
    s = e.select_all()
    wrong = 0
    for ends, find, size in ((e.source_nodes(s), e.efferent_edges, nodes.open_population(e.source).size),
                             (e.target_nodes(s), e.afferent_edges, nodes.open_population(e.target).size)):
        for node in range(size):
            wrong += not np.array_equal(find([node]).flatten(), np.flatnonzero(ends == node))
    print(name, e.size, e.connecting_edges([0], [2]).flat_size, wrong)
)";
    ASSERT_TRUE(write(network(kListed)));
    EXPECT_EQ(python(interpreter, script, path("net.h5")), "A -> B 3 2 0\nback_forth (2) 12 1 0\nfew 2 0 0\n");
    ASSERT_TRUE(write(network(many(150)), Existing::replace));
    const std::string found = python(interpreter, script, path("net.h5"));
    EXPECT_TRUE(found.starts_with("all 300000 ") && found.ends_with(" 0\n")) << found;
}

TEST_F(NetworkExport, IsWholeOrNotThere) {
    const Network drawn = network(many(150));
    const pid_t child = fork();
    if (child == 0) {
        std::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{2'000'000, 2'000'000};  // of 12 MB
        setrlimit(RLIMIT_FSIZE, &limit);
        _exit(message(write(drawn)) == path("net.h5") + ": File too large" ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(std::filesystem::is_empty(folder_));
    write_bytes(path("net.h5"), "precious");
    EXPECT_EQ(message(write(drawn)), path("net.h5") + ": exists, and is not replaced unless forced");
    EXPECT_EQ(read_bytes(path("net.h5")), "precious");
    EXPECT_TRUE(write(drawn, Existing::replace));
}

}  // namespace network_edges_test
}  // namespace riftjit::sim
