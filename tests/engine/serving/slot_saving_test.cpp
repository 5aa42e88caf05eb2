// What a slot holds is saved and restored beside others' requests.
#include <future>

#include "tests/engine/serving/serving_lab.h"

namespace riftjit::engine {
namespace slot_saving_test {

using namespace serving_lab;
using Bytes = std::vector<std::byte>;

ServingRequest request_of_slot(uint32_t slot, size_t tokens, uint32_t seed) {
    ServingRequest request = greedy_request(some_prompt(tokens, seed), 1);
    request.slot = slot;
    return request;
}

// A saver whose disk takes nothing until it is told to.
class SlowSaver {
public:
    SlowSaver(Scheduler& scheduler, uint32_t slot) {
        saved_ = std::async(std::launch::async, [this, &scheduler, slot, gate = gate_.get_future().share()] {
            return scheduler.save(slot, {}, [&, gate](std::span<const std::byte> bytes) -> Result<void> {
                if (bytes_.empty()) begun_.set_value();
                gate.wait();
                bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
                return {};
            });
        });
        begun_.get_future().wait();
    }
    Result<uint32_t> finish() {
        gate_.set_value();
        return saved_.get();
    }
    const Bytes& bytes() const { return bytes_; }

private:
    std::promise<void> begun_, gate_;
    std::future<Result<uint32_t>> saved_;
    Bytes bytes_;
};

TEST(SlotSaving, HoldsUpNobodyButItsSlot) {
    Engine engine = open_nano(serving_options(2));
    Scheduler scheduler(engine);
    auto first = submit(scheduler, request_of_slot(0, 300, 1));
    hear(first);
    Bytes plain;
    ASSERT_TRUE(scheduler.save(0, {}, [&](std::span<const std::byte> bytes) -> Result<void> {
        plain.insert(plain.end(), bytes.begin(), bytes.end());
        return {};
    }));
    SlowSaver saver(scheduler, 0);
    // Others go on, from the text that is being saved too.
    auto other = submit(scheduler, greedy_request(some_prompt(300, 1), 8));
    const Heard heard = hear(other);
    EXPECT_EQ(heard.ids.size(), 8u);
    EXPECT_EQ(heard.timings.cached_tokens, 299u);
    auto waiting = submit(scheduler, request_of_slot(0, 40, 2));
    EXPECT_FALSE(waiting.wait(200ms));
    EXPECT_EQ(scheduler.erase(0).error().kind, ErrorKind::Interrupted);
    EXPECT_EQ(scheduler.save(0, {}, [](std::span<const std::byte>) { return Result<void>(); }).error().kind,
              ErrorKind::Interrupted);
    const auto saved = saver.finish();
    ASSERT_TRUE(saved) << saved.error().message;
    EXPECT_EQ(*saved, 300u);
    EXPECT_TRUE(saver.bytes() == plain);
    EXPECT_EQ(hear(waiting).ids.size(), 1u);
}

TEST(SlotSaving, GivesWayWhereRequestsWantTheCache) {
    EngineOptions options = serving_options(2, 512);
    options.shares_cache = true;  // two pages of 256 positions for both
    Engine engine = open_nano(options);
    Scheduler scheduler(engine);
    auto first = submit(scheduler, request_of_slot(0, 300, 1));
    hear(first);
    SlowSaver saver(scheduler, 0);
    auto other = submit(scheduler, greedy_request(some_prompt(300, 2), 4));
    EXPECT_EQ(hear(other).ids.size(), 4u);
    const auto saved = saver.finish();
    ASSERT_FALSE(saved);
    EXPECT_NE(saved.error().message.find("forgotten"), std::string::npos) << saved.error().message;
    auto again = submit(scheduler, request_of_slot(0, 20, 3));
    EXPECT_EQ(hear(again).ids.size(), 1u);
}

TEST(SlotSaving, EndsWithTheScheduler) {
    Engine engine = open_nano(serving_options(1));
    auto scheduler = std::make_unique<Scheduler>(engine);
    auto first = submit(*scheduler, request_of_slot(0, 30, 1));
    hear(first);
    SlowSaver saver(*scheduler, 0);
    scheduler->stop();
    EXPECT_EQ(saver.finish().error().kind, ErrorKind::Interrupted);
}

// A text's bytes without the header, which a disk gives only when it is told to.
class SlowRestorer {
public:
    SlowRestorer(Scheduler& scheduler, uint32_t slot, const Ids& ids, Bytes payload) : payload_(std::move(payload)) {
        restored_ = std::async(std::launch::async, [this, &scheduler, slot, ids, gate = gate_.get_future().share()] {
            return scheduler.restore(slot, ids, [&, gate](std::span<std::byte> to) -> Result<void> {
                if (given_ == 0) begun_.set_value();
                gate.wait();
                if (fails_) return fail(ErrorKind::Io, "the disk is gone");
                std::copy_n(payload_.begin() + ptrdiff_t(given_), to.size(), to.begin());
                given_ += to.size();
                return {};
            });
        });
        begun_.get_future().wait();
    }
    Result<void> finish(bool fails = false) {
        fails_ = fails;
        gate_.set_value();
        return restored_.get();
    }

private:
    std::promise<void> begun_, gate_;
    std::future<Result<void>> restored_;
    Bytes payload_;
    size_t given_ = 0;
    bool fails_ = false;
};

// What slot 0 holds of some_prompt(300, 1).
struct SavedPrompt {
    Ids ids = some_prompt(300, 1);
    Bytes payload;

