#include "engine/grammar/grammar.h"

#include "engine/grammar/automaton.h"

namespace riftjit::engine {

Grammar::Grammar(Automaton automaton, std::vector<std::string> warnings)
    : automaton_(std::make_unique<const Automaton>(std::move(automaton))), warnings_(std::move(warnings)) {}
Grammar::~Grammar() = default;

}  // namespace riftjit::engine
