// Models after their check: every name resolved, every unit right.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/equations/check.h"
#include "sim/equations/expression.h"
#include "sim/equations/model.h"

namespace riftjit::sim {

struct CheckedState {
    std::string name;
    Unit unit;
    ExpressionPtr derivative;  // null: changes at events alone
    ExpressionPtr initial;     // null: 0
    bool stops_while_refractory;
};
// What neurons and synapses have in common.
struct CheckedVariables {
    std::string name, description;
    std::vector<Variable> parameters;
    std::vector<CheckedState> states;
    std::map<std::string, ExpressionPtr> subexpressions;
    std::vector<Variable> state_variables, derived;  // for the model's readers
    NamedUnits scope;                                // all of them
};
struct CheckedReceptor {
    std::string name;
    std::vector<Statement> statements;  // of "w"
};

struct NeuronModel::Checked : CheckedVariables {
    std::vector<Variable> receptor_variables;
    std::vector<CheckedReceptor> receptors;
    ExpressionPtr threshold, refractory;  // null where there is none
    std::vector<Statement> reset, update;
    Method method;
};

struct SynapseModel::Checked : CheckedVariables {
    std::vector<Statement> on_pre, on_post;
};

// Draws of rand() and randn() are told apart by where they stand.
enum class DrawBlock : uint32_t { equations = 0, threshold = 4096, reset = 8192, update = 12288, initial = 16384 };
inline constexpr uint32_t kDrawsPerInitial = 64;  // of each state's initial value

struct VariableTexts {
    const std::string &name, &description;
    const SourceText& equations;
    const std::vector<NamedText>&parameters, &initial;
};
// Parses and checks the variables; `reserved`: names that mean something else in this kind of model.
Result<CheckedVariables> check_variables(const VariableTexts& texts, const std::vector<std::string>& reserved);

// 1 or -1 as the expression has it where all states and 'w' are above 0; 0 where it is 0.
int sign_of(const Expression& expression, const CheckedVariables& variables,
            const std::map<std::string, double>& constants);

void collect_names(const Expression& expression, std::set<std::string>& names);

// Sets the initial values of some states.
Result<void> set_initial(CheckedVariables& variables, const std::vector<NamedText>& texts);

// A parameter that is set is one of the model's, with a value of its domain.
Result<void> check_constants(const CheckedVariables& variables, const std::map<std::string, double>& constants);

// `error`, of a model with these constants; where its reason is a constant that is not finite, with the parameter that
// is to blame: the one without which there is no error (`succeeds`).
using Lowers = std::function<bool(const std::map<std::string, double>& constants)>;
Error with_culprit(Error error, const CheckedVariables& variables, const std::map<std::string, double>& constants,
                   const Lowers& succeeds);

// Statements that assign to states, to other names of the scope that are no parameters, and to locals.
Result<void> check_statements(const SourceText& source, const std::vector<Statement>& statements,
                              const CheckedVariables& variables, NamedUnits scope);

}  // namespace riftjit::sim
