// Texts with a gap: what stands before and behind it, for models that were trained to fill it.
#include <algorithm>

#include "server/apis.h"

namespace riftjit::server {

namespace {

using FimIds = std::vector<int32_t>;

struct InfillAsked {
    std::string before, behind, prompt;
    struct Extra {
        std::string name, text;
    };
    std::vector<Extra> extra;  // other files
};

Outcome<InfillAsked> read_infill(Fields& fields) {
    InfillAsked asked;
    for (const auto& [name, target] : {std::pair{"input_prefix", &asked.before}, {"input_suffix", &asked.behind}}) {
        const auto text = fields.text(name);
        RIFTJIT_ASK_VOID(fields.check());
        if (!text) return refuse(400, "\"{}\" is required", name);
        *target = *text;
    }
    asked.prompt = fields.text("prompt").value_or("");
    if (const Json* extra = fields.array("input_extra")) {
        for (size_t i = 0; i < extra->size(); ++i) {
            if (!(*extra)[i].is_object()) return refuse(400, "\"input_extra[{}]\": expected an object", i);
            Fields chunk((*extra)[i], fmt::format("input_extra[{}].", i));
            const auto text = chunk.text("text");
            const std::string name = chunk.text("filename").value_or("tmp");
            RIFTJIT_ASK_VOID(chunk.check());
            if (!text) return refuse(400, "\"input_extra[{}].text\": is missing", i);
            asked.extra.push_back({name, *text});
        }
    }
    RIFTJIT_ASK_VOID(fields.check());
    return asked;
}

// Marks and texts as llama.cpp puts them together (Qwen2.5-Coder, arXiv:2409.12186): [repository] of
// [separator] name, text; [prefix] before [suffix] behind [middle]. Of what does not fit the beginning of what stands
// before and the end of what stands behind are left out, three to one, then other files from the first on.
class InfillPrompt {
public:
    InfillPrompt(const Service& service, uint64_t context, int64_t answer)
        : service_(service),
          context_(context),
          // As much as the answer may have stays free, up to half of the context.
          room_(context - std::min<uint64_t>(answer < 0 ? context / 4 : uint64_t(answer), context / 2)) {}

    Outcome<FimIds> make(const InfillAsked& asked) const {
        const auto marks = service_.tokenizer().fim();
        RIFTJIT_ASK(before, plain(asked.before));
        RIFTJIT_ASK(behind, plain(asked.behind));
        RIFTJIT_ASK(prompt, plain(asked.prompt));
        RIFTJIT_ASK(extra, others(asked));
        constexpr uint64_t kMarks = 4;
        const uint64_t room = room_ - std::min(room_, prompt.size() + kMarks);
        const size_t kept_behind =
            std::min<size_t>(behind.size(), std::max(room / 4, room - std::min<uint64_t>(room, before.size())));
        const size_t kept_before = std::min<size_t>(before.size(), room - kept_behind);
        const size_t kept_extra = std::min<size_t>(extra.size(), room - kept_behind - kept_before);
        FimIds ids(extra.end() - ptrdiff_t(kept_extra), extra.end());
        if (service_.tokenizer().adds_bos()) ids.push_back(*service_.tokenizer().bos());
        ids.push_back(*marks.prefix);
        ids.insert(ids.end(), before.end() - ptrdiff_t(kept_before), before.end());
        ids.insert(ids.end(), prompt.begin(), prompt.end());
        ids.push_back(*marks.suffix);
        ids.insert(ids.end(), behind.begin(), behind.begin() + ptrdiff_t(kept_behind));
        ids.push_back(*marks.middle);
        return ids;
    }

private:
    Outcome<FimIds> plain(const std::string& text) const { return service_.tokens_of(text, false, false); }

    Outcome<FimIds> others(const InfillAsked& asked) const {
        const auto marks = service_.tokenizer().fim();
        FimIds ids;
        const auto add = [&](std::optional<int32_t> mark, const std::string& text) -> Outcome<void> {
            if (mark) ids.push_back(*mark);
            RIFTJIT_ASK(found, plain(text));
            ids.insert(ids.end(), found.begin(), found.end());
            return {};
        };
        if (marks.repository) RIFTJIT_ASK_VOID(add(marks.repository, "myproject\n"));
        for (const auto& [name, text] : asked.extra) {
            RIFTJIT_ASK_VOID(add(marks.separator, marks.separator ? name + "\n" : "\n\n--- snippet ---\n\n"));
            RIFTJIT_ASK_VOID(add(std::nullopt, text));
        }
        if (marks.separator) RIFTJIT_ASK_VOID(add(marks.separator, "filename\n"));
        return ids;
    }

    const Service& service_;
    uint64_t context_, room_;
};

Outcome<HttpReply> fill_gap(const Service& service, const HttpRequest& request) {
    RIFTJIT_ASK(body, parse_body(request.body));
    Fields fields(body);
    RIFTJIT_ASK(asked, read_infill(fields));
    Asked settings = service.read_settings(fields);
    RIFTJIT_ASK_VOID(fields.check());
    const auto marks = service.tokenizer().fim();
    for (const auto& [name, id] :
         {std::pair{"prefix", marks.prefix}, {"suffix", marks.suffix}, {"middle", marks.middle}})
        if (!id) return refuse(501, "Infill is not supported by this model: {} token is missing", name);
    RIFTJIT_ASK(ids, InfillPrompt(service, service.scheduler().context(), settings.request.max_tokens).make(asked));
    return complete_prompts(service, request, std::move(settings), {ids});
}

HttpReply infill(const Service& service, const HttpRequest& request) {
    auto reply = fill_gap(service, request);
    return reply ? std::move(*reply) : error_reply(reply.error());
}

constexpr Route kInfillRoutes[] = {{"POST", "/infill", infill}};

}  // namespace

std::span<const Route> infill_routes() { return kInfillRoutes; }

}  // namespace riftjit::server
