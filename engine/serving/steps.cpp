// A step of all texts, and what is sampled behind it.
#include <algorithm>

#include "engine/serving/loop.h"

namespace riftjit::engine {

namespace {

using runtime::StepRow;

// Cuts `text` where a line behind the first begins with less white space than is asked for: true, where one does.
bool ends_indentation(Scheduler::Job& job, std::string& text) {
    for (size_t i = 0; i < text.size(); ++i) {
        if (job.is_in_indentation && (text[i] == ' ' || text[i] == '\t')) {
            ++job.indentation;
        } else if (job.is_in_indentation && job.indentation < *job.request.indentation) {
            text.resize(i);
            return true;
        } else {
            job.is_in_indentation = text[i] == '\n';
            job.indentation = 0;
        }
    }
    return false;
}

}  // namespace

// What may follow the last tokens of texts that go on token by token, as far as there are rows, logits and pages left.
void Scheduler::Loop::guess_all() {
    size_t rows = batch_, outputs = most_outputs_, texts = 0;
    for (size_t i = 0; i < slots_.size(); ++i) {
        Slot& slot = slots_[i];
        slot.guessed.clear();
        rows -= shares_[i];
        if (shares_[i] == 0 || shares_[i] != slot.unread()) continue;
        --outputs;
        texts += slot.guesses.has_value();
    }
    uint64_t pages = sequences_.tables().free_pages() - pages_needed();
    for (size_t i = 0; i < slots_.size() && texts > 0; ++i) {
        Slot& slot = slots_[i];
        if (!slot.guesses || shares_[i] == 0 || shares_[i] != slot.unread()) continue;
        const size_t most = std::min(rows, outputs) / texts--;
        if (!slot.job->first_token || slot.unread() != 1 || slot.job->sampler.must_end()) continue;
        if (const auto guessed = guess(slot, most); !guessed) {
            // Without a draft the text goes on as it would.
            slot.guesses.reset();
            slot.drafting.reset();
            continue;
        }
        const auto pages_of = [&] {
            const auto& tables = sequences_.tables();
            return tables.pages_to_extend(*slot.sequence, uint32_t(1 + slot.guessed.size())) -
                   tables.pages_to_extend(*slot.sequence, 1);
        };
        while (!slot.guessed.empty() && pages_of() > pages) slot.guessed.pop_back();
        pages -= pages_of();
        rows -= slot.guessed.size();
        outputs -= slot.guessed.size();
    }
}

Result<void> Scheduler::Loop::guess(Slot& slot, size_t most) {
    Job& job = *slot.job;
    most = std::min(most, sequences_.limits().positions - slot.text.size() - 1);
    if (job.request.max_tokens >= 0) most = std::min(most, size_t(job.request.max_tokens - job.sampled - 1));
    RIFTJIT_TRY(guesses, slot.guesses->next(job.ids.back(), uint32_t(most), engine_.tokenizer, job.sampler));
    slot.guessed.assign(guesses.begin(), guesses.end());
    return {};
}

void Scheduler::Loop::step() {
    do share_rows();
    while (!make_room());
    guess_all();
    rows_.clear();
    auto reading = runtime::LogitReading::highest;
    uint32_t busy = 0, drafts = 0;
    for (size_t i = 0; i < slots_.size(); ++i) {
        const Slot& slot = slots_[i];
        if (shares_[i] == 0) continue;
        ++busy;
        for (size_t k = 0; k < shares_[i]; ++k)
            rows_.push_back({*slot.sequence, slot.job->ids[slot.text.size() + k], StepRow::Logits::none});
        if (shares_[i] != slot.unread()) continue;
        rows_.back().logits = StepRow::Logits::wanted;
        drafts += !slot.guessed.empty();
        for (const int32_t id : slot.guessed) rows_.push_back({*slot.sequence, id, StepRow::Logits::wanted});
        const ServingRequest& request = slot.job->request;
        if ((request.chances > 0 && !request.chances_behind_samplers) || !slot.job->sampler.takes_highest())
            reading = runtime::LogitReading::rows;
    }
    if (rows_.empty()) return;
    const auto before = ServingClock::now();
    auto logits = sequences_.step(rows_, reading);
    const double ms = serving_ms(before, ServingClock::now());
    {
        const std::lock_guard lock(mutex_);
        ++totals_.steps;
        totals_.busy_slots += busy;
        totals_.drafts += drafts;
    }
    uint32_t output = 0;
    for (size_t i = 0; i < slots_.size(); ++i) {
        Slot& slot = slots_[i];
        if (shares_[i] == 0) continue;
        if (slot.guesses && busy == 1)
            slot.guesses->stepped(uint32_t(1 + slot.guessed.size()), ms);
        else if (slot.guesses)
            slot.guesses->stepped_beside_others();
        if (logits) {
            after_step(slot, shares_[i], *logits, output);
        } else {
            forget(slot);
            end(slot, {.error = logits.error()});
        }
    }
}

void Scheduler::Loop::after_step(Slot& slot, size_t rows, runtime::StepLogits& logits, uint32_t& output) {
    Job& job = *slot.job;
    const auto next = job.ids.begin() + ptrdiff_t(slot.text.size());
    slot.text.insert(slot.text.end(), next, next + ptrdiff_t(rows));
    if (!job.first_token) {
        job.timings.prompt_ms = serving_ms(*job.begun, ServingClock::now());
        job.timings.prompt_tokens += uint32_t(rows);
        if (job.request.tells_progress)
            job.push({.read_tokens = uint32_t(slot.text.size()), .total_tokens = uint32_t(job.ids.size())});
    }
    if (slot.unread() != 0) return;
    const uint32_t first = std::exchange(output, output + 1 + uint32_t(slot.guessed.size()));
    if (job.request.max_tokens == 0) return end(slot, {.finish = FinishReason::length});
    if (slot.guesses && !job.first_token)
        if (const auto read = slot.guesses->catch_up(); !read) slot.guesses.reset();
    job.timings.drafted_tokens += uint32_t(slot.guessed.size());
    auto last = take_tokens(slot, logits, first);
    // What was guessed and is not the text's goes.
    if (const auto settled = cut(slot, slot.text.size()); !settled) {
        forget(slot);
        last = ServingEvent{.error = settled.error()};
    }
    if (last) end(slot, std::move(*last));
}

// Samples behind the text's last token, and on behind each guess that is what was sampled. What ends the answer, if
// anything does; all before it was told.
std::optional<ServingEvent> Scheduler::Loop::take_tokens(Slot& slot, runtime::StepLogits& logits, uint32_t output) {
    Job& job = *slot.job;
    for (size_t taken = 0;; ++taken) {
        ServingEvent event;
        if (job.sampler.must_end()) return ServingEvent{.finish = FinishReason::end_of_generation};
        const bool is_unseen = takes_unseen(slot, taken);
        const auto instead = is_unseen ? std::optional(slot.guessed[taken]) : std::nullopt;
        const auto id = sample(slot, logits, output + uint32_t(taken), instead, event);
        if (!id) return ServingEvent{.error = id.error()};
        if (!job.first_token) job.first_token = ServingClock::now();
        job.timings.predicted_ms = serving_ms(*job.first_token, ServingClock::now());
        if (const auto advanced = advance(slot, *id, event); !advanced) return ServingEvent{.error = advanced.error()};
        if (event.finish) {
            event.text += job.stream.finish();
            return event;
        }
        const bool is_right = taken < slot.guessed.size() && slot.guessed[taken] == *id;
        const bool was_guessed = synthetic_shares_.empty() ? is_right : is_unseen;
        if (was_guessed) {
            slot.text.push_back(*id);
            slot.guesses->met();
            ++job.timings.accepted_tokens;
        }
        job.push(std::move(event));
        if (!was_guessed) return std::nullopt;
    }
}

// Of synthetic guesses alone.
bool Scheduler::Loop::takes_unseen(const Slot& slot, size_t guess) const {
    return guess < slot.guessed.size() && guess < synthetic_shares_.size() &&
           slot.job->lots.uniform() < synthetic_shares_[guess];
}

// `instead`: what the text goes on with, whatever was sampled, and of which no grammar learns.
Result<int32_t> Scheduler::Loop::sample(Slot& slot, runtime::StepLogits& logits, uint32_t output,
                                        std::optional<int32_t> instead, ServingEvent& event) {
    Job& job = *slot.job;
    std::optional<int32_t> of_highest;
    if (logits.highest != nullptr) of_highest = job.sampler.sample(logits.highest_of(output));
    if (!of_highest && logits.data == nullptr) {
        const auto* highest = logits.highest;
        RIFTJIT_TRY(rows, sequences_.read_rows());
        logits = rows;
        logits.highest = highest;
    }
    const auto id = of_highest ? Result<int32_t>(*of_highest) : job.sampler.sample(logits.row(output));
    if (!id) return id;
    event.token.emplace(ServingEvent::Token{.id = *id});
    if (job.request.chances > 0) {
        // Rows of the table behind the vocabulary are no tokens.
        const auto row = [&] {
            return logits.row(output).first(std::min<size_t>(logits.vocabulary, engine_.tokenizer.size()));
        };
        auto [picked, top] = job.request.chances_behind_samplers
                                 ? job.sampler.shares(*id, job.request.chances)
                                 : runtime::log_probabilities(row(), *id, job.request.chances);
        event.token->logprob = picked.log_probability;
        event.token->chances = std::move(top);
    }
    const int32_t next = instead.value_or(*id);
    event.token->id = next;
    if (instead)
        job.sampler.accept(next);
    else
        RIFTJIT_TRY_VOID(job.sampler.accept_sampled(next));
    if (slot.guesses) slot.guesses->accept(next);
    ++job.timings.predicted_tokens;
    return next;
}

// The text goes on with a token: what of it may be shown, and whether it is the last.
Result<void> Scheduler::Loop::advance(Slot& slot, int32_t id, ServingEvent& event) {
    Job& job = *slot.job;
    const ServingRequest& request = job.request;
    const models::Tokenizer& tokenizer = engine_.tokenizer;
    if (tokenizer.is_end_of_generation(id)) {
        event.token->is_end = true;
        event.finish = FinishReason::end_of_generation;
        return {};
    }
    job.ids.push_back(id);
    ++job.sampled;
    const bool is_hidden = request.show_control == models::Tokenizer::ShowControl::no && tokenizer.is_control(id);
    if (!is_hidden) event.text = job.stream.push(tokenizer.piece(id));
    job.has_line_end |= event.text.contains('\n');
    const bool is_full = slot.text.size() == sequences_.limits().positions;
    if (job.stream.found_stop_word()) {
        event.finish = FinishReason::stop_word;
        event.stop_word = job.stream.stop_word();
    } else if (job.sampler.must_end()) {
        event.finish = FinishReason::end_of_generation;
    } else if (request.indentation && ends_indentation(job, event.text)) {
        event.finish = FinishReason::length;
        job.stream = TextStream({});  // what it holds back stands behind the cut
    } else if (has_reached_limit(job)) {
        event.finish = FinishReason::length;
    } else if (is_full && shifts_context_) {
        return shift(slot);
    } else if (is_full) {
        event.finish = FinishReason::length;
        job.is_truncated = true;
    }
    return {};
}

// Of tokens, or of time.
bool Scheduler::Loop::has_reached_limit(const Job& job) const {
    const ServingRequest& request = job.request;
    if (request.max_tokens >= 0 && job.sampled >= request.max_tokens) return true;
    return request.most_time && job.has_line_end && job.timings.predicted_ms > double(request.most_time->count());
}

}  // namespace riftjit::engine
