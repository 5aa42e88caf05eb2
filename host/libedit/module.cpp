// host/line_editor.h by libedit.
#include <fcntl.h>
#include <fmt/format.h>
#include <histedit.h>
#include <locale.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "host/line_editor.h"
#include "host/utf8.h"

namespace riftjit {
namespace {

constexpr int kHistoryEntries = 1000;
constexpr char kEndOfInput = 4;  // Ctrl-D
constexpr size_t kMostOfHistoryEntry = 4096;
constexpr size_t kMostOfHistoryFile = 8 << 20;
constexpr size_t kShownPaste = 400;        // bytes of a paste that stands in the line as it is
constexpr size_t kMostOfPaste = 64 << 20;  // bytes; the rest is dropped, and said
constexpr std::string_view kPasteBegin = "\x1b[200~", kPasteEnd = "\x1b[201~";

// Characters are UTF-8 whatever the process's locale is.
class Utf8Locale {
public:
    Utf8Locale() : locale_(newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)) {
        if (locale_ != nullptr) old_ = uselocale(locale_);
    }
    Utf8Locale(const Utf8Locale&) = delete;
    ~Utf8Locale() {
        if (locale_ == nullptr) return;
        uselocale(old_);
        freelocale(locale_);
    }

private:
    locale_t locale_ = nullptr, old_ = nullptr;
};

std::string escaped_entry(std::string_view text) {
    std::string line;
    for (const char c : text) {
        if (c == '\\')
            line += "\\\\";
        else if (c == '\n')
            line += "\\n";
        else
            line += c;
    }
    return line;
}

std::string unescaped_entry(std::string_view line) {
    std::string text;
    for (size_t i = 0; i < line.size(); ++i) {
        if (line[i] == '\\' && i + 1 < line.size())
            text += line[++i] == 'n' ? '\n' : line[i];
        else
            text += line[i];
    }
    return text;
}

class Editor final : public LineEditor {
public:
    explicit Editor(LineEditorOptions options) : options_(std::move(options)) {}
    Editor(const Editor&) = delete;
    ~Editor() override {
        if (edit_ != nullptr) el_end(edit_);
        if (history_ != nullptr) history_end(history_);
        for (FILE* file : {in_, out_})
            if (file != nullptr) fclose(file);
    }

    Result<void> open() {
        const Utf8Locale locale;
        in_ = fdopen(dup(options_.input), "r");
        out_ = fdopen(dup(options_.output), "w");
        if (in_ == nullptr || out_ == nullptr) return fail(ErrorKind::Io, "the terminal: {}", strerror(errno));
        edit_ = el_init("riftjit", in_, out_, out_);
        if (edit_ == nullptr) return fail(ErrorKind::Io, "the terminal has no line editing");
        history_ = history_init();
        HistEvent event;
        history(history_, &event, H_SETSIZE, kHistoryEntries);
        history(history_, &event, H_SETUNIQUE, 1);
        el_set(edit_, EL_CLIENTDATA, this);
        el_set(edit_, EL_PROMPT, &Editor::prompt_of);
        el_set(edit_, EL_EDITOR, "emacs");
        el_set(edit_, EL_HIST, ::history, history_);
        el_set(edit_, EL_SIGNAL, 0);
        el_set(edit_, EL_GETCFN, &Editor::read_character);
        el_set(edit_, EL_ADDFN, "rj-complete", "complete the word", &Editor::complete);
        el_set(edit_, EL_ADDFN, "rj-newline", "a new line in the text", &Editor::new_line);
        const std::pair<const char*, const char*> bindings[] = {
            {"\t", "rj-complete"},        {"\\e\r", "rj-newline"},      {"\\e\n", "rj-newline"},
            {"\\e[1;5C", "em-next-word"}, {"\\e[1;5D", "ed-prev-word"}, {"\\e[3~", "ed-delete-next-char"},
            {"\\e[H", "ed-move-to-beg"},  {"\\e[F", "ed-move-to-end"},  {"\\e[1~", "ed-move-to-beg"},
            {"\\e[4~", "ed-move-to-end"}, {"^R", "em-inc-search-prev"}, {"^W", "ed-delete-prev-word"},
        };
        for (const auto& [keys, action] : bindings) el_set(edit_, EL_BIND, keys, action, nullptr);
        load_history();
        return {};
    }

