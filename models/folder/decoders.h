// What families of decoders share of their configurations.
#pragma once

#include <vector>

#include "models/folder/families.h"

namespace riftjit::models::folder {

Result<void> require_silu(const Keys& keys);
Result<void> refuse_rope_scaling(const Keys& keys);
// How many of a head's elements rotate, where the configuration does not say: a share of them.
Result<uint32_t> rotary_dims(const Keys& keys, double usual);
// One flag per layer; empty where the configuration has no layer_types.
Result<std::vector<uint8_t>> windowed_layers(const Keys& keys);
// Of families whose files do not say which layers see a window: it is all but every `period`-th.
Result<void> set_unusual_windows(Keys& keys, size_t period);

Result<void> set_llama(Keys& keys);    // sizes, rotation, windows of Mistral
Result<void> set_plain(Keys& keys);    // what transformers' decoders share, with SiLU
Result<void> set_qwen(Keys& keys);     // the same with Qwen's windows, which readers refuse where they hide anything
Result<void> set_granite(Keys& keys);  // llama's with four factors
Result<void> set_gemma3(Keys& keys);

}  // namespace riftjit::models::folder
