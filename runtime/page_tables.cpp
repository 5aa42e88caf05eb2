#include "runtime/page_tables.h"

#include <algorithm>

#include "host/result.h"

namespace riftjit::runtime {

PageTables::PageTables(const PageLimits& limits)
    : limits_(limits),
      sequences_(limits.sequences),
      tables_(std::make_unique_for_overwrite<uint32_t[]>(size_t(limits.sequences) * limits.pages_per_sequence)) {
    users_.reserve(limits.pages);
    returned_.reserve(limits.pages);
}

std::optional<SequenceId> PageTables::find_closed() const {
    const auto closed = std::ranges::find(sequences_, false, &Sequence::is_open);
    if (closed == sequences_.end()) return std::nullopt;
    return SequenceId(closed - sequences_.begin());
}

std::optional<SequenceId> PageTables::open() {
    const auto id = find_closed();
    if (!id) return std::nullopt;
    sequences_[*id] = {true, 0};
    ++open_sequences_;
    return id;
}

std::optional<SequenceId> PageTables::fork(SequenceId origin) {
    check(is_open(origin), "a fork has an origin");
    const auto id = open();
    if (!id) return std::nullopt;
    const uint32_t pages = page_count(length(origin));
    std::copy_n(table(origin), pages, table(*id));
    for (uint32_t i = 0; i < pages; ++i) ++users_[table(*id)[i]];
    sequences_[*id].length = length(origin);
    return id;
}

void PageTables::close(SequenceId id) {
    truncate(id, 0);
    sequences_[id].is_open = false;
    --open_sequences_;
}

void PageTables::truncate(SequenceId id, uint32_t length) {
    check(is_open(id), "only an open sequence has positions");
    uint32_t& current = sequences_[id].length;
    if (length >= current) return;
    for (uint32_t i = page_count(current); i-- > page_count(length);) drop_page(table(id)[i]);
    current = length;
}

// Whether the next position falls in a page that others read too.
bool PageTables::must_copy(SequenceId id) const {
    const uint32_t at = length(id);
    return at % kKvPage != 0 && users_[table(id)[at / kKvPage]] > 1;
}

uint32_t PageTables::pages_to_extend(SequenceId id, uint32_t positions) const {
    if (positions == 0) return 0;
    return page_count(uint64_t(length(id)) + positions) - page_count(length(id)) + (must_copy(id) ? 1 : 0);
}

std::optional<PageCopy> PageTables::extend(SequenceId id, uint32_t positions) {
    check(is_open(id) && pages_to_extend(id, positions) <= free_pages(), "there is room for the positions");
    const uint32_t have = page_count(length(id)), want = page_count(uint64_t(length(id)) + positions);
    check(want <= limits_.pages_per_sequence, "a sequence has a bound");
    std::optional<PageCopy> copy;
    if (positions != 0 && must_copy(id)) {
        uint32_t& last = table(id)[have - 1];
        copy = PageCopy{last, take_page()};
        drop_page(last);
        last = copy->to;
    }
    for (uint32_t i = have; i < want; ++i) table(id)[i] = take_page();
    sequences_[id].length += positions;
    return copy;
}

uint32_t PageTables::take_page() {
    ++used_pages_;
    if (returned_.empty()) {
        users_.push_back(1);
        return uint32_t(users_.size() - 1);
    }
    const uint32_t page = returned_.back();
    returned_.pop_back();
    users_[page] = 1;
    return page;
}

void PageTables::drop_page(uint32_t page) {
    if (--users_[page] != 0) return;
    returned_.push_back(page);
    --used_pages_;
}

}  // namespace riftjit::runtime
