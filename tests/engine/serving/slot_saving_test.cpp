// What a slot holds is saved beside others' requests.
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

}  // namespace slot_saving_test
}  // namespace riftjit::engine