    Line read(const std::string& prompt, const std::string& initial) override {
        const Utf8Locale locale;
        prompt_ = prompt;
        pastes_.clear();
        pending_.clear();
        is_interrupted_ = has_ended_ = false;
        is_untouched_ = true;
        for (const char c : initial) {
            if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) pending_ += '\x16';  // quoted insert (^V)
            pending_ += c;
        }
        // Before the prompt is seen: libedit would show it first, and what is typed at once would be the kernel's to
        // edit.
        el_set(edit_, EL_PREP_TERM, 1);
        terminal("\x1b[?2004h");
        int count = 0;
        const char* text = el_gets(edit_, &count);
        terminal("\x1b[?2004l");
        if (is_interrupted_) return {Line::End::interrupted, {}};
        if (text == nullptr || count <= 0) return {Line::End::end_of_input, {}};
        std::string typed(text, static_cast<size_t>(count));
        if (typed.ends_with('\n'))
            typed.pop_back();
        else if (has_ended_ && typed.empty())
            return {Line::End::end_of_input, {}};
        Line line{Line::End::entered, with_pastes(typed)};
        remember(line.text.size() <= kMostOfHistoryEntry ? line.text : typed);
        return line;
    }

private:
    static Editor& of(EditLine* edit) {
        Editor* editor = nullptr;
        el_get(edit, EL_CLIENTDATA, &editor);
        return *editor;
    }
    static char* prompt_of(EditLine* edit) { return of(edit).prompt_.data(); }

    static unsigned char new_line(EditLine* edit, int) { return el_insertstr(edit, "\n") == 0 ? CC_REFRESH : CC_ERROR; }

    static unsigned char complete(EditLine* edit, int) {
        Editor& editor = of(edit);
        const LineInfo* info = el_line(edit);
        const std::string before(info->buffer, static_cast<size_t>(info->cursor - info->buffer));
        if (!editor.options_.completions) return CC_ERROR;
        std::vector<std::string> found = editor.options_.completions(before);
        if (found.empty()) return CC_ERROR;
        std::string common = found.front();
        for (const std::string& other : found)
            common.resize(static_cast<size_t>(std::ranges::mismatch(common, other).in1 - common.begin()));
        common.resize(valid_utf8_prefix(common));
        const size_t word = before.find_last_of(' ') + 1;  // 0 where there is none
        const size_t typed = before.size() - word;
        if (found.size() == 1 && !common.ends_with('/')) common += ' ';
        if (common.size() > typed && common.starts_with(std::string_view(before).substr(word)))
            return el_insertstr(edit, common.substr(typed).c_str()) == 0 ? CC_REFRESH : CC_ERROR;
        if (found.size() == 1) return CC_ERROR;
        std::string list = "\r\n";
        for (const std::string& name : found) list += name + "  ";
        editor.terminal(list + "\r\n");
        return CC_REDISPLAY;
    }

    void terminal(std::string_view text) {
        fflush(out_);
        while (!text.empty()) {
            const ssize_t written = write(options_.output, text.data(), text.size());
            if (written <= 0) return;
            text.remove_prefix(static_cast<size_t>(written));
        }
    }

