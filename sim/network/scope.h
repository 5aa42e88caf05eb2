// Names and what they stand for in the expressions of a network file: constants, evaluated when first used, and the
// local names of a projection's or input's tables.
#pragma once

#include <toml++/toml.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/equations/expression.h"
#include "sim/equations/units.h"

namespace riftjit::sim {

class Scope {
public:
    explicit Scope(Scope* outer = nullptr) : outer_(outer) {}

    // Replaces a name of this scope.
    void set(const std::string& name, Quantity value);
    // [constants]; they may use each other in any order.
    Result<void> define(const toml::table& constants);
    // All of them are evaluated, so that one that nobody uses is right too.
    Result<void> evaluate_all();

    // An expression, or a plain number: "4 * J", 0.5. Units are names where nothing else is: "8 Hz * K". Errors name
    // the place in the file.
    Result<Quantity> quantity(const toml::node& node);

    std::vector<std::string> unused() const;  // of this scope, by name
    bool is_used(std::string_view name) const;
    bool has(std::string_view name) const { return names_.contains(name) || (outer_ != nullptr && outer_->has(name)); }

private:
    struct Name {
        std::optional<Quantity> value;
        const toml::node* node = nullptr;
        bool is_evaluating = false, is_used = false;
    };

    Result<Quantity> value_of(Name& name);
    Result<Quantity> evaluate(const Expression& expression, const SourceText& source);  // counts how deep it is
    Result<Quantity> value_of(const Expression& expression, const SourceText& source);
    Result<Quantity> lookup(const Expression& expression, const SourceText& source);
    Result<Quantity> call(const Expression& expression, const SourceText& source);
    std::vector<std::string> names() const;  // outer ones too

    Scope* outer_;
    uint32_t depth_ = 0;        // of evaluate() in itself
    uint32_t names_depth_ = 0;  // of names whose values are being found
    std::map<std::string, Name, std::less<>> names_;
};

}  // namespace riftjit::sim