    explicit SavedPrompt(Engine& engine) {
        Scheduler scheduler(engine);
        auto answer = submit(scheduler, request_of_slot(0, 300, 1));
        hear(answer);
        Bytes all;
        EXPECT_TRUE(scheduler.save(0, {}, [&](std::span<const std::byte> bytes) -> Result<void> {
            all.insert(all.end(), bytes.begin(), bytes.end());
            return {};
        }));
        // Header and ids come before it, a checksum behind it (engine/prompt_cache.h).
        constexpr ptrdiff_t kChecksumBytes = 16;
        const auto end = all.end() - kChecksumBytes;
        payload.assign(end - ptrdiff_t(engine.sequences->saved_bytes(300)), end);
        EXPECT_TRUE(scheduler.erase(0));
    }
};

TEST(SlotRestoring, HoldsUpNobodyButItsSlot) {
    Engine engine = open_nano(serving_options(2));
    const SavedPrompt saved(engine);
    Scheduler scheduler(engine);
    SlowRestorer restorer(scheduler, 0, saved.ids, saved.payload);
    // Others go on, and not from a text of which bytes are missing.
    auto other = submit(scheduler, greedy_request(saved.ids, 8));
    const Heard alone = hear(other);
    EXPECT_EQ(alone.ids.size(), 8u);
    EXPECT_EQ(alone.timings.cached_tokens, 0u);
    EXPECT_TRUE(scheduler.erase(1));
    EXPECT_EQ(scheduler.erase(0).error().kind, ErrorKind::Interrupted);
    ServingRequest request = greedy_request(saved.ids, 8);
    request.slot = 0;
    auto waiting = submit(scheduler, request);
    EXPECT_FALSE(waiting.wait(200ms));
    const auto restored = restorer.finish();
    ASSERT_TRUE(restored) << restored.error().message;
    const Heard heard = hear(waiting);
    EXPECT_EQ(heard.timings.cached_tokens, 299u);
    EXPECT_EQ(heard.ids, alone.ids);
}

TEST(SlotRestoring, GivesWayWhereRequestsWantTheCache) {
    EngineOptions options = serving_options(2, 512);
    options.shares_cache = true;  // two pages of 256 positions for both
    Engine engine = open_nano(options);
    const SavedPrompt saved(engine);
    Scheduler scheduler(engine);
    SlowRestorer restorer(scheduler, 0, saved.ids, saved.payload);
    auto other = submit(scheduler, greedy_request(some_prompt(300, 2), 4));
    EXPECT_EQ(hear(other).ids.size(), 4u);
    const auto restored = restorer.finish();
    ASSERT_FALSE(restored);
    EXPECT_NE(restored.error().message.find("forgotten"), std::string::npos) << restored.error().message;
    auto again = submit(scheduler, request_of_slot(0, 20, 3));
    EXPECT_EQ(hear(again).ids.size(), 1u);
}

TEST(SlotRestoring, LeavesAnEmptySlotWhereTheDiskFails) {
    Engine engine = open_nano(serving_options(1));
    const SavedPrompt saved(engine);
    Scheduler scheduler(engine);
    SlowRestorer restorer(scheduler, 0, saved.ids, saved.payload);
    EXPECT_EQ(restorer.finish(true).error().message, "the disk is gone");
    auto again = submit(scheduler, greedy_request(saved.ids, 1));
    const Heard heard = hear(again);
    EXPECT_EQ(heard.ids.size(), 1u);
    EXPECT_EQ(heard.timings.cached_tokens, 0u);
}

TEST(SlotRestoring, EndsWithTheScheduler) {
    Engine engine = open_nano(serving_options(1));
    const SavedPrompt saved(engine);
    auto scheduler = std::make_unique<Scheduler>(engine);
    SlowRestorer restorer(*scheduler, 0, saved.ids, saved.payload);
    scheduler->stop();
    EXPECT_EQ(restorer.finish().error().kind, ErrorKind::Interrupted);
}

}  // namespace slot_saving_test
}  // namespace riftjit::engine
