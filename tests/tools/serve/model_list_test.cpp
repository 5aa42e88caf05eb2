// Models of folders and preset files: names, flags, and what is wrong with a file.
#include "tools/serve/model_list.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace riftjit::tools {
namespace model_list_test {

namespace fs = std::filesystem;

class ModelList : public testing::Test {
protected:
    ModelList() {
        folder_ = testing::TempDir() + "riftjit-models-" + std::to_string(getpid());
        fs::create_directories(folder_);
    }
    ~ModelList() override { fs::remove_all(folder_); }

    void write(const std::string& name, const std::string& text) const {
        fs::create_directories(fs::path(folder_ + "/" + name).parent_path());
        std::ofstream(folder_ + "/" + name) << text;
    }
    std::vector<std::string> names(const Result<std::vector<server::PoolModel>>& models) const {
        std::vector<std::string> names;
        EXPECT_TRUE(models) << (models ? "" : models.error().message);
        if (models)
            for (const server::PoolModel& model : *models) names.push_back(model.name);
        return names;
    }
    std::string error_of(const std::string& preset) {
        write("models.ini", preset);
        ServeOptions options;
        options.models_preset = folder_ + "/models.ini";
        const auto models = list_models(options, reporter_);
        return models ? "" : models.error().message;
    }

    std::string folder_;
    Reporter reporter_{Verbosity::errors};
};

TEST_F(ModelList, FoldersGiveWhatCanBeLoaded) {
    for (const char* name : {"b.gguf", "a.gguf", "mmproj-a.gguf", "notes.txt", "big-00001-of-00002.gguf",
                             "big-00002-of-00002.gguf", "tiny/config.json", "inner/other.gguf", "empty/x.txt"})
        write(name, "123");
    ServeOptions options;
    options.models_folder = folder_;
    const auto models = list_models(options, reporter_);
    EXPECT_EQ(names(models), (std::vector<std::string>{"a", "b", "big", "inner", "tiny"}));
    EXPECT_EQ(models->front().bytes, 3u);
    options.models_folder += "/none";
    ASSERT_FALSE(list_models(options, reporter_));
}

TEST_F(ModelList, SectionsArePutOnTopOfTheCommandLine) {
    write("models.ini",
          "version = 1\n; nothing\n[*]\nctx-size = 512\n\n[one]\nmodel = a.gguf\nc = 256\ntemp=0\n"
          "load-on-startup = true\n[two/x:Q8]\n  model=b.gguf\nmetrics = off\njinja = on\n");
    ServeOptions options;
    options.models_preset = folder_ + "/models.ini";
    const auto models = list_models(options, reporter_);
    EXPECT_EQ(names(models), (std::vector<std::string>{"one", "two/x:Q8"}));
    EXPECT_TRUE(models->front().loads_at_start);
    EXPECT_FALSE(models->back().loads_at_start);
    EXPECT_NE(models->front().identity, models->back().identity);
    const auto opened = models->front().open();
    ASSERT_FALSE(opened);
    EXPECT_NE(opened.error().message.find("a.gguf"), std::string::npos) << opened.error().message;
}

TEST_F(ModelList, WhatIsWrongIsNamedWithItsSection) {
    EXPECT_NE(error_of("[one]\nmodel = a.gguf\ncolour = red\n").find("[one]: \"colour\" is no flag"),
              std::string::npos);
    EXPECT_NE(error_of("[one]\nc = 5\n").find("[one]: which model?"), std::string::npos);
    EXPECT_NE(error_of("[one]\nmodel = a\n[one]\n").find("models.ini:3: a second section [one]"), std::string::npos);
    EXPECT_NE(error_of("[one\n").find("models.ini:1: expected [name]"), std::string::npos);
    EXPECT_NE(error_of("[one]\nmodel\n").find("models.ini:2: expected key = value"), std::string::npos);
    EXPECT_NE(error_of("[one]\nmodel = a\nc = many\n").find("[one]"), std::string::npos);
    EXPECT_NE(error_of("[one]\nmodel = a\nmetrics = maybe\n").find("expected true or false"), std::string::npos);
    EXPECT_NE(error_of("[one]\nhf-repo = a/b\n").find("models are files"), std::string::npos);
    // Before a model is loaded: there is no file "a".
    const std::string drafting = "[one]\nmodel = a\nspec-type = ngram-simple\nspec-ngram-simple-size-m = 2\n";
    EXPECT_NE(error_of(drafting + "spec-synth-rates = 0.5,0.6\n").find("--spec-synth-rates 0.5,0.6: 0.6 is more"),
              std::string::npos);
    EXPECT_NE(error_of("[one]\nmodel = a\nspec-synth-len = 2\n").find("nothing guesses"), std::string::npos);
    EXPECT_EQ(error_of(drafting + "spec-synth-rates = 0.5,0.4\n"), "");
    EXPECT_EQ(error_of(""), "");
}

}  // namespace model_list_test
}  // namespace riftjit::tools
