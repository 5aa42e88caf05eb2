// Templates are downloaded with models: none may hang, fill memory, reach the host or fail without saying where.
#include <gtest/gtest.h>

#include <ctime>

#include "models/template/chat_template.h"

namespace riftjit::models {
namespace chat_template_safety_test {

ChatTemplate::Inputs one_user_turn() {
    ChatTemplate::Inputs inputs;
    inputs.messages = nlohmann::ordered_json::array({{{"role", "user"}, {"content", "hello"}}});
    return inputs;
}

// The message of the refusal. Processor time, so that a busy machine does not fail the test.
std::string refusal(std::string source, const ChatTemplate::Inputs& inputs = one_user_turn()) {
    const std::clock_t start = std::clock();
    const auto parsed = ChatTemplate::parse(std::move(source), "t");
    const auto rendered = parsed ? parsed->render_text(inputs) : std::unexpected(parsed.error());
    EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 2.0);
    return rendered ? "rendered: " + rendered->substr(0, 100) : rendered.error().message;
}

std::string repeat(std::string_view text, size_t count) {
    std::string result;
    for (size_t i = 0; i < count; ++i) result += text;
    return result;
}

TEST(ChatTemplateSafety, NamesTheLineTheColumnAndTheSource) {
    EXPECT_EQ(refusal("a\nb {{ 1 + }}"), "t:2:10: expected an expression, got '}}', in \"b {{ 1 + }}\"");
    EXPECT_EQ(refusal("｜日本 {{ x.y }}"), "t:1:9: 'x' is undefined, in \"｜日本 {{ x.y }}\"");
    EXPECT_EQ(refusal("{{ 'a' | shout }}"), "t:1:10: unknown filter 'shout', in \"{{ 'a' | shout }}\"");
    EXPECT_EQ(refusal("{% if x %}\nabc"),
              "t:1:9: the block is not closed: 'elif' or 'else' or 'endif' is missing, in \"{% if x %}\"");
    EXPECT_EQ(refusal("x\n  {% for a in b"), "t:2:3: unclosed '{%', in \"{% for a in b\"");
    EXPECT_EQ(refusal("{{ \"abc }}"), "t:1:4: unclosed string, in \"{{ \"abc }}\"");
}

TEST(ChatTemplateSafety, FailsWithTheTextOfRaiseException) {
    const auto parsed = ChatTemplate::parse(
        "{% if messages|length != 2 %}\n{{ raise_exception('two\nturns, please') }}{% endif %}", "t");
    ASSERT_TRUE(parsed);
    const auto rendered = parsed->render_text(one_user_turn());
    ASSERT_FALSE(rendered);
    EXPECT_EQ(rendered.error().kind, ErrorKind::Usage);
    EXPECT_EQ(rendered.error().message, "t:2:4: two\\nturns, please, in \"{{ raise_exception('two\"");
}

TEST(ChatTemplateSafety, KeepsUnderscoredAttributesOutOfReach) {
    for (const std::string source :
         {"{{ ''.__class__ }}", "{{ ''['__class__'] }}", "{{ [].__class__.__base__.__subclasses__() }}",
          "{{ messages.__init__ }}", "{{ messages[0].__class__ }}", "{{ range.__globals__ }}",
          "{{ '' | attr('__class__') }}", "{{ ['']|map(attribute='__class__')|list }}",
          "{{ '{0.__class__}'.format('') }}", "{{ '{0[__class__]}'.format('') }}", "{{ namespace.__init__ }}",
          "{% set ns = namespace() %}{% set ns.__x = 1 %}", "{{ namespace(_a=1) }}",
          "{{ raise_exception.__globals__ }}", "{% for x in [1] %}{{ loop.__init__ }}{% endfor %}",
          "{% macro m() %}{% endmacro %}{{ m.__closure__ }}"}) {
        const std::string message = refusal(source);
        EXPECT_NE(message.find("underscore"), std::string::npos) << source << "\n" << message;
    }
    // A key of the conversation's own may look like anything.
    auto inputs = one_user_turn();
    inputs.messages[0]["_note"] = "n";
    EXPECT_EQ(refusal("{{ messages[0]._note }}", inputs), "rendered: n");
    EXPECT_NE(refusal("{{ messages[0]['__class__'] is defined }}"), "rendered: True");
}

TEST(ChatTemplateSafety, ReachesNoFile) {
    for (const std::string tag : {"include", "import", "extends", "from", "block"}) {
        EXPECT_NE(refusal("{% " + tag + " '/etc/passwd' %}").find("is not available in a chat template"),
                  std::string::npos)
            << tag;
    }
    EXPECT_NE(refusal("{{ open('/etc/passwd') }}").find("'open' is undefined"), std::string::npos);
}

TEST(ChatTemplateSafety, BoundsLoops) {
    EXPECT_NE(refusal("{% for i in range(1000000000) %}x{% endfor %}")
                  .find("range: 1000000000 items, more than the 100000 allowed"),
              std::string::npos);
    EXPECT_NE(refusal("{% for i in range(1000) %}{% for j in range(1000) %}{% for k in range(1000) %}{% endfor %}{% "
                      "endfor %}{% endfor %}")
                  .find("more than 500000 loop iterations"),
              std::string::npos);
    EXPECT_NE(refusal("{% for i in range(100000) %}{% for j in range(100000) if false %}{% endfor %}{% endfor %}")
                  .find("more than 500000 loop iterations"),
              std::string::npos);
    EXPECT_NE(refusal("{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(40) }}")
                  .find("t:1:"),
              std::string::npos);
}

TEST(ChatTemplateSafety, SpendsNothingOnRepeatingNothing) {
    EXPECT_EQ(refusal("[{{ '' * 1000000000 }}{{ 1000000000 * '' }}{{ [] * 1000000000 }}]"), "rendered: [[]]");
}

TEST(ChatTemplateSafety, CountsEveryCharacterThatIsLookedAt) {
    for (const std::string look : {"s|float", "s|int", "s|length", "s[4999999]", "s[-1]", "s is lower", "s.isalpha()",
                                   "s.isdigit()", "s|upper"}) {
        const std::string source =
            "{% set s = '1' * 5000000 %}{% for i in range(100000) %}{% set x = " + look + " %}{% endfor %}";
        EXPECT_NE(refusal(source).find("t:1:"), std::string::npos) << look;
    }
}

TEST(ChatTemplateSafety, BoundsWorkInsideLoops) {
    // Each turn is cheap to count and dear to run.
    const std::string loop = "{% for i in range(100000) %}";
    EXPECT_NE(refusal("{% set s = 'ab' * 1000000 %}" + loop + "{{ 'c' in s }}{% endfor %}").find("steps"),
              std::string::npos);
    EXPECT_NE(refusal("{% set l = range(100000)|list %}" + loop + "{% set x = -1 in l %}{% endfor %}").find("t:1:"),
              std::string::npos);
    EXPECT_NE(refusal(loop + "{% set x = [3, 2, 1] * 1000 | sort %}{% endfor %}").find("t:1:"), std::string::npos);
    EXPECT_NE(
        refusal("{% set l = range(100000)|list %}" + loop + "{% set x = l | unique | list %}{% endfor %}").find("t:1:"),
        std::string::npos);
    EXPECT_NE(
        refusal("{% set s = 'a' * 1000000 %}" + loop + "{% set x = s.rsplit('a' * 500000 ~ 'b', 1) %}{% endfor %}")
            .find("t:1:"),
        std::string::npos);
}

TEST(ChatTemplateSafety, BoundsMemory) {
    EXPECT_NE(refusal("{{ 'a' * 1000000000000 }}").find("too long"), std::string::npos);
    EXPECT_NE(refusal("{{ 'a' * 1000000000 }}").find("bytes of values"), std::string::npos);
    EXPECT_NE(refusal("{{ [0] * 1000000000 }}").find("bytes of values"), std::string::npos);
    EXPECT_NE(
        refusal("{% set ns = namespace(s='a') %}{% for i in range(100) %}{% set ns.s = ns.s + ns.s %}{% endfor %}")
            .find("bytes of values"),
        std::string::npos);
    EXPECT_NE(
        refusal("{% set ns = namespace(l=[0]) %}{% for i in range(100) %}{% set ns.l = ns.l + ns.l %}{% endfor %}")
            .find("bytes of values"),
        std::string::npos);
    EXPECT_NE(refusal("{{ ('a' * 10000000).replace('a', 'b' * 10000000) }}").find("bytes of values"),
              std::string::npos);
    EXPECT_NE(refusal("{{ ('a' * 100000).replace('', 'b' * 100000) }}").find("bytes of values"), std::string::npos);
    EXPECT_NE(refusal("{{ '%1000000000d' % 1 }}").find("width or precision"), std::string::npos);
    EXPECT_NE(refusal("{{ '{:1000000000}'.format(1) }}").find("width or precision"), std::string::npos);
    EXPECT_NE(refusal("{{ 'a'.center(1000000000000) }}").find("too large"), std::string::npos);
    EXPECT_NE(refusal("{{ 'a'.ljust(16000000, 'b' ) * 10 }}").find("bytes of values"), std::string::npos);
    EXPECT_NE(refusal("{{ 2 ** 1000000 }}").find("overflow"), std::string::npos);
    EXPECT_NE(refusal("{{ [1] | tojson(indent=1000000000) }}").find("too large"), std::string::npos);
    EXPECT_NE(refusal("{{ 'a\nb' | indent(1000000000) }}").find("too large"), std::string::npos);
    EXPECT_NE(refusal(repeat("{% for i in range(1000) %}", 2) + "{{ 'x' * 1000 }}" + repeat("{% endfor %}", 2))
                  .find("bytes of values"),
              std::string::npos);
}

TEST(ChatTemplateSafety, BoundsNesting) {
    const std::string limit = "nesting deeper than 192 levels";
    EXPECT_NE(refusal(repeat("{% if true %}", 10'000) + repeat("{% endif %}", 10'000)).find(limit), std::string::npos);
    EXPECT_NE(refusal("{{ " + repeat("(", 10'000) + "1" + repeat(")", 10'000) + " }}").find(limit), std::string::npos);
    EXPECT_NE(refusal("{{ " + repeat("[", 10'000) + repeat("]", 10'000) + " }}").find(limit), std::string::npos);
    EXPECT_NE(refusal("{{ " + repeat("not ", 10'000) + "1 }}").find(limit), std::string::npos);
    EXPECT_NE(refusal("{{ " + repeat("-", 10'000) + "1 }}").find(limit), std::string::npos);
    EXPECT_NE(refusal("{{ x" + repeat(".a", 10'000) + " }}").find(limit), std::string::npos);
    EXPECT_NE(refusal("{{ x" + repeat("|upper", 10'000) + " }}").find(limit), std::string::npos);
    EXPECT_NE(refusal("{{ " + repeat("1 if 1 else ", 10'000) + "1 }}").find(limit), std::string::npos);
    EXPECT_NE(refusal("{% set " + repeat("(", 10'000) + "x" + repeat(")", 10'000) + " = 1 %}").find(limit),
              std::string::npos);
    EXPECT_NE(refusal("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}").find("nests deeper than 800 levels"),
              std::string::npos);
    EXPECT_NE(refusal("{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}").find("nests deeper than 800 levels"),
              std::string::npos);
    // Long chains without nesting are fine.
    EXPECT_EQ(refusal("{{ 0" + repeat(" + 1", 10'000) + " }}"), "rendered: 10000");
    EXPECT_EQ(refusal("{% if false %}" + repeat("{% elif false %}", 10'000) + "{% else %}x{% endif %}"), "rendered: x");
}

TEST(ChatTemplateSafety, BoundsValuesThatContainThemselves) {
    const std::string cycle = "{% set l = [] %}{% set _ = l.append(l) %}";
    EXPECT_NE(refusal(cycle + "{{ l }}").find("nest deeper"), std::string::npos);
    EXPECT_NE(refusal(cycle + "{{ l | tojson }}").find("nest deeper"), std::string::npos);
    EXPECT_NE(refusal(cycle + "{% set m = [] %}{% set _ = m.append(m) %}{{ l == m }}").find("nest deeper"),
              std::string::npos);
    EXPECT_NE(refusal(cycle + "{% set m = [] %}{% set _ = m.append(m) %}{{ l < m }}").find("nest"), std::string::npos);
    EXPECT_NE(refusal("{% set d = {} %}{% set _ = d.update(a=d) %}{{ d }}").find("nest deeper"), std::string::npos);
}

TEST(ChatTemplateSafety, BoundsDataFromRequests) {
    nlohmann::ordered_json deep = 1;
    for (int i = 0; i < 300; ++i) deep = nlohmann::ordered_json::array({std::move(deep)});
    auto inputs = one_user_turn();
    inputs.extra["deep"] = std::move(deep);
    EXPECT_NE(refusal("x", inputs).find("nests deeper than 200 levels"), std::string::npos);
}

TEST(ChatTemplateSafety, BoundsTheSource) {
    EXPECT_NE(refusal(std::string(10 << 20, 'x')).find("10485760 bytes, more than the 1048576 allowed"),
              std::string::npos);
    EXPECT_NE(refusal(repeat("ab\n", 4 << 20)).find("t:349526:2: "), std::string::npos);
    EXPECT_NE(refusal("abc\n\xff\xfe").find("t:2:1: byte 0xff is not UTF-8"), std::string::npos);
    EXPECT_NE(refusal("{{ '\xe2\x82' }}").find("is not UTF-8"), std::string::npos);
}

TEST(ChatTemplateSafety, RendersALongConversationWithinItsBounds) {
    const auto parsed =
        ChatTemplate::parse("{% for m in messages %}{{ '<|' + m.role + '|>' + m.content | trim + '\n' }}{% endfor %}");
    ASSERT_TRUE(parsed);
    ChatTemplate::Inputs inputs;
    const std::string content(1 << 20, 'a');
    for (int i = 0; i < 40; ++i) inputs.messages.push_back({{"role", "user"}, {"content", content}});
    const auto rendered = parsed->render_text(inputs);
    ASSERT_TRUE(rendered) << rendered.error().message;
    EXPECT_EQ(rendered->size(), 40 * (content.size() + 9));
}

TEST(ChatTemplateSafety, KeepsBytesThatAreNotUtf8) {
    const auto parsed = ChatTemplate::parse("{{ messages[0].content | trim | upper }}{{ messages[0].content[1:] }}");
    ASSERT_TRUE(parsed);
    auto inputs = one_user_turn();
    inputs.messages[0]["content"] =
        "\xff"
        "a\xc3 ";
    const auto rendered = parsed->render_text(inputs);
    ASSERT_TRUE(rendered);
    EXPECT_EQ(*rendered,
              "\xff"
              "A\xc3"
              "a\xc3 ");
}

}  // namespace chat_template_safety_test
}  // namespace riftjit::models
