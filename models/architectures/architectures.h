// Every architecture, one per file beside this one, for the table in models/model.cpp.
#pragma once

#include "models/model.h"

namespace riftjit::models {

extern const Architecture kLlama;
extern const Architecture kQwen2;
extern const Architecture kQwen3;
extern const Architecture kGemma;
extern const Architecture kGemma2;
extern const Architecture kGemma3;
extern const Architecture kPhi3;
extern const Architecture kArcee;
extern const Architecture kSeedOss;
extern const Architecture kInternlm2;
extern const Architecture kXverse;
extern const Architecture kExaone;
extern const Architecture kErnie45;
extern const Architecture kSmollm3;
extern const Architecture kGranite;
extern const Architecture kMinicpm;
extern const Architecture kOlmo2;
extern const Architecture kGlm4;
extern const Architecture kExaone4;
extern const Architecture kHunyuanDense;
extern const Architecture kCommandR;
extern const Architecture kCohere2;
extern const Architecture kPhi2;
extern const Architecture kFalcon;
extern const Architecture kGptneox;
extern const Architecture kStablelm;
extern const Architecture kStarcoder2;
extern const Architecture kNemotron;
extern const Architecture kOrion;
extern const Architecture kMistral3;
extern const Architecture kBloom;
extern const Architecture kMpt;
extern const Architecture kGpt2;
extern const Architecture kStarcoder;
extern const Architecture kQwen3moe;
extern const Architecture kQwen2moe;
extern const Architecture kOlmoe;
extern const Architecture kGptOss;
extern const Architecture kGlm4moe;
extern const Architecture kMinimaxM2;
extern const Architecture kDots1;
extern const Architecture kErnie45Moe;
extern const Architecture kHunyuanMoe;
extern const Architecture kDeepseek;
extern const Architecture kBailingmoe;
extern const Architecture kBailingmoe2;
extern const Architecture kGraniteMoe;
extern const Architecture kDeepseek2;
extern const Architecture kOlmo;
extern const Architecture kApertus;
extern const Architecture kLfm2;
extern const Architecture kMamba;
extern const Architecture kMamba2;
extern const Architecture kGraniteHybrid;
extern const Architecture kFalconH1;
extern const Architecture kNemotronH;
extern const Architecture kJamba;
extern const Architecture kQwen35;
extern const Architecture kQwen35Moe;
extern const Architecture kQwen3Next;
extern const Architecture kLfm2Moe;
extern const Architecture kBert;
extern const Architecture kNomicBert;
extern const Architecture kNomicBertMoe;
extern const Architecture kJinaBertV2;
extern const Architecture kJinaBertV3;
extern const Architecture kModernBert;

}  // namespace riftjit::models