    // More bytes of the terminal; false: it ended, or Ctrl-C came.
    bool fill() {
        pollfd input{options_.input, POLLIN, 0};
        while (true) {
            if (options_.is_interrupted && options_.is_interrupted()) {
                is_interrupted_ = true;
                return false;
            }
            if (poll(&input, 1, /*timeout in ms=*/100) > 0) break;
        }
        char bytes[4096];
        const ssize_t count = ::read(options_.input, bytes, sizeof bytes);
        if (count < 0 && (errno == EINTR || errno == EAGAIN)) return true;
        if (count <= 0) {
            has_ended_ = true;
            return false;
        }
        // An end of input from before the terminal gave up its own editing comes as NUL (n_tty of the Linux kernel).
        if (is_untouched_ && bytes[0] == '\0') bytes[0] = kEndOfInput;
        is_untouched_ = false;
        typed_.append(bytes, static_cast<size_t>(count));
        return true;
    }

    // Takes a paste that has begun. False: the terminal ended within it.
    bool take_paste() {
        typed_.erase(0, kPasteBegin.size());
        std::string text;
        bool is_cut = false;
        while (true) {
            const size_t end = typed_.find(kPasteEnd);
            const size_t whole = end != std::string::npos           ? end
                                 : typed_.size() < kPasteEnd.size() ? 0
                                                                    : typed_.size() - kPasteEnd.size();
            is_cut |= text.size() + whole > kMostOfPaste;
            text.append(typed_, 0, std::min(whole, kMostOfPaste - text.size()));
            typed_.erase(0, whole);
            if (end != std::string::npos) break;
            if (!fill()) return false;
        }
        typed_.erase(0, kPasteEnd.size());
        std::string clean;
        for (size_t i = 0; i < text.size(); ++i) {
            if (text[i] == '\r') {
                if (i + 1 == text.size() || text[i + 1] != '\n') clean += '\n';
            } else if (text[i] != '\0') {
                clean += text[i];
            }
        }
        const bool is_plain = std::ranges::none_of(clean, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
        if (is_plain && clean.size() <= kShownPaste) {
            pending_ += clean;
            return true;
        }
        const auto lines = std::ranges::count(clean, '\n') + (clean.ends_with('\n') ? 0 : 1);
        pastes_.push_back({fmt::format("[paste {}: {} line{}, {} bytes{}]", pastes_.size() + 1, lines,
                                       lines == 1 ? "" : "s", clean.size(), is_cut ? ", cut" : ""),
                           std::move(clean)});
        pending_ += pastes_.back().name;
        return true;
    }

    static int read_character(EditLine* edit, wchar_t* character) { return of(edit).next(*character); }

    int next(wchar_t& character) {
        while (pending_.empty()) {
            if (typed_.empty()) {
                if (!fill()) return is_interrupted_ ? -1 : 0;
                continue;
            }
            const std::string_view typed = typed_;
            if (typed.starts_with(kPasteBegin)) {
                if (!take_paste()) return is_interrupted_ ? -1 : 0;
                continue;
            }
            // A lone escape is a key of its own; the rest of a paste's mark follows at once.
            if (typed.size() > 1 && kPasteBegin.starts_with(typed)) {
                if (!fill()) return is_interrupted_ ? -1 : 0;
                continue;
            }
            size_t length = 1;
            const auto first = static_cast<unsigned char>(typed[0]);
            if (first >= 0xc2 && first < 0xf5) length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
            if (typed.size() < length) {
                if (!fill()) return is_interrupted_ ? -1 : 0;
                continue;
            }
            pending_ = typed.substr(0, length);
            typed_.erase(0, length);
        }
        // One character of what is pending; a byte that is none is U+FFFD.
        mbstate_t state{};
        const size_t length = mbrtowc(&character, pending_.data(), pending_.size(), &state);
        if (length == 0 || length > pending_.size()) {
            character = pending_[0] == '\0' ? L' ' : wchar_t{0xfffd};
            pending_.erase(0, 1);
        } else {
            pending_.erase(0, length);
        }
        return 1;
    }

    std::string with_pastes(std::string text) const {
        for (const Paste& paste : pastes_)
            if (const size_t at = text.find(paste.name); at != std::string::npos)
                text.replace(at, paste.name.size(), paste.text);
        return text;
    }

    void load_history() {
        if (options_.history_file.empty()) return;
        const int fd = ::open(options_.history_file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0) return;
        struct stat file{};
        std::string text;
        if (fstat(fd, &file) == 0 && S_ISREG(file.st_mode)) {
            if (static_cast<size_t>(file.st_size) > kMostOfHistoryFile)
                lseek(fd, -static_cast<off_t>(kMostOfHistoryFile), SEEK_END);
            char bytes[65536];
            for (ssize_t count = 0; text.size() < kMostOfHistoryFile && (count = ::read(fd, bytes, sizeof bytes)) > 0;)
                text.append(bytes, static_cast<size_t>(count));
        }
        close(fd);
        std::deque<std::string> entries;
        size_t lines = 0;
        for (size_t at = 0; at < text.size(); ++lines) {
            const size_t end = std::min(text.find('\n', at), text.size());
            entries.push_back(unescaped_entry(std::string_view(text).substr(at, end - at)));
            if (entries.size() > kHistoryEntries) entries.pop_front();
            at = end + 1;
        }
        HistEvent event;
        for (const std::string& entry : entries)
            if (!entry.empty()) history(history_, &event, H_ENTER, entry.c_str());
        // Twice as long as what is kept of it: written anew.
        if (lines > 2 * size_t{kHistoryEntries}) rewrite_history(entries);
    }

    void rewrite_history(const std::deque<std::string>& entries) const {
        const std::string temporary = options_.history_file + fmt::format(".{}", getpid());
        FILE* file = fopen(temporary.c_str(), "wx");
        if (file == nullptr) return;
        fchmod(fileno(file), 0600);
        for (const std::string& entry : entries) fmt::print(file, "{}\n", escaped_entry(entry));
        const bool is_whole = ferror(file) == 0;
        if (fclose(file) != 0 || !is_whole || rename(temporary.c_str(), options_.history_file.c_str()) != 0)
            unlink(temporary.c_str());
    }

    // Appended at once: a process that is killed, and two at a time, lose none. Failures lose no more than history.
    void remember(const std::string& text) {
        if (text.find_first_not_of(" \n") == std::string::npos) return;
        HistEvent event;
        history(history_, &event, H_ENTER, text.c_str());
        if (options_.history_file.empty()) return;
        const int fd =
            ::open(options_.history_file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600);
        if (fd < 0) return;
        struct stat file{};
        const std::string line = escaped_entry(text) + "\n";
        if (fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && ::write(fd, line.data(), line.size()) < 0) errno = 0;
        close(fd);
    }

    struct Paste {
        std::string name, text;
    };
    LineEditorOptions options_;
    FILE *in_ = nullptr, *out_ = nullptr;
    EditLine* edit_ = nullptr;
    History* history_ = nullptr;
    std::string prompt_;
    std::string typed_;    // bytes of the terminal
    std::string pending_;  // characters that the editor gets next
    std::vector<Paste> pastes_;
    bool is_interrupted_ = false, has_ended_ = false;
    bool is_untouched_ = true;  // nothing was typed into this line
};

class Module final : public LineEditorModule {
public:
    Result<std::unique_ptr<LineEditor>> open(LineEditorOptions options) const override {
        auto editor = std::make_unique<Editor>(std::move(options));
        RIFTJIT_TRY_VOID(editor->open());
        return editor;
    }
};

}  // namespace
}  // namespace riftjit

extern "C" __attribute__((visibility("default"))) const void* riftjit_module(const char* interface,
                                                                             riftjit::InternalErrorHandler handler) {
    static const riftjit::Module module;
    if (std::string_view(interface) != RIFTJIT_MODULE_INTERFACE) return nullptr;
    riftjit::set_internal_error_handler(handler);
    return static_cast<const riftjit::LineEditorModule*>(&module);
}
