#include "sim/files/nest_dat.h"

#include <algorithm>
#include <charconv>

#include "sim/files/append_file.h"
#include "sim/files/metadata.h"
#include "sim/files/recording_times.h"

namespace riftjit::sim {

namespace {

constexpr std::string_view kFirstLine = "# riftjit ";
// The first line is written over when the run ends: room for its numbers to grow.
constexpr size_t kRoomForSummary = 128;

class NestDatWriter final : public RecordingWriter {
public:
    NestDatWriter(RecordingHeader header, AppendFile file)
        : header_(std::move(header)), file_(std::move(file)), decimals_(decimals_of_times(header_.step_ms)) {}

    Result<void> start() {
        const std::string line = first_line({header_});
        first_line_bytes_ = line.size() + kRoomForSummary;
        std::string text = line + std::string(kRoomForSummary, ' ');
        return file_.append(text + "\n# RecordingBackendASCII version: 2\nsender\ttime_ms\n");
    }
    Result<void> append_spikes(std::span<const Spike> spikes) override {
        constexpr size_t kBlock = 1 << 16;
        while (!spikes.empty()) {
            const auto block = spikes.first(std::min(spikes.size(), kBlock));
            spikes = spikes.subspan(block.size());
            RIFTJIT_TRY_VOID(append_block(block));
        }
        return {};
    }
    Result<void> append_states(size_t, std::span<const double>) override { return {}; }  // lost_in() says so
    Result<void> append_synapses(size_t, std::span<const SynapseEnds>) override { return {}; }
    Result<void> append_weights(size_t, std::span<const double>) override { return {}; }
    Result<void> flush() override { return {}; }  // every append is with the operating system
    Result<void> finish(const RunSummary& summary) override {
        std::string line = first_line({header_, summary, true});
        check(line.size() <= first_line_bytes_, "a summary fits into the room left for it");
        line.resize(first_line_bytes_, ' ');
        RIFTJIT_TRY_VOID(file_.overwrite(0, line));
        return file_.sync();
    }

private:
    static std::string first_line(const Metadata& metadata) { return std::string(kFirstLine) + to_json_text(metadata); }

    Result<void> append_block(std::span<const Spike> spikes) {
        fmt::memory_buffer rows;
        for (const Spike& spike : spikes)
            fmt::format_to(std::back_inserter(rows), "{}\t{:.{}f}\n", uint64_t(spike.id) + 1,
                           stamp_ms(header_, spike.step), decimals_);
        return file_.append({rows.data(), rows.size()});
    }

    RecordingHeader header_;
    AppendFile file_;
    int decimals_;
    size_t first_line_bytes_ = 0;
};

// Takes the next line, without its end.
std::string_view next_line(std::string_view& text) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
}

std::string_view next_word(std::string_view& line) {
    constexpr std::string_view kBlank = " \t";
    line.remove_prefix(std::min(line.find_first_not_of(kBlank), line.size()));
    const size_t end = std::min(line.find_first_of(kBlank), line.size());
    const std::string_view word = line.substr(0, end);
    line.remove_prefix(end);
    return word;
}

template <class Number>
std::optional<Number> number(std::string_view word) {
    Number value{};
    const auto [rest, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc{} || rest != word.data() + word.size()) return std::nullopt;
    return value;
}

enum class Times : uint8_t { milliseconds, steps };

class NestDatParser {
public:
    NestDatParser(std::string_view text, const ReadOptions& options)
        : text_(text), step_ms_(options.step_ms), compat_(options.compat) {}

    Result<Recording> parse(const ReadOptions& options) {
        while (!text_.empty()) {
            ++line_;
            if (const auto taken = take(next_line(text_)); !taken)
                return fail(taken.error().kind, "line {}: {}", line_, taken.error().message);
        }
        if (!metadata_)
            return assemble_foreign(options, {{"all", 0, largest_sender_, {}}}, std::move(spikes_), Silent::unknown);
        metadata_->header.states.clear();
        metadata_->header.weights.clear();
        return assemble(std::move(*metadata_), std::move(spikes_), {}, {});
    }

private:
    Result<void> take(std::string_view line) {
        if (line_ == 1 && line.starts_with(kFirstLine)) {
            RIFTJIT_TRY(metadata, metadata_from_json_text(line.substr(kFirstLine.size())));
            step_ms_ = metadata.header.step_ms;
            compat_ = metadata.header.compat;
            metadata_ = std::move(metadata);
            return {};
        }
        if (line.empty() || line.starts_with('#')) return {};
        if (line.starts_with("sender")) return take_columns(line);
        // A killed run may leave a part of a row, which may look like a whole one.
        if (text_.empty() && is_cut_short_ && metadata_ && !metadata_->is_finished) return {};
        return take_row(line);
    }
    Result<void> take_columns(std::string_view line) {
        if (line == "sender\ttime_ms")
            times_ = Times::milliseconds;
        else if (line == "sender\ttime_step\ttime_offset")
            times_ = Times::steps;
        else
            return fail(ErrorKind::Unsupported, "columns \"{}\": only sender with time_ms or time_step and time_offset",
                        line);
        return {};
    }
    Result<void> take_row(std::string_view line) {
        const std::string_view row = line;
        const auto sender = number<uint64_t>(next_word(line));
        const auto time = number<double>(next_word(line));
        const auto offset = times_ == Times::steps ? number<double>(next_word(line)) : std::optional<double>(0.0);
        if (!sender || !time || !offset || !next_word(line).empty())
            return fail(ErrorKind::Format, "\"{}\" is not a sender and a time", row.substr(0, 80));
        if (*sender == 0 || *sender > UINT32_MAX)
            return fail(ErrorKind::Format, "sender {} is not within 1 and {}", *sender, UINT32_MAX);
        if (*offset != 0) return fail(ErrorKind::Unsupported, "time_offset {}: spikes between steps", *offset);
        RIFTJIT_TRY(step, step_of_stamp(step_ms_, compat_, times_ == Times::steps ? *time * step_ms_ : *time));
        spikes_.push_back({step, static_cast<uint32_t>(*sender - 1)});
        largest_sender_ = std::max(largest_sender_, static_cast<uint32_t>(*sender));
        return {};
    }

    std::string_view text_;
    bool is_cut_short_ = !text_.empty() && text_.back() != '\n';
    double step_ms_;
    std::string compat_;
    Times times_ = Times::milliseconds;
    uint64_t line_ = 0;
    uint32_t largest_sender_ = 0;
    std::optional<Metadata> metadata_;
    std::vector<Spike> spikes_;
};

}  // namespace

Result<std::unique_ptr<RecordingWriter>> create_nest_dat(const std::string& path, const RecordingHeader& header,
                                                         Existing existing) {
    RIFTJIT_TRY(file, AppendFile::create(path, existing));
    auto writer = std::make_unique<NestDatWriter>(header, std::move(file));
    RIFTJIT_TRY_VOID(writer->start());
    return writer;
}

bool looks_like_nest_dat(std::string_view head) {
    const std::string_view first = next_line(head);
    if (first.starts_with('#') || first.starts_with("sender")) return true;
    return !first.empty() && first.find_first_not_of("0123456789. \t") == std::string_view::npos;
}

Result<Recording> parse_nest_dat(std::string_view text, const ReadOptions& options) {
    return NestDatParser(text, options).parse(options);
}

}  // namespace riftjit::sim
