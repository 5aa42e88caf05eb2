// `riftjit inspect`: what a model file holds, after every check that running it would make.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>

#include "tools/cli/command.h"

namespace riftjit::tools {

enum class InspectOutput : uint8_t { text, json };
enum class InspectDepth : uint8_t { file, model };       // file: as stored, whatever the architecture
enum class InspectSubject : uint8_t { file, program };   // program: what it can open (--supported)
enum class TensorData : uint8_t { untouched, checked };  // checked: every byte is read (--check-tensors)

struct InspectOptions {
    std::filesystem::path model;  // empty: the model that ships with the project
    InspectSubject subject = InspectSubject::file;
    InspectOutput output = InspectOutput::text;
    InspectDepth depth = InspectDepth::model;
    TensorData tensor_data = TensorData::untouched;
};

// Returns the exit code. Prints nothing on stdout when the file is refused.
int inspect(const InspectOptions& options);

void add_inspect_command(CLI::App& app, Command& chosen);

}  // namespace riftjit::tools
