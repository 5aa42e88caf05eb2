// Tables of a network file, read key by key, so that a key nobody asked for is an error that names it.
#pragma once

#include <toml++/toml.h>

#include <string>
#include <string_view>
#include <vector>

#include "sim/equations/source_text.h"

namespace riftjit::sim {

// Errors of syntax as Result; `file` stands in every later message too. Refuses keys of more than kMostKeyParts parts,
// and more keys and values than fit into a quarter of a gigabyte each once they are parsed: they take a hundred times
// their text.
inline constexpr size_t kMostKeyParts = 32;   // "a.b.c" has three
inline constexpr size_t kMostKeys = 1 << 19;  // and three here
inline constexpr size_t kMostValues = 1 << 21;
Result<toml::table> parse_toml(std::string_view text, const std::string& file);

// Where a node or key stands. The text of a string or number, else empty.
SourceText source_of(const toml::node& node);
SourceText source_of(const toml::key& key);

template <class... Args>
[[nodiscard]] std::unexpected<Error> fail_in(const toml::node& node, fmt::format_string<Args...> format,
                                             Args&&... args) {
    return fail_at(source_of(node), 0, format, std::forward<Args>(args)...);
}

// "a table", "a string", "true or false": what a node is, for messages.
std::string_view kind_text(const toml::node& node);

class TableReader {
public:
    // `title` says which table this is in messages: "[population.E]".
    TableReader(const toml::table& table, std::string title) : table_(&table), title_(std::move(title)) {}

    const std::string& title() const { return title_; }
    const toml::table& table() const { return *table_; }
    // Null where absent. What was asked for is a key that the table may have.
    const toml::node* find(std::string_view key);
    Result<const toml::node*> need(std::string_view key);  // "[population.E] has no 'size'"
    // What need() does where one of `keys` is missing: a key that is nearly one of them is named in its place.
    std::unexpected<Error> missing(const std::vector<std::string>& keys, std::string_view message) const;

    Result<std::string> need_string(std::string_view key);
    Result<std::string> string_or(std::string_view key, std::string_view otherwise);
    // A name, as it stands in messages, tables and files: one line without control characters.
    Result<std::string> name_or(std::string_view key, std::string_view otherwise);
    Result<bool> flag_or(std::string_view key, bool otherwise);
    // One string or a list of them.
    Result<std::vector<std::string>> need_strings(std::string_view key);

    // Once all is read: refuses the first key that was not asked for.
    Result<void> finish() const;

private:
    bool is_known(std::string_view key) const;

    const toml::table* table_;
    std::string title_;
    std::vector<std::string> known_;
};

// "; did you mean 'near'?", or where nothing is near "; there are a, b" if they are few.
std::string near_or_all(std::string_view name, const std::vector<std::string>& known);

// "" where the text can be a name.
std::string name_fault(std::string_view name);

Result<std::string> string_of(const toml::node& node, std::string_view what);
Result<std::vector<std::string>> strings_of(const toml::node& node, std::string_view what);
Result<const toml::table*> table_of(const toml::node& node, std::string_view what);

}  // namespace riftjit::sim
