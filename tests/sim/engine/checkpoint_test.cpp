// Saved states: continuing from one is as if nothing had happened, and nothing but one is taken for one.
#include "sim/engine/checkpoint.h"

#include <sys/stat.h>
#include <xxhash.h>

#include <filesystem>
#include <fstream>

#include "tests/mutants/campaign.h"
#include "tests/sim/engine/hand_made.h"

namespace riftjit::sim {
namespace checkpoint_test {

using namespace test;

// A file that goes with the test.
class TemporaryFile {
public:
    TemporaryFile() {
        const auto* const info = testing::UnitTest::GetInstance()->current_test_info();
        path_ = testing::TempDir() + fmt::format("riftjit-{}-{}-{}", getpid(), info->test_suite_name(), info->name());
    }
    ~TemporaryFile() { std::filesystem::remove(path_); }
    const std::string& path() const { return path_; }
    std::vector<char> read() const {
        std::ifstream file(path_, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    void write(const std::vector<char>& bytes) const {
        std::ofstream(path_, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    }

private:
    std::string path_;
};

// Weight grows with each spike after and shrinks with each before; enough to see every event.
PlasticRule counting_rule() {
    const std::vector<std::pair<ColumnBinding, ColumnType>> columns = {{{ColumnRole::weight, ""}, ColumnType::f64},
                                                                       {{ColumnRole::state, "seen"}, ColumnType::f64},
                                                                       {{ColumnRole::event_time, ""}, ColumnType::f64}};
    auto with_delivered = columns;
    with_delivered.push_back({{ColumnRole::delivered, ""}, ColumnType::f64});
    ProgramText pre(std::move(with_delivered)), post(columns);
    const uint16_t sent = pre.add(pre.multiply(pre.load(0), pre.number(0.9375)), pre.load(1));
    pre.store(0, sent);
    pre.store(1, pre.multiply(pre.load(2), pre.number(0.03125)));
    pre.store(3, sent);
    post.store(0, post.add(post.load(0), post.multiply(post.load(2), post.number(0.015625))));
    post.store(1, post.add(post.multiply(post.load(1), post.number(0.5)), post.number(0.125)));
    PlasticRule rule{pre.take(), post.take()};
    rule.has_post_events = true;
    rule.pre_kernel = reference_kernel(rule.on_pre.spec);
    rule.post_kernel = reference_kernel(rule.on_post.spec);
    rule.start = {{"seen", 0.25}};
    return rule;
}

// Everything that a state has: static and plastic synapses, a relay, spikes on their way, recorders.
Blueprint full_network(uint64_t seed = 1) {
    std::mt19937 random(static_cast<uint32_t>(seed));
    Blueprint blueprint;
    blueprint.seed = seed;
    blueprint.populations.push_back(
        lif_population("cells", 200, Lif{}, 0.875, [](uint32_t i) { return double(i % 64) / 8; }));
    TimedPopulation timed;
    for (uint32_t i = 0; i < 400; ++i) timed.spikes.emplace_back(random() % 500, random() % 20);
    std::sort(timed.spikes.begin(), timed.spikes.end());
    blueprint.populations.push_back({"timed", 20, 0, std::move(timed)});
    blueprint.populations.push_back({"relay", 30, 0, RelayedPopulation{}});
    number_populations(blueprint);
    blueprint.projections.push_back(projection_of("static", 0, 0, "ex", random_rows(random, 200, 200, 12, 1, 30, 0.1)));
    blueprint.projections.push_back(projection_of("plastic", 0, 0, "ex", random_rows(random, 200, 200, 6, 1, 14, 0.2)));
    blueprint.projections.back().rule = counting_rule();
    blueprint.projections.push_back(projection_of("relayed", 1, 2, "", random_rows(random, 20, 30, 4, 1, 9, 1)));
    blueprint.projections.push_back(projection_of("onwards", 2, 0, "delta", random_rows(random, 30, 200, 9, 1, 5, 1)));
    record_all_spikes(blueprint);
    blueprint.recorders.push_back({"states", 0, StateRecorder{{"V", "S"}, {3, 150}, 0.7}});
    blueprint.recorders.push_back({"weights", 0, WeightRecorder{1, 9.0}});
    return blueprint;
}

struct Results {
    std::vector<Spike> spikes;
    std::vector<double> states, weights, v;
    uint64_t spikes_hash, recorded_hash, delivered, count;
    bool operator==(const Results&) const = default;
};
Results results_of(Engine& engine) {
    Results results{engine.take_spikes(), engine.take_samples(3), engine.take_samples(4), {},
                    engine.spikes_hash(), engine.recorded_hash(), engine.delivered(),     engine.spikes()};
    for (uint32_t i = 0; i < 200; ++i) results.v.push_back(engine.read(0, Lif::kV, i));
    return results;
}

std::unique_ptr<Engine> engine_of(Blueprint blueprint, ThreadPool& pool) {
    auto engine = Engine::create(std::move(blueprint), pool);
    EXPECT_TRUE(engine.has_value()) << engine.error().message;
    return std::move(*engine);
}

constexpr uint32_t kSteps = 400;

TEST(SavedState, ContinuesAsIfNothingHadHappened) {
    ThreadPool pool = pool_of(2);
    const auto uninterrupted = engine_of(full_network(), pool);
    ASSERT_TRUE(uninterrupted->run(kSteps, {}).has_value());
    const Results expected = results_of(*uninterrupted);
    ASSERT_GT(expected.spikes.size(), 3000u);
    const TemporaryFile file;
    for (const uint32_t at : {0u, 1u, 2u, 37u, 211u, 399u, 400u}) {
        for (const auto& [before, after] : {std::pair(1u, 3u), std::pair(3u, 2u), std::pair(5u, 1u)}) {
            ThreadPool first = pool_of(before), second = pool_of(after);
            const auto saving = engine_of(full_network(), first);
            ASSERT_TRUE(saving->run(at, {}).has_value());
            const auto saved = saving->save(file.path());
            ASSERT_TRUE(saved.has_value()) << saved.error().message;
            const auto continuing = engine_of(full_network(), second);
            ASSERT_TRUE(continuing->run(5, {}).has_value());  // what was there before does not matter
            const auto restored = continuing->restore(file.path());
            ASSERT_TRUE(restored.has_value()) << restored.error().message;
            ASSERT_EQ(continuing->steps(), at);
            ASSERT_TRUE(continuing->run(kSteps - at, {}).has_value());
            ASSERT_TRUE(results_of(*continuing) == expected) << at << " " << before << " " << after;
            EXPECT_TRUE(continuing->check_conservation().has_value());
            // Saving changes nothing for the one that saved either.
            ASSERT_TRUE(saving->run(kSteps - at, {}).has_value());
            ASSERT_TRUE(results_of(*saving) == expected) << at;
        }
    }
}

TEST(SavedState, HasTheSameBytesAtAnyThreadCount) {
    std::vector<char> expected;
    const TemporaryFile file;
    for (const uint32_t threads : {1u, 2u, 5u}) {
        ThreadPool pool = pool_of(threads);
        const auto engine = engine_of(full_network(), pool);
        ASSERT_TRUE(engine->run(123, {}).has_value());
        ASSERT_TRUE(engine->save(file.path()).has_value());
        if (expected.empty()) expected = file.read();
        EXPECT_EQ(file.read(), expected) << threads;
        EXPECT_FALSE(std::filesystem::exists(file.path() + ".part"));
    }
}

class Refusals : public testing::Test {
protected:
    Refusals() : pool_(pool_of(2)), engine_(engine_of(full_network(), pool_)) {
        EXPECT_TRUE(engine_->run(150, {}).has_value());
        EXPECT_TRUE(engine_->save(file_.path()).has_value());
        bytes_ = file_.read();
    }
    // Of a fresh engine that is offered the file; it must be none the worse for it.
    std::string refusal(Blueprint blueprint = full_network()) {
        const auto engine = engine_of(std::move(blueprint), pool_);
        const auto restored = engine->restore(file_.path());
        EXPECT_EQ(engine->steps(), restored ? 150u : 0u);
        EXPECT_TRUE(engine->run(20, {}).has_value());
        return restored ? "accepted" : restored.error().message;
    }
    // With a checksum that fits: what somebody would make who means ill.
    void write_forged(std::vector<char> bytes) const {
        const uint64_t checksum = XXH3_64bits(bytes.data(), bytes.size() - 8);
        std::memcpy(bytes.data() + bytes.size() - 8, &checksum, 8);
        file_.write(bytes);
    }

    TemporaryFile file_;
    ThreadPool pool_;
    std::unique_ptr<Engine> engine_;
    std::vector<char> bytes_;
};

TEST_F(Refusals, NameWhatDoesNotFit) {
    EXPECT_EQ(refusal(), "accepted");
    EXPECT_EQ(refusal(full_network(2)), file_.path() + ": saved with seed 1, this run has 2");
    Blueprint single = full_network();
    single.precision = Precision::f32;
    EXPECT_EQ(refusal(std::move(single)), file_.path() + ": saved in f64, this run is in f32");
    Blueprint other = full_network();
    other.projections[1].rule->start = {{"seen", 0.5}};
    EXPECT_TRUE(refusal(std::move(other)).starts_with(file_.path() + ": saved from another network (hash "));
    Blueprint driven = full_network();  // inputs may change between runs
    std::get<ProgramPopulation>(driven.populations[0].kind).scalars[0].level = 0.9;
    EXPECT_EQ(refusal(std::move(driven)), "accepted");
    std::vector<char> newer = bytes_;
    newer[8] = 3;
    file_.write(newer);
    EXPECT_EQ(refusal(), file_.path() + ": saved in version 3 of the format; this program has version 2");
    file_.write({'n', 'o', 't', ' ', 't', 'h', 'i', 's'});
    EXPECT_EQ(refusal(), file_.path() + ": not a saved simulation");
    std::filesystem::remove(file_.path());
    EXPECT_EQ(refusal(), file_.path() + ": cannot be opened: No such file or directory");
}

TEST_F(Refusals, ComeAtOnceForWhatIsNoFile) {
    std::filesystem::remove(file_.path());
    ASSERT_EQ(mkfifo(file_.path().c_str(), 0600), 0);
    EXPECT_EQ(refusal(), file_.path() + ": is a FIFO, not a regular file");
    std::filesystem::remove(file_.path());
    std::filesystem::create_symlink("/dev/zero", file_.path());
    EXPECT_EQ(refusal(), file_.path() + ": is a character device, not a regular file");
    std::filesystem::remove(file_.path());
    file_.write(bytes_);
    std::filesystem::resize_file(file_.path(), uint64_t(1) << 42);  // holes: no memory has room for it
    EXPECT_TRUE(refusal().starts_with(file_.path() + ": reading it takes 4398046511104 bytes of memory, "))
        << refusal();
}

TEST_F(Refusals, CoverEveryDamagedByte) {
    std::mt19937 random(3);
    const std::string damaged = file_.path() + ": damaged or cut short: its checksum does not match";
    for (int i = 0; i < 40; ++i) {
        std::vector<char> bytes = bytes_;
        bytes[16 + random() % (bytes.size() - 16)] ^= static_cast<char>(1 << random() % 8);  // behind magic and version
        file_.write(bytes);
        const auto restored = engine_->restore(file_.path());
        ASSERT_FALSE(restored.has_value());
        EXPECT_EQ(restored.error().message, damaged);
    }
    for (const size_t length : {bytes_.size() - 1, bytes_.size() / 2, size_t(48)}) {
        file_.write({bytes_.begin(), bytes_.begin() + static_cast<int64_t>(length)});
        const auto restored = engine_->restore(file_.path());
        ASSERT_FALSE(restored.has_value());
        EXPECT_EQ(restored.error().message, damaged);
    }
}

// Forged files may be accepted, if they say something possible, or refused; they never break the simulation.
TEST_F(Refusals, LeaveForgedFilesHarmless) {
    std::mt19937 random(5);
    const auto engine = engine_of(full_network(), pool_);
    int refused = 0;
    for (int i = 0; i < 300; ++i) {
        std::vector<char> bytes = bytes_;
        const size_t payload = bytes.size() - 48;
        if (i % 3 == 0) {
            bytes.resize(48 + random() % payload);
        } else {
            for (int k = 0; k < 4; ++k) {
                const uint64_t value = uint64_t(random()) << (random() % 2 * 32) | random();
                std::memcpy(bytes.data() + 40 + random() % (payload - 8), &value, 8);
            }
        }
        write_forged(bytes);
        const auto restored = engine->restore(file_.path());
        refused += !restored.has_value();
        if (restored) {
            const auto ran = engine->run(40, {});
            // States that are no numbers are said to be none.
            EXPECT_TRUE(ran || ran.error().message.starts_with("after ")) << ran.error().message;
        }
        (void)engine->take_spikes();
        (void)engine->take_samples(3);
        (void)engine->take_samples(4);
    }
    EXPECT_GT(refused, 100);
}

// The same and more at length, in processes of their own.
TEST_F(Refusals, KeepMutantsHarmless) {
    const auto make = [&](uint64_t number, mutants::Random& random) {
        const std::string whole(bytes_.begin(), bytes_.end());
        if (number % 4 == 0) return mutants::changed(whole, random);
        std::string forged = whole.substr(0, 40) + mutants::changed(whole.substr(40, whole.size() - 48), random);
        const uint64_t checksum = XXH3_64bits(forged.data(), forged.size());
        return forged.append(reinterpret_cast<const char*>(&checksum), sizeof checksum);
    };
    std::optional<ThreadPool> pool;  // of the process that reads
    std::unique_ptr<Engine> engine;
    const auto read = [&](const std::string& mutant) -> Result<void> {
        if (!engine) engine = engine_of(full_network(), pool.emplace(pool_of(1)));
        file_.write({mutant.begin(), mutant.end()});
        RIFTJIT_TRY_VOID(engine->restore(file_.path()));
        const auto ran = engine->run(20, {});
        (void)engine->take_spikes();
        (void)engine->take_samples(3);
        (void)engine->take_samples(4);
        return ran;
    };
    mutants::Campaign("saved-state", make, [&](const std::string& mutant) {
        return mutants::outcome_of(read(mutant));
    }).run();
}

TEST(Saving, SaysWhyItCannot) {
    ThreadPool pool = pool_of(1);
    const auto engine = engine_of(full_network(), pool);
    EXPECT_EQ(engine->save("/no/such/folder/state").error().message,
              "/no/such/folder/state.part: cannot be created: No such file or directory");
}

TEST(Saving, KeepsALinkAndReplacesWhatItNames) {
    ThreadPool pool = pool_of(1);
    const auto engine = engine_of(full_network(), pool);
    const TemporaryFile state;
    const std::string link = state.path() + "-link";
    ASSERT_TRUE(engine->save(state.path()));
    const std::vector<char> first = state.read();
    std::filesystem::create_symlink(state.path(), link);
    ASSERT_TRUE(engine->run(5, {}));
    EXPECT_TRUE(engine->save(link));
    EXPECT_TRUE(std::filesystem::is_symlink(link));
    EXPECT_NE(state.read(), first);
    std::filesystem::remove(link);
}

}  // namespace checkpoint_test
}  // namespace riftjit::sim
