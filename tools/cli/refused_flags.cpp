#include "tools/cli/refused_flags.h"

#include <algorithm>
#include <array>

namespace riftjit::tools {

namespace {

struct Group {
    std::string_view why;
    std::string_view flags;          // separated by spaces
    std::string_view commands = {};  // that take them
};

constexpr auto kGroups = std::to_array<Group>({
    {"is not implemented in this build: drafts come from a model that runs as the main one does (-md) or from the text",
     "--spec-default --spec-draft-p-split --draft-p-split --spec-draft-ngl -ngld --gpu-layers-draft "
     "--n-gpu-layers-draft --spec-draft-device -devd --device-draft --spec-draft-type-k -ctkd --cache-type-k-draft "
     "--spec-draft-type-v -ctvd --cache-type-v-draft --spec-draft-threads -td --threads-draft "
     "--spec-draft-threads-batch -tbd --threads-batch-draft --spec-draft-hf -hfd -hfrd --hf-repo-draft "
     "--spec-draft-override-tensor -otd --override-tensor-draft --spec-draft-cpu-moe -cmoed --cpu-moe-draft "
     "--spec-draft-n-cpu-moe --spec-draft-ncmoe -ncmoed --n-cpu-moe-draft --spec-draft-cpu-mask -Cd --cpu-mask-draft "
     "--spec-draft-cpu-range -Crd --cpu-range-draft --spec-draft-cpu-strict --cpu-strict-draft --spec-draft-prio "
     "--prio-draft --spec-draft-poll --poll-draft --spec-ngram-mod-n-min --spec-ngram-mod-n-max "
     "--spec-ngram-mod-n-match --spec-ngram-simple-min-hits "
     "--spec-ngram-map-k-size-n --spec-ngram-map-k-size-m --spec-ngram-map-k-min-hits --spec-ngram-map-k4v-size-n "
     "--spec-ngram-map-k4v-size-m --spec-ngram-map-k4v-min-hits --spec-ngram-size-n --spec-ngram-size-m "
     "--spec-ngram-min-hits --spec-draft-backend-sampling -lcs "
     "--lookup-cache-static -lcd --lookup-cache-dynamic --mtp --dflash --eagle3"},
    {"has been removed; llama.cpp's name is --spec-draft-n-max", "--draft --draft-n --draft-max"},
    {"has been removed; llama.cpp's name is --spec-draft-n-min", "--draft-min --draft-n-min"},
    {"has been removed; the cache is defragmented by nothing and needs no threshold", "-dt --defrag-thold"},
    {"is not implemented in this build: no control vectors, and no adapters that are switched while a model runs",
     "--lora-init-without-apply --control-vector --control-vector-scaled --control-vector-layer-range"},
    {"is not implemented in this build: no images, audio or video",
     "-mm --mmproj -mmu --mmproj-url --mmproj-auto --no-mmproj --no-mmproj-auto --mmproj-offload --no-mmproj-offload "
     "--image --audio --video --image-min-tokens --image-max-tokens --mtmd-batch-max-tokens --video-fps "
     "--video-timestamp-interval --video-ffmpeg-dir"},
    {"is not implemented in this build: the model's own rope settings are used",
     "--rope-scaling --rope-scale --rope-freq-base --rope-freq-scale --yarn-orig-ctx --yarn-ext-factor "
     "--yarn-attn-factor --yarn-beta-slow --yarn-beta-fast -gan --grp-attn-n -gaw --grp-attn-w"},
    {"is not implemented in this build: generation stops when the context is full, with reason length; `riftjit serve` "
     "shifts",
     "--context-shift --keep", "serve"},
    {"is not implemented in this build: threads are placed by the operating system (taskset and numactl work)",
     "-C --cpu-mask -Cr --cpu-range --cpu-strict --prio --poll -Cb --cpu-mask-batch -Crb --cpu-range-batch "
     "--cpu-strict-batch --prio-batch --poll-batch --numa"},
    {"is not implemented in this build: a conversation reads one line for each turn, -sys sets the system message",
     "-i --interactive -if --interactive-first -mli --multiline-input --in-prefix --in-prefix-bos --in-suffix "
     "--simple-io -co --color"},
    {"is not implemented in this build",
     "--override-kv -lzm --lazy-mode --spm-infill --warmup -ptc "
     "--print-token-count --reasoning-budget-message --reasoning-preserve "
     "--no-reasoning-preserve --no-jinja --no-skip-chat-parsing -bs "
     "--verify-kernels"},
    {"is not implemented in this build", "--swa-full --backend-sampling --no-backend-sampling", "serve"},
    {"is not implemented in this build: messages go to stderr as plain lines; redirect it",
     "--log-file --log-jsonl --log-prompts-dir --log-colors --log-prefix --log-timestamps"},
    {"means a choice that does not exist here: weights are always repacked at load", "-nr --no-repack"},
    {"does not exist here: models are files; download first, then use -m",
     "-hf -hfr --hf-repo -hff --hf-file -hft --hf-token -mu --model-url -dr --docker-repo --offline -cl --cache-list"},
    {"belongs to `riftjit serve`",
     "--host --port --api-prefix --api-key --api-key-file -np --parallel -cb --cont-batching --metrics --props "
     "--slots --no-slots -to --timeout --threads-http --cache-prompt --no-cache-prompt -kvu --kv-unified -no-kvu "
     "--no-kv-unified --slot-save-path -cram --cache-ram -ctxcp --ctx-checkpoints -cms "
     "--checkpoint-min-step --cache-reuse -sps --slot-prompt-similarity --cache-idle-slots --no-cache-idle-slots "
     "--most-predict --models-dir --models-preset --models-max "
     "--models-memory --models-delay --spec-synth-len --spec-synth-rates --models-autoload --no-models-autoload "
     "--sleep-idle-seconds -a --alias --tags --ui --webui --no-ui --no-webui --tools -ag --agent -no-ag --no-agent "
     "--mcp-servers-config --mcp-servers-json --ui-mcp-proxy --webui-mcp-proxy --no-ui-mcp-proxy "
     "--no-webui-mcp-proxy --cors-origins --sse-ping-interval --embedding --embeddings --rerank --reranking",
     "serve"},
    {"belongs to `riftjit embed` and `riftjit serve`", "--pooling --embd-normalize", "embed serve"},
    {"belongs to `riftjit embed`", "--embd-output-format --embd-separator --cls-separator", "embed"},
    {"is not implemented in this build: tools run on the machine of the server, as its user", "--tools-runtime"},
    {"is not implemented in this build: the server speaks plain HTTP",
     "--path --ssl-key-file --ssl-cert-file -nocb --no-cont-batching --server-base "
     "--media-path --prefill-assistant --no-prefill-assistant "
     "--rpc"},
    {"is llama.cpp's; here it is `riftjit completion bash`", "--completion-bash"},
    {"does not exist here: --device hip runs on a GPU or not at all, in waves of 32 lanes", "--require-gpu --wave"},
});

bool contains_word(std::string_view words, std::string_view word) {
    for (size_t at = words.find(word); at != std::string_view::npos; at = words.find(word, at + 1)) {
        const size_t end = at + word.size();
        if ((at == 0 || words[at - 1] == ' ') && (end == words.size() || words[end] == ' ')) return true;
    }
    return false;
}

}  // namespace

std::optional<std::string_view> refusal_of(std::string_view flag, std::string_view command) {
    const auto found = std::find_if(kGroups.begin(), kGroups.end(),
                                    [flag](const Group& group) { return contains_word(group.flags, flag); });
    if (found == kGroups.end() || (!command.empty() && contains_word(found->commands, command))) return std::nullopt;
    return found->why;
}

}  // namespace riftjit::tools
