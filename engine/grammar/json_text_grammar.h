// Pieces of JSON as expressions: strings whose values match a pattern, numbers between bounds, formats.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/grammar/builder.h"

namespace riftjit::engine {

// A document that the schema finds valid (Grammar::from_json_schema), as a part of something longer. Adds to
// `warnings`.
Result<GrammarBuilder::Expression> json_document(GrammarBuilder& builder, const nlohmann::ordered_json& schema,
                                                 std::vector<std::string>& warnings);

// How a string spells any of these characters: as they are, or escaped where JSON wants that.
GrammarBuilder::Expression json_characters(GrammarBuilder& builder, std::vector<CharacterRange> ranges);

// What stands between the quotation marks of a string that the regular expression (ECMA-262) finds a match in. Fails,
// saying which, on what is no regular language or not implemented. Classes that depend on Unicode's tables in some
// engines hold what all of them agree on.
Result<GrammarBuilder::Expression> json_pattern(GrammarBuilder& builder, std::string_view pattern);

// Between the quotation marks; nullopt: a format that is not known.
std::optional<GrammarBuilder::Expression> json_format(GrammarBuilder& builder, std::string_view format);

// A number without exponent, as digits.
struct NumberBound {
    bool is_negative = false;
    std::string whole, fraction;  // without needless zeros: "0" and "", "10" and "25"
    bool is_exclusive = false;
};
// Numbers between them with up to 16 digits before and behind the point; integers: without one.
GrammarBuilder::Expression json_number(GrammarBuilder& builder, const std::optional<NumberBound>& least,
                                       const std::optional<NumberBound>& most, bool is_integer);

}  // namespace riftjit::engine
