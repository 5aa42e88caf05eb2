// Logits of llama.cpp: peer_logits MODEL OUT GREEDY ID... writes the logits of each row of the prompt, f32, and then
// for each greedy token its id (i32) and the distance to the second best logit (f32). Links with libllama alone; keys
// and values are f32.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <vector>

#include "llama.h"

int main(int count, char** words) {
    if (count < 5) return 2;
    llama_log_set(
        [](ggml_log_level level, const char* text, void*) {
            if (level >= GGML_LOG_LEVEL_ERROR) fputs(text, stderr);
        },
        nullptr);
    llama_backend_init();
    llama_model_params model_params = llama_model_default_params();
    llama_model* model = llama_model_load_from_file(words[1], model_params);
    if (model == nullptr) return 1;
    llama_context_params params = llama_context_default_params();
    params.n_ctx = 256, params.n_batch = params.n_ubatch = 256, params.n_threads = params.n_threads_batch = 1;
    params.type_k = params.type_v = GGML_TYPE_F32;
    params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
    params.swa_full = true;
    llama_context* context = llama_init_from_model(model, params);
    if (context == nullptr) return 1;
    std::vector<llama_token> prompt;
    for (int i = 4; i < count; ++i) prompt.push_back(atoi(words[i]));
    const int vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(model));
    llama_batch batch = llama_batch_init(256, 0, 1);
    int position = 0;
    const auto decode = [&](const std::vector<llama_token>& tokens) {
        batch.n_tokens = int(tokens.size());
        for (int i = 0; i < batch.n_tokens; ++i) {
            batch.token[i] = tokens[i], batch.pos[i] = position++, batch.n_seq_id[i] = 1, batch.seq_id[i][0] = 0;
            batch.logits[i] = 1;
        }
        if (llama_decode(context, batch) != 0) exit(1);
    };
    std::ofstream out(words[2], std::ios::binary);
    decode(prompt);
    for (size_t i = 0; i < prompt.size(); ++i)
        out.write(reinterpret_cast<const char*>(llama_get_logits_ith(context, int(i))), vocabulary * 4);
    int last = int(prompt.size()) - 1;
    for (int i = 0; i < atoi(words[3]); ++i) {
        const float* row = llama_get_logits_ith(context, last);
        std::vector<int> order(vocabulary);
        std::iota(order.begin(), order.end(), 0);
        std::partial_sort(order.begin(), order.begin() + 2, order.end(), [&](int a, int b) { return row[a] > row[b]; });
        const float gap = row[order[0]] - row[order[1]];
        out.write(reinterpret_cast<const char*>(&order[0]), 4);
        out.write(reinterpret_cast<const char*>(&gap), 4);
        decode({order[0]});
        last = 0;
    }
}
