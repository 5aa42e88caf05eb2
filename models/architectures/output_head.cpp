#include "models/architectures/output_head.h"

#include "models/gguf/gguf_text.h"

namespace riftjit::models {

using graph::TensorId;

namespace {

Result<TensorId> add_logits(const BlockParts& parts, TensorId x, TensorId table) {
    const Hyperparameters& hyper = parts.hyper();
    TensorId weight = table;
    if (!hyper.tied_output) {
        RIFTJIT_TRY(untied, parts.weights.matrix("output.weight", hyper.vocabulary, hyper.width));
        weight = untied;
    }
    RIFTJIT_TRY(bias, parts.weights.optional_vector("output.bias", hyper.vocabulary));
    RIFTJIT_TRY(projected, parts.project("output", x, weight, bias));
    TensorId logits = projected;
    if (hyper.logit_scale != 1) {
        RIFTJIT_TRY(scaled, parts.graph.scale("output.scaled", logits, hyper.logit_scale));
        logits = scaled;
    }
    if (hyper.logit_softcap == 0) return logits;
    return parts.graph.softcap("output.capped", logits, hyper.logit_softcap);
}

// What a text's vector is multiplied by, of files that have it. It is multiplied here, row by row: means of products
// are products of means.
Result<TensorId> add_rows(const BlockParts& parts, TensorId x) {
    for (const char* name : {"dense_2", "dense_3"}) {
        const uint32_t rows = parts.weights.rows_of(fmt::format("{}.weight", name));
        if (rows == 0) continue;
        RIFTJIT_TRY(weight, parts.weights.matrix(fmt::format("{}.weight", name), rows, parts.graph.tensor(x).width));
        RIFTJIT_TRY(bias, parts.weights.optional_vector(fmt::format("{}.bias", name), rows));
        RIFTJIT_TRY(product, parts.project(name, x, weight, bias));
        x = product;
    }
    return x;
}

// As transformers' classifiers of BERT and its successors have it: a dense layer with tanh, and a projection.
Result<TensorId> add_ranks(const BlockParts& parts, TensorId x) {
    const bool has_dense = parts.weights.has("cls.weight"), has_output = parts.weights.has("cls.output.weight");
    if (!has_dense && !has_output)
        return fail(ErrorKind::Unsupported,
                    "{}: no classifier to rank by: neither 'cls.weight' nor 'cls.output.weight'",
                    printable_path(parts.model.file.path()));
    TensorId scores = x;
    if (has_dense) {
        RIFTJIT_TRY(dense, parts.project("cls", scores, parts.weights.rows_of("cls.weight")));
        RIFTJIT_TRY(bent, parts.graph.softcap("cls.tanh", dense, 1.0f));
        scores = bent;
    }
    if (!has_output) return scores;
    return parts.project("cls.output", scores, parts.weights.rows_of("cls.output.weight"));
}

}  // namespace

Result<TensorId> add_output_head(const BlockParts& parts, TensorId x, TensorId table) {
    switch (parts.model.output) {
        case GraphOutput::logits:
            return add_logits(parts, x, table);
        case GraphOutput::rows:
            return add_rows(parts, x);
        case GraphOutput::ranks:
            return add_ranks(parts, x);
    }
    check_failed("an output is one of three", std::source_location::current());
}

}  // namespace riftjit::models
