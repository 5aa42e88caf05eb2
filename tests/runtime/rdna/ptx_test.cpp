// The translation of gfx10.3 kernels to PTX (tests/hip_stand_in/ptx): each kernel of each model that GPUs run has one,
// which ptxas takes. That it computes the same takes an NVIDIA GPU (hip_stand_in_cuda).
#include "tests/hip_stand_in/ptx/ptx.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <map>

#include "jit/rdna/assembly/assembly_file.h"
#include "jit/rdna/object/code_object.h"
#include "runtime/rdna/rdna_device.h"
#include "tests/runtime/golden_run.h"

namespace riftjit::runtime {
namespace ptx_test {

using Texts = std::map<std::string, std::string>;  // PTX by kernel

// Computes nothing and translates what it is given.
class Translator final : public Accelerator {
public:
    explicit Translator(Texts& texts) : texts_(texts) {}

    rdna::Target chip() const override { return rdna::Target::gfx1030; }
    std::string name() const override { return "ptx"; }
    Result<Memory> memory() const override { return Memory{}; }
    Result<uint64_t> allocate(uint64_t bytes, std::string_view) override {
        const uint64_t address = next_;
        next_ += (bytes + 255) / 256 * 256;
        return address;
    }
    Result<void> write(uint64_t, std::span<const std::byte>) override { return {}; }
    Result<void> read(std::span<std::byte>, uint64_t) override { return {}; }
    Result<void> copy(uint64_t, uint64_t, uint64_t) override { return {}; }
    Result<Kernel> load(const CodeObject& object) override {
        RIFTJIT_TRY(loaded, rdna::load_code_object(object.elf, chip()));
        RIFTJIT_TRY(text, hip_stand_in::ptx_of(loaded, loaded.kernels.at(0)));
        texts_.insert_or_assign(object.name, std::move(text));
        return 0;
    }
    Result<void> launch(Kernel, uint32_t, uint32_t, std::span<const std::byte>) override { return {}; }
    Result<void> wait() override { return {}; }
    Result<void> mark() override { return {}; }
    Result<std::vector<double>> seconds_between_marks() override { return std::vector<double>{}; }

private:
    Texts& texts_;
    uint64_t next_ = 256;
};

// Of a prompt's tiles and of single rows, each with its cache.
void translate(const std::string& file, DType kv_type, Texts& texts) {
    TestModel model(file, Isa::avx2, "");
    KernelCache cache(compile_rdna, DiskCache::disabled());
    auto device = std::make_unique<RdnaDevice>(std::make_unique<Translator>(texts), cache);
    const auto session = Session::create(model.graph(), {128, 64, kv_type, kv_type, "all", 64}, std::move(device), {});
    EXPECT_TRUE(session) << file << ": " << session.error().message;
}

const Texts& texts_of_all_models() {
    static const Texts kTexts = [] {
        Texts texts;
        for (const GoldenCase& golden : golden_cases())
            if (golden.name.starts_with("nano-") || golden.name.ends_with(".fox"))
                translate(golden.model, DType::F16, texts);
        for (const DType kv_type : {DType::F32, DType::Q8_0})
            translate("tests/data/nano/nano-q8_0.gguf", kv_type, texts);
        return texts;
    }();
    return kTexts;
}

TEST(Ptx, EveryKernelOfTheModelsHasATranslation) { EXPECT_GT(texts_of_all_models().size(), 200u); }

TEST(Ptx, IsWhatPtxasTakes) {
    const char* ptxas = std::getenv("RIFTJIT_PTXAS");
    if (ptxas == nullptr) GTEST_SKIP() << "RIFTJIT_PTXAS names no ptxas";
    const auto folder = std::filesystem::path(testing::TempDir()) / fmt::format("riftjit-ptx-{}", getpid());
    std::filesystem::create_directories(folder);
    for (const auto& [name, text] : texts_of_all_models()) {
        const std::string file = folder / "kernel.ptx";
        std::ofstream(file) << text;
        const std::string command = fmt::format("'{}' -arch=sm_90 -O1 -o /dev/null '{}'", ptxas, file);
        EXPECT_EQ(std::system(command.c_str()), 0) << name;
    }
    std::filesystem::remove_all(folder);
}

Result<std::string> ptx_of_assembly(rdna::Target target, const std::string& instructions) {
    RIFTJIT_TRY(file, rdna::assemble(".globl k\nk:\n" + instructions + "\ns_endpgm\n", "k.s", target));
    RIFTJIT_TRY(codes, rdna::kernel_codes(file));
    RIFTJIT_TRY(elf, rdna::write_code_object(target, file.version, codes));
    RIFTJIT_TRY(loaded, rdna::load_code_object(elf));
    return hip_stand_in::ptx_of(loaded, loaded.kernels.at(0));
}

TEST(Ptx, WhatHasNoTranslationIsNamed) {
    const auto refusal = [](rdna::Target target, const std::string& instructions) {
        const auto text = ptx_of_assembly(target, instructions);
        return text ? "none" : text.error().message;
    };
    EXPECT_EQ(refusal(rdna::Target::gfx1030, "v_add_f32 v0, v1, v2"), "none");
    EXPECT_THAT(refusal(rdna::Target::gfx1030, "v_exp_f32 v0, v1"),
                testing::HasSubstr("k: no PTX for v_exp_f32_e32 v0, v1"));
    EXPECT_THAT(refusal(rdna::Target::gfx1030, "v_add_f32 v0, v1, v2 clamp"), testing::HasSubstr("clamp"));
    EXPECT_THAT(refusal(rdna::Target::gfx1030, "v_add_f32 v0, v1, v2 row_ror:1 bound_ctrl:0"),
                testing::HasSubstr("row_ror"));
    EXPECT_THAT(refusal(rdna::Target::gfx1100, ""), testing::HasSubstr("not of gfx10"));
}

}  // namespace ptx_test
}  // namespace riftjit::runtime
