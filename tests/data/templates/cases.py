"""The cases that make_goldens.py renders."""

VARIABLES = {
    "s": "Hello World",
    "empty": "",
    "n": 42,
    "zero": 0,
    "neg": -7,
    "f": 3.5,
    "big": 18446744073709551615,
    "tiny": 1.5e-07,
    "yes": True,
    "no": False,
    "nothing": None,
    "l": [3, 1, 2],
    "ll": [[1, 2], [3], []],
    "mixed": [1, "a", None, True, 2.0, [1], {"k": "v"}],
    "names": ["bob", "Alice", "carol", "alice"],
    "d": {"b": 1, "a": 2, "C": 3},
    "nested": {"x": {"y": {"z": [10, 20, 30]}}, "items": "shadow", "key with space": 1},
    "users": [{"name": "Ann", "age": 30, "admin": True}, {"name": "bob", "age": 25, "admin": False},
              {"name": "Cid", "age": 35}],
    "u": "żółć ｜日本 😀é",
    "spaces": "  \t pad ded \n ",
    "lines": "one\ntwo\r\nthree\n\nfive",
    "html": "<a href='x'>\"&\"</a>",
    "quote": "it's",
    "both": "it's \"both\"",
    "think": "<think>\nhmm\n</think>\n\nanswer",
    "digits": "12345",
    "tool": {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {
        "a": {"type": "string", "description": "naïve \"q\" \\ / \u007f \u0001"}}, "required": ["a"]}}},
}

LANGUAGE = [
    # Text and white space control.
    "plain text", "", "a\n", "a\n\n", "\n", "{{ s }}\n", "{{ s }}\n\nb", "a {{- s }} b", "a {{ s -}} b", "a\n  {{- s -}}  \n b",
    "{% if yes %}\nx\n{% endif %}\ny", "  {% if yes %}\n  x\n  {% endif %}\n  y", "a  {% if yes %}b{% endif %}",
    "{%+ if yes %}x{% endif %}", "  {%+ if yes %}x{% endif %}", "{% if yes +%}\nx{% endif %}", "{%- if yes -%}\n x \n{%- endif -%}\n y",
    "a\n\t {# note #}\nb", "a {# note #} b", "a {#- note -#} b", "a\n{# multi\nline #}\nb", "{# {{ s }} {% if %} #}x",
    "{% raw %}{{ s }} {% if %}{% endraw %}", "a {%- raw -%}  {{ x }}  {%- endraw -%} b", "{% raw %}\n a\n{% endraw %}\nb",
    "  {% raw %} x {% endraw %}  \n y", "{{ '{{' }} {{ '}}' }}", "{ {a} }%}", "a{", "{{ 1 }}{", "100%", "# not a comment",
    "a\r\nb\rc\n", "{% set x = 1 %}\n{{ x }}", "x\n    {% set y = 2 %}   \nz", "\u3000{%- if yes %}a{% endif -%}\u00a0 b",
    "{{ {'a': {'b': 1}}.a.b }}", "{{ {'a': {'b': 1}}}}", "{{ [{'a': 1}] }}",
    # Literals.
    "{{ 1 }} {{ 1_000 }} {{ 0x1F }} {{ 0b101 }} {{ 0o17 }}", "{{ 1.5 }} {{ 1e3 }} {{ 1.0 }} {{ 2.5e-8 }} {{ 1e16 }} {{ 1e15 }} {{ 1_0.2_5 }}",
    "{{ 123456789.123 }} {{ 0.1 }} {{ 1e22 }} {{ 0.0001 }} {{ 0.00001 }}", "{{ big }} {{ tiny }} {{ f }}",
    "{{ true }} {{ True }} {{ false }} {{ False }} {{ none }} {{ None }}", "{{ 'a' \"b\" 'c' }}", "{{ 'tab\\tnew\\nline' }}",
    "{{ '\\x41\\u00e9\\U0001F600\\101' }}", "{{ 'a\\qb' }}", "{{ 'it\\'s' }} {{ \"q\\\"q\" }} {{ '\\\\' }}", "{{ 'line\\\ncont' }}",
    "{{ [1, 'a', none, true, 2.5] }}", "{{ [] }} {{ () }} {{ {} }} {{ (1,) }} {{ (1, 2) }} {{ [1, 2,] }} {{ {'a': 1,} }}",
    "{{ 1, 2 }}", "{{ {'a': 1, 2: 'b', none: true} }}", "{{ {'a': 1, 'a': 2} }}", "{{ quote }} {{ [quote, both, u, 'a\\nb\\t\\x00\\x7f\\u200b\\ue000'] }}",
    "{{ mixed }}", "{{ nothing }} {{ yes }}", "{{ d }}", "{{ 'a'  'b' ~ 'c' }}", "{{ 1 if }}", "{{ 12abc }}", "{{ 'unclosed }}",
    # Names and undefined.
    "[{{ missing }}]", "{{ missing.attribute }}", "{{ d.missing }}|{{ d['missing'] }}", "{{ d.missing.more }}", "{{ missing is defined }} {{ missing is undefined }} {{ s is defined }}",
    "{{ missing == missing2 }} {{ missing == none }} {{ missing != '' }}", "{{ missing and 1 }}|{{ missing or 'else' }}", "{{ not missing }}",
    "{{ 'a' + missing }}", "{{ 'a' ~ missing ~ 'b' }}", "{{ missing | length }}", "{% for x in missing %}x{% else %}none{% endfor %}", "{{ missing() }}",
    "{{ missing < 1 }}", "{{ 'a' in missing }}", "{{ missing in [1] }}", "{{ missing in 'abc' }}", "{{ missing | default('d') }} {{ missing | d('e') }}",
    "{{ [missing] }}", "{{ missing | tojson }}", "{{ missing[0] }}", "{{ nothing.x }}|{{ nothing['x'] }}", "{{ nothing[0] }}", "{{ żółć }}",
    # Attributes, items, slices.
    "{{ nested.x.y.z[1] }} {{ nested['x']['y']['z'][-1] }}", "{{ nested['items'] }}", "{{ nested.items is callable }}", "{{ nested['key with space'] }}",
    "{{ l[0] }}{{ l[-1] }}|{{ l[9] }}|{{ l['x'] }}", "{{ l.0 }} {{ users.0.name }}", "{{ s[0] }}{{ s[-1] }}|{{ s[99] }}", "{{ s[1:3] }} {{ s[:5] }} {{ s[6:] }} {{ s[-5:] }} {{ s[:-6] }}",
    "{{ s[::-1] }} {{ s[::2] }} {{ s[8:2:-2] }}", "{{ u[0] }} {{ u[5] }} {{ u[::-1] }} {{ u[5:8] }} {{ u[-2:] }}", "{{ l[::-1] }} {{ l[1:] }} {{ l[:0] }} {{ l[-2:] }} {{ l[5:] }}",
    "{{ (1, 2, 3)[1:] }} {{ [1,2,3,4,5][::2] }} {{ [1,2,3][10::-1] }} {{ [1,2,3][-100:100] }}", "{{ l[none:2] }}", "{{ l[1:2:0] }}", "{{ s['a'] }}|{{ n[0] }}|{{ n.x }}", "{{ d[missing] }}|{{ d[[1]] }}",
    "{{ l[true] }} {{ l[1.0] }}|", "{{ 'abc'[1] }} {{ 'abc'.upper() }} {{ ('a' + 'b').upper() }}", "{{ l['0'] }}|", "{{ d['b'] + d.a }}", "{{ l[1, 2] }}|", "{{ d.get('b') }}",
    # Arithmetic.
    "{{ 1 + 2 * 3 - 4 }} {{ (1 + 2) * 3 }} {{ 7 / 2 }} {{ 6 / 3 }} {{ 7 // 2 }} {{ -7 // 2 }} {{ 7 % 3 }} {{ -7 % 3 }} {{ 7 % -3 }}", "{{ 2 ** 10 }} {{ 2 ** -1 }} {{ -2 ** 2 }} {{ 2 ** 3 ** 2 }}",
    "{{ 7.5 // 2 }} {{ 7.5 % 2 }} {{ -7.5 % 2 }} {{ 1.5 + 1 }} {{ 1e308 * 10 }}", "{{ 1 / 0 }}", "{{ 1 % 0 }}", "{{ 1 // 0.0 }}", "{{ -n }} {{ +n }} {{ - -n }} {{ -f }}", "{{ 'a' + 'b' }} {{ 'ab' * 3 }} {{ 3 * 'ab' }} {{ 'a' * -1 }}|",
    "{{ [1] + [2] }} {{ [1, 2] * 2 }} {{ (1,) + (2,) }}", "{{ 'a' + 1 }}", "{{ 1 + 'a' }}", "{{ [1] + (2,) }}", "{{ true + 1 }} {{ true + true }}", "{{ 'a' - 'b' }}", "{{ 9223372036854775807 + 1 }} {{ big + 1 }}",
    "{{ 1 ~ 2 ~ 'x' ~ none ~ 1.0 ~ [1] }}", "{{ 1 ~ 2 * 3 }}", "{{ -'a' }}", "{{ 10 - 2 - 3 }} {{ 100 / 10 / 2 }} {{ 2 * 3 % 4 }}", "{{ -1 | abs }} {{ -5 | string }}", "{{ (-5) | abs }}",
    # Comparison and logic.
    "{{ 1 == 1.0 }} {{ 1 == true }} {{ '1' == 1 }} {{ none == false }} {{ [1, 2] == [1, 2] }} {{ (1,) == [1] }} {{ {'a': 1} == {'a': 1.0} }}", "{{ 1 < 2 < 3 }} {{ 3 > 2 > 2 }} {{ 1 < 3 > 2 }}", "{{ 'a' < 'b' }} {{ 'B' < 'a' }} {{ 'ż' > 'z' }} {{ [1, 2] < [1, 3] }} {{ (1, 2) <= (1, 2) }}",
    "{{ 1 < 'a' }}", "{{ none < 1 }}", "{{ 1 >= 1 }} {{ 1 <= 0 }} {{ 1 != 2 }}", "{{ 'ell' in s }} {{ 'x' not in s }} {{ 1 in l }} {{ 'b' in d }} {{ 'z' not in d }} {{ 1 in 'a1' }}", "{{ 1 in [true] }} {{ '' in s }} {{ none in mixed }}", "{{ 1 in 5 }}", "{{ yes and no }} {{ yes or no }} {{ not yes }} {{ not not yes }}",
    "{{ 0 or '' or 'x' }} {{ 1 and 'y' and [] }} {{ none or none }}", "{{ yes and not no }} {{ not (yes and no) }} {{ not yes == no }}", "{{ 'a' if yes else 'b' }} {{ 'a' if no else 'b' }} [{{ 'a' if no }}]", "{{ 1 if no else 2 if no else 3 }}", "{{ ('x' if yes) ~ 'y' }}", "{{ (1 if yes else 2) + 1 }}", "{{ n > 40 and s.startswith('Hello') and l | length == 3 }}",
    "{{ [] or {} or () or 0.0 or 'end' }}", "{{ [0] and 'full' }}", "{{ n is defined and n is number and n > 41 }}", "{{ not n is string }}", "{{ (yes == yes) != (1 == 2) }}",
    # Tests.
    "{{ s is string }} {{ n is string }} {{ n is number }} {{ f is float }} {{ n is integer }} {{ yes is integer }} {{ yes is number }} {{ yes is boolean }} {{ 1 is boolean }}", "{{ d is mapping }} {{ l is mapping }} {{ l is sequence }} {{ d is sequence }} {{ s is sequence }} {{ n is sequence }} {{ l is iterable }} {{ n is iterable }} {{ s is iterable }} {{ nothing is iterable }}",
    "{{ nothing is none }} {{ missing is none }} {{ nothing is not none }} {{ nothing is defined }}", "{{ no is false }} {{ zero is false }} {{ empty is false }} {{ yes is true }} {{ 1 is true }} {{ missing is false }}", "{{ 3 is odd }} {{ 4 is even }} {{ 9 is divisibleby 3 }} {{ 9 is divisibleby(2) }}", "{{ n is eq 42 }} {{ n is ne(42) }} {{ n is gt 41 }} {{ n is lt 41 }} {{ n is ge 42 }} {{ n is le 41 }} {{ n is equalto 42 }}",
    "{{ 1 is in [1, 2] }} {{ 'a' is in 'abc' }} {{ 3 is not in l }}", "{{ 'abc' is lower }} {{ 'ABC' is upper }} {{ 'Abc' is lower }} {{ '123' is lower }}", "{{ nothing is sameas none }} {{ 1 is sameas true }}", "{{ 'upper' is filter }} {{ 'nope' is filter }} {{ 'defined' is test }}", "{{ range is callable }} {{ s is callable }}", "{{ s is nonsense }}", "{{ s is string is string }}",
    "{{ s is not defined or s == 'Hello World' }}", "{{ missing is not defined and s is defined }}", "{{ l is not string and l is iterable and l is not mapping }}", "{{ missing is iterable }} {{ missing is sequence }} {{ missing is string }} {{ missing is mapping }}", "{{ s is string if yes else 1 }}",
    # Statements.
    "{% if no %}a{% elif yes %}b{% else %}c{% endif %}", "{% if no %}a{% elif no %}b{% else %}c{% endif %}", "{% if yes %}{% if no %}a{% else %}b{% endif %}{% endif %}", "{% if l %}full{% endif %}{% if not [] %}empty{% endif %}", "{% if yes: %}x{% endif %}", "{% for x in l %}{{ x }}{% endfor %}", "{% for x in [] %}{{ x }}{% else %}none{% endfor %}", "{% for x in l if x > 1 %}{{ x }}:{{ loop.index }}/{{ loop.length }} {% endfor %}",
    "{% for x in l if x > 9 %}{{ x }}{% else %}nothing{% endfor %}", "{% for k in d %}{{ k }}{% endfor %}", "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}", "{% for c in 'żó' %}[{{ c }}]{% endfor %}", "{% for a, b in [(1, 2), [3, 4]] %}{{ a }}{{ b }} {% endfor %}", "{% for a, (b, c) in [(1, (2, 3))] %}{{ a }}{{ b }}{{ c }}{% endfor %}", "{% for a, b in [(1, 2, 3)] %}{% endfor %}", "{% for x in 5 %}{% endfor %}", "{% for x in none %}{% endfor %}",
    "{% for x in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.depth }}{{ loop.depth0 }} {% endfor %}", "{% for x in l %}{{ loop.previtem }}<{{ x }}>{{ loop.nextitem }} {% endfor %}", "{% for x in l %}{{ loop.previtem is defined }}{{ loop.nextitem is undefined }}{% endfor %}", "{% for x in l %}{{ loop.cycle('a', 'b') }}{% endfor %}", "{% for x in [1, 1, 2] %}{{ loop.changed(x) }}{% endfor %}",
    "{% for x in l %}{% for y in l %}{{ loop.index }}{% endfor %}{{ loop.index }};{% endfor %}", "{% for x in l %}{% set outer = loop %}{% for y in [1] %}{{ outer.index }}{% endfor %}{% endfor %}", "{% set x = 1 %}{% for i in l %}{% set x = i %}{{ x }}{% endfor %}{{ x }}", "{% set x = 1 %}{% for i in l %}{{ x }}{% set x = x + i %}{% endfor %}{{ x }}", "{% set x = 1 %}{% if yes %}{% set x = 2 %}{% endif %}{{ x }}", "{% for x in l %}{% set l = [] %}{{ x }}{{ l | length }}{% endfor %}{{ l | length }}",
    "{% for x in l %}{% set x = x * 10 %}{{ x }} {% endfor %}", "{% for x in l %}{% if x == 1 %}{% continue %}{% endif %}{{ x }}{% endfor %}", "{% for x in l %}{% if x == 1 %}{% break %}{% endif %}{{ x }}{% endfor %}", "{% for x in l %}{% for y in l %}{% if y == 1 %}{% break %}{% endif %}{{ y }}{% endfor %}{{ x }}{% endfor %}", "{% break %}", "{% for x in [1, [2, [3]]] recursive %}{% if x is iterable %}({{ loop(x) }}){% else %}{{ x }}@{{ loop.depth }}{% endif %}{% endfor %}", "{% for x in l %}{{ loop(x) }}{% endfor %}",
    "{% for x in range(3) %}{{ x }}{% endfor %} {{ range(2, 8, 3) | list }} {{ range(5, 0, -2) | list }} {{ range(0) | list }}", "{% for x in range(3) %}{{ x }}{% endfor %}{{ x }}|", "{{ loop is defined }}", "{% for x in l %}{% else %}no{% endfor %}", "{% for i in [1,2] %}{% for x in l if x > i %}{{ x }}{% endfor %};{% endfor %}",
    "{% set a = 1 %}{{ a }}", "{% set a, b = 1, 2 %}{{ a }}{{ b }}", "{% set a = 1, 2 %}{{ a }}", "{% set a %}x{{ n }}{% endset %}{{ a }}{{ a is string }}", "{% set a | upper %}x{{ s }}{% endset %}{{ a }}", "{% set a | upper | replace('X', 'y') %}x{% endset %}{{ a }}", "{% set a %}{% set b = 1 %}{% endset %}{{ b is defined }}", "{% set a = b = 1 %}", "{% set a.b = 1 %}", "{% set true = 1 %}", "{% set 'a' = 1 %}", "{% set a, b = 1 %}",
    "{% set ns = namespace(a=1) %}{% for x in l %}{% set ns.a = ns.a + x %}{% endfor %}{{ ns.a }}", "{% set ns = namespace() %}{% set ns.x = 'y' %}{{ ns.x }}{{ ns.missing is defined }}", "{% set ns = namespace({'a': 1}, b=2) %}{{ ns.a }}{{ ns.b }}{{ ns['a'] }}", "{% set ns = namespace(l=[]) %}{% set ns.l = ns.l + [1] %}{% set ns.l = ns.l + [2] %}{{ ns.l }}", "{% set x = 1 %}{% set x.y = 2 %}", "{% set ns = namespace(a=1) %}{% set ns.a, b = 5, 6 %}{{ ns.a }}{{ b }}",
    "{% with a = 1, b = n %}{{ a }}{{ b }}{% endwith %}{{ a }}", "{% set a = 5 %}{% with %}{% set a = 6 %}{{ a }}{% endwith %}{{ a }}", "{% with a = 1 %}{% endwith %}{{ a is defined }}", "{% filter upper %}a{{ s }}{% endfilter %}", "{% filter replace('a', 'b') | upper %}aaa{% endfilter %}", "{% print n %}", "{% generation %}g{{ s }}{% endgeneration %}", "{% set a = 1 %}{% generation %}{% set a = 2 %}{{ a }}{% endgeneration %}{{ a }}",
    # Macros.
    "{% macro m(a, b=2) %}{{ a }}-{{ b }};{% endmacro %}{{ m(1) }}{{ m(1, 3) }}{{ m(b=4, a=5) }}{{ m() }}", "{% macro m(a) %}{{ a is defined }}{% endmacro %}{{ m() }}{{ m(none) }}", "{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, x=3) }}", "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}", "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(z=2) }}", "{% macro m(a=n, b=a) %}{{ a }}{{ b }}{% endmacro %}{{ m() }}{{ m(1) }}",
    "{% macro f(x) %}{% if x > 0 %}{{ x }}{{ f(x - 1) }}{% endif %}{% endmacro %}{{ f(3) }}", "{% macro m() %}{{ later }}{% endmacro %}{% set later = 'L' %}{{ m() }}", "{% set x = 1 %}{% macro m() %}{% set x = 2 %}{{ x }}{% endmacro %}{{ m() }}{{ x }}", "{% for i in l %}{% macro m() %}{{ i }}{% endmacro %}{{ m() }}{% endfor %}", "{% macro m() %}a{% endmacro %}{{ m() | upper }}{{ m() ~ m() }}{{ m()|length }}", "{% macro m() %} a \n{% endmacro %}[{{ m() }}]",
    "{% macro m() %}<{{ caller() }}>{% endmacro %}{% call m() %}in{{ n }}{% endcall %}", "{% macro m() %}<{{ caller(1, 2) }}>{% endmacro %}{% call(a, b) m() %}{{ a + b }}{% endcall %}", "{% macro m() %}x{% endmacro %}{% call m() %}in{% endcall %}", "{% macro outer() %}{% macro inner() %}i{% endmacro %}{{ inner() }}{% endmacro %}{{ outer() }}{{ inner is defined }}", "{% macro m(a, b) %}{{ a }}{{ b }}{% endmacro %}{{ m(*[1, 2]) }}{{ m(**{'a': 3, 'b': 4}) }}{{ m(1, *[2]) }}", "{% macro m(a=1, b) %}{% endmacro %}",
    "{% macro m() %}{{ loop is defined }}{% endmacro %}{% for x in [1] %}{{ m() }}{% endfor %}", "{% macro m(l) %}{% for x in l %}{{ x }}{% if not loop.last %}, {% endif %}{% endfor %}{% endmacro %}{{ m(l) }}", "{% macro m() %}{{ m.name }}{% endmacro %}{{ m() }}", "{{ s() }}", "{{ m() }}{% macro m() %}late{% endmacro %}",
    # Filters of text.
    "{{ s | upper }} {{ s | lower }} {{ 'hELLO wORLD' | capitalize }} {{ 'hello-big world (x) it\\'s' | title }} {{ n | upper }}", "{{ u | upper }} {{ 'ŻÓŁĆ' | lower }} {{ 'straße' | upper }} {{ 'émile' | capitalize }}", "[{{ spaces | trim }}] [{{ 'xxaxx' | trim('x') }}] [{{ '\u3000a\u00a0' | trim }}] [{{ n | trim }}]", "{{ s | replace('l', 'L') }} {{ s | replace('l', 'L', 1) }} {{ 'abc' | replace('', '-') }} {{ n | replace(4, 5) }}", "{{ s | length }} {{ u | length }} {{ l | count }} {{ d | length }}", "{{ n | length }}",
    "{{ 'a\nb\n\nc' | indent }}", "{{ 'a\nb\n\nc' | indent(2, true) }}", "{{ 'a\nb\n\nc' | indent(2, blank=true) }}", "{{ 'a\nb' | indent('> ', first=true) }}", "{{ 'foo bar baz qux' | truncate(9) }} {{ 'foo bar baz qux' | truncate(9, true) }} {{ 'foo bar baz qux' | truncate(11) }} {{ 'foo bar baz qux' | truncate(11, false, '...', 0) }}", "[{{ 'ab' | center(7) }}] [{{ 'abc' | center(6) }}]", "{{ 'a b  c\nd' | wordcount }}", "{{ html | e }} {{ html | escape }}", "{{ s | safe }} {{ n | string | length }}",
    "{{ '%s-%s' | format(1, 'b') }} {{ '%d %05d %x %.2f %5s|%-5s|%%' | format(42, 42, 255, 3.14159, 'ab', 'cd') }}", "{{ '%(a)s' | format(a=1) }}", "{{ '%s and %r' % ('a', 'b') }} {{ '%s' % n }} {{ '%s' % [1] }} {{ '%+d' % 5 }} {{ '%i' % 3.9 }} {{ '%e' % 12345.678 }} {{ '%g' % 0.0001 }}", "{{ '%s %s' % 1 }}", "{{ '%s' % (1, 2) }}", "{{ '%d' % 'a' }}",
    "{{ '42' | int }} {{ '42.7' | int }} {{ 'x' | int }} {{ 'x' | int(7) }} {{ '1F' | int(0, 16) }} {{ 3.9 | int }} {{ none | int }} {{ ' 5 ' | int }} {{ true | int }} {{ '-3' | int }}", "{{ '1.5' | float }} {{ 'x' | float }} {{ 'x' | float(2.5) }} {{ 3 | float }} {{ '1e3' | float }}", "{{ 2.5 | round }} {{ 3.5 | round }} {{ 42.55 | round(1, 'floor') }} {{ 42.41 | round(1, 'ceil') }} {{ 2.675 | round(2) }} {{ 5 | round }}", "{{ -3 | abs }} {{ (-3.5) | abs }}", "{{ 'a' | abs }}", "{{ s | reverse }} {{ u | reverse }}",
    "{{ s | nonsense }}", "{% if no %}{{ s | nonsense }}{% endif %}ok", "{{ s | default('x') }} {{ empty | default('x') }} {{ empty | default('x', true) }} {{ nothing | default('x', true) }} {{ missing | default }}|", "{{ s|upper|lower|title }}", "{{ (s ~ 'x') | upper }} {{ s ~ 'x' | upper }}", "{{ s + '!' | upper }}", "{{ 'a,b' | list }}",
    # Filters of sequences.
    "{{ l | join }} {{ l | join(', ') }} {{ users | join('/', attribute='name') }} {{ 'abc' | join('-') }} {{ mixed | join(';') }} {{ d | join(',') }}", "{{ l | first }} {{ l | last }} {{ [] | first }}| {{ s | first }} {{ d | first }} {{ [] | last is undefined }}", "{{ l | sort }} {{ l | sort(reverse=true) }} {{ names | sort }} {{ names | sort(case_sensitive=true) }} {{ users | sort(attribute='age') | map(attribute='name') | list }}", "{{ ['b', 1] | sort }}", "{{ users | sort(attribute='age,name') | map(attribute='age') | join(' ') }}",
    "{{ d | dictsort }} {{ d | dictsort(true) }} {{ d | dictsort(false, 'value') }} {{ d | dictsort(reverse=true) }}", "{{ names | unique | list }} {{ [1, 1, 2] | unique | list }} {{ names | unique(true) | list }}", "{{ l | min }} {{ l | max }} {{ users | max(attribute='age') }} {{ [] | min }}| {{ names | min }}", "{{ l | sum }} {{ users | sum(attribute='age') }} {{ l | sum(start=10) }}", "{{ l | reverse | list }} {{ (1, 2) | reverse | list }}", "{{ [1, 2, 3, 4, 5] | batch(2) | list }} {{ [1, 2, 3] | batch(2, 'x') | list }}",
    "{{ names | map('upper') | list }} {{ users | map(attribute='name') | join(',') }} {{ users | map(attribute='admin', default='?') | list }} {{ l | map('string') | join }} {{ ['a-b'] | map('replace', '-', '+') | list }}", "{{ l | select('gt', 1) | list }} {{ l | reject('odd') | list }} {{ [0, 1, '', 'a'] | select | list }} {{ mixed | select('string') | list }} {{ l | select('in', [1, 3]) | list }}", "{{ users | selectattr('admin') | map(attribute='name') | list }} {{ users | rejectattr('admin') | map(attribute='name') | list }} {{ users | selectattr('age', '>', 28) | map(attribute='name') | list }} {{ users | selectattr('name', 'equalto', 'Ann') | list | length }} {{ users | selectattr('admin', 'defined') | list | length }}",
    "{{ 1 if l | select('gt', 9) else 2 }} {{ 1 if [] | map('upper') else 2 }} {{ (l | select('odd'))[0] }}| {{ l | map('string') is sequence }} {{ l | select is iterable }} {{ l | select('odd') == [3, 1] }}", "{{ (l | reverse)[0] is defined }} {{ l | unique is string }} {{ none | select | list }}", "{{ none | map('upper') | list }}",
    "{{ [nested] | map(attribute='x.y.z.1') | list }}", "{{ l | map('nonsense') | list }}", "{{ l | select('nonsense') | list }}", "{{ d | items | list }} {{ missing | items | list }}", "{{ l | items | list }}", "{{ d | list }} {{ s | list | length }}", "{{ l | tojson }} {{ mixed | tojson }} {{ (1, 2) | tojson }}", "{{ tool | tojson }}", "{{ tool | tojson(indent=2) }}", "{{ tool | tojson(indent=4) }}", "{{ d | tojson(sort_keys=true) }} {{ d | tojson(separators=(',', ':')) }} {{ u | tojson(ensure_ascii=true) }} {{ u | tojson }} {{ html | tojson }}",
    "{{ [] | tojson(indent=2) }} {{ {} | tojson(indent=2) }} {{ [[], {}] | tojson(indent=1) }}", "{{ {'a': [1, {'b': none}]} | tojson(indent='--') }}", "{{ 1.0 | tojson }} {{ 1e100 | tojson }} {{ big | tojson }} {{ 'a/b\\u2028' | tojson }} {{ {1: 2, none: 3, true: 4, 1.5: 5} | tojson }}", "{{ range | tojson }}", "{{ s | attr('upper') is callable }}", "{{ [3, 1] | sort | first }} {{ ('a b'.split() | first).rstrip('a') }}|", "{{ d.keys() | list }} {{ d.keys() | reject('equalto', 'a') | list }}", "{{ [[1, 2], [3]] | sum(start=[]) }}",
    # Methods.
    "{{ s.upper() }} {{ s.lower() }} {{ s.title() }} {{ s.swapcase() }} {{ 'abc'.capitalize() }} {{ \"they're bill's\".title() }}", "{{ s.startswith('He') }} {{ s.startswith(('x', 'H')) }} {{ s.endswith('ld') }} {{ s.endswith('') }}", "{{ s.startswith(1) }}", "[{{ spaces.strip() }}] [{{ spaces.lstrip() }}] [{{ spaces.rstrip() }}] [{{ '\nab\n'.strip('\n') }}] [{{ 'abcba'.strip('ab') }}] [{{ 'żaż'.strip('ż') }}]", "{{ 'a b  c'.split() }} {{ 'a,b,,c'.split(',') }} {{ 'a,b,c'.split(',', 1) }} {{ ' a b c '.split(none, 1) }} {{ ''.split() }} {{ ''.split(',') }} {{ 'aXXbXXc'.split('XX') }}", "{{ 'a,b,c'.rsplit(',', 1) }} {{ 'a b'.rsplit() }}",
    "{{ s.split('') }}", "{{ think.split('</think>')[-1].lstrip('\n') }}|{{ think.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n') }}", "{{ lines.splitlines() }}", "{{ s.replace('l', 'L') }} {{ s.replace('l', '', 2) }} {{ s.replace('xyz', '!') }}", "{{ ', '.join(['a', 'b']) }} {{ ''.join(names) }}", "{{ ', '.join([1]) }}", "{{ s.find('o') }} {{ s.find('o', 5) }} {{ s.rfind('o') }} {{ s.find('z') }} {{ s.index('W') }} {{ u.find('日') }}", "{{ s.index('zz') }}", "{{ s.count('l') }} {{ s.count('') }} {{ 'aaa'.count('aa') }}",
    "{{ '12'.isdigit() }} {{ 'a1'.isalnum() }} {{ 'ab'.isalpha() }} {{ ' '.isspace() }} {{ ''.isdigit() }} {{ 'AB'.isupper() }} {{ 'ab1'.islower() }} {{ '½'.isnumeric() }} {{ '12'.isdecimal() }}", "{{ 'abc'.removeprefix('a') }} {{ 'abc'.removesuffix('c') }} {{ 'abc'.removeprefix('x') }}", "{{ 'a=b=c'.partition('=') }} {{ 'abc'.partition('=') }} {{ 'a=b=c'.rpartition('=') }}", "[{{ 'a'.center(4) }}] [{{ 'a'.ljust(3, '.') }}] [{{ 'a'.rjust(3) }}] [{{ '-5'.zfill(4) }}] [{{ 'ab'.center(5, '*') }}]",
    "{{ '{} {}'.format(1, 'b') }} {{ '{0}{1}{0}'.format('a', 'b') }} {{ '{x}-{y}'.format(x=1, y=2) }} {{ '{{}}'.format() }} {{ '{:>5}|{:<5}|{:^5}|{:05d}|{:.2f}|{:,}|{:x}|{:+d}'.format('a', 'b', 'c', 42, 3.14159, 1234567, 255, 5) }}", "{{ '{a[0]} {a[k]}'.format(a={'k': 1, 0: 'z'}) }} {{ '{!r}'.format('x') }} {{ '{:.3}'.format('abcdef') }} {{ '{:.1%}'.format(0.255) }} {{ '{:e}'.format(12.5) }} {{ '{}'.format(none) }} {{ '{:*^9}'.format('mid') }}", "{{ '{} {}'.format(1) }}", "{{ '{'.format(1) }}", "{{ s.nonsense() }}", "{{ s.upper(1) }}", "{{ s.format is callable }}",
    "{{ d.get('a') }} {{ d.get('z') }} {{ d.get('z', 5) }} {{ d.items() | list }} {{ d.keys() | list }} {{ d.values() | list }}", "{{ dict(a=1, b=2) }} {{ dict([('x', 1)]) }} {{ dict({'a': 1}, b=2) }}", "{{ l.index(2) }} {{ l.count(1) }} {{ (1, 2).index(2) }}", "{{ l.index(9) }}", "{{ d.copy() }}", "{% for k, v in {'z': 1, 'y': 2}.items() %}{{ k }}{{ v }}{% endfor %}", "{{ 'x'.join('abc') }} {{ s.upper().lower().title() }}", "{{ (s.split() | first).rstrip('o') }}", "{{ n is number }}",
    # Functions.
    "{{ raise_exception('boom ' ~ n) }}", "{% if no %}{{ raise_exception('never') }}{% endif %}fine", "{{ range(1000000) }}", "{{ range(1, 2, 0) }}", "{{ range('a') }}", "{{ strftime_now('%d %b %Y') }} {{ strftime_now('%Y-%m-%d') }} {{ strftime_now('%B %A') }}", "{{ strftime_now is defined }} {{ raise_exception is defined }}", "{{ namespace(a=1).a }}", "{{ nonsense() }}",
    # Syntax errors.
    "{{ }}", "{{ 1 + }}", "{{ (1 }}", "{{ 1) }}", "{{ [1, 2 }}", "{% if yes %}", "{% endif %}", "{% for x l %}{% endfor %}", "{% nonsense %}", "{{ s", "{% if yes", "{# open", "{% raw %}x", "{{ 'a' 1 }}", "{{ a. }}", "{{ ? }}", "{% for x in l %}{% endif %}", "{% macro %}{% endmacro %}", "{% set %}", "{{ x | }}", "{{ x is }}", "{{ f(a=1, 2) }}", "{{ f(**a, *b) }}", "{{ {1} }}", "{{ {'a' 1} }}", "{% if %}{% endif %}", "{% elif x %}", "{% include 'x' %}", "{% extends 'x' %}", "{% import 'x' as y %}", "{{ a b }}", "{{ not }}", "{{ 'a' if }}",
    "{{ s }", "{% if yes }x{% endif %}", "{{ [1,,2] }}", "{{ f(,) }}", "{% for in l %}{% endfor %}", "{% call s %}{% endcall %}", "{{ 1 = 2 }}", "{{ s ! }}", "{{ @ }}", "{{ '\\u12' }}", "{{ '\\xZZ' }}",
    # Pieces of published templates.
    "{% set content = think %}{% if '</think>' in content %}{% set content = content.split('</think>')[-1].lstrip('\\n') %}{% endif %}{{ content }}", "{% set ns = namespace(is_first=false, is_tool=false, system_prompt='', is_first_sp=true) %}{% for u in users %}{% if u.admin %}{% if ns.is_first_sp %}{% set ns.system_prompt = ns.system_prompt + u.name %}{% set ns.is_first_sp = false %}{% else %}{% set ns.system_prompt = ns.system_prompt + '\\n\\n' + u.name %}{% endif %}{% endif %}{% endfor %}{{ ns.system_prompt }}",
    "{% for tool in [tool] %}{%- if not loop.first %}, {% endif %}{{ tool.function.name }}({% for p, v in tool.function.parameters.properties.items() %}{{ p }}: {{ v.type }}{{ '?' if p not in tool.function.parameters.required }}{% endfor %}){% endfor %}", "{% set is_first = true %}{% for m in users %}{% if (m.name == 'Ann') != (loop.index0 % 2 == 0) %}bad{% endif %}{% endfor %}", "{%- macro json_type(p) %}{%- set map = {'string': 'str', 'object': 'dict[str, Any]'} %}{%- if map[p.type] is defined %}{{- map[p.type] }}{%- elif p.type is iterable and p.type is not string %}Union{%- else %}Any{%- endif %}{%- endmacro %}{{ json_type({'type': 'string'}) }} {{ json_type({'type': 'x'}) }} {{ json_type({'type': ['a']}) }}",
    "{{ '<|' + s.split()[0].lower() + '|>' }}", "{%- for m in users | selectattr('age', 'ge', 30) -%}\n{{ m.name }}\n{%- if not loop.last %},{% endif %}\n{%- endfor %}", "{{- 'a' }}\n{{- 'b' }}\n{%- if yes %}\n    {{- 'c' }}\n{%- endif %}\n", "{% if users[0]['name'] == 'Ann' and users[0].get('missing') is none %}ok{% endif %}", "{{ (users | selectattr('name', 'equalto', 'Ann') | list)[0].age }}", "{% if 'a' in d and d['a'] is not none and d.a %}y{% endif %}", "{{ {'role': 'user', 'content': s}['content'][:5] ~ '…' }}",
    "{% set x = namespace(found=false) %}{% for u in users %}{% if u.name == 'bob' %}{% set x.found = true %}{% break %}{% endif %}{% endfor %}{{ x.found }}", "{{ ['a', 'b'] | map('upper') | join(', ') ~ '.' }}", "{{ users | map(attribute='name') | map('lower') | sort | join('|') }}", "{{ '\\n'.join(lines.splitlines()) if lines else '' }}",
]

TOOLS = [
    {"type": "function", "function": {"name": "get_weather", "description": "Weather at a place <now> & \"later\"",
     "parameters": {"type": "object", "properties": {"city": {"type": "string", "description": "Stadt, z. B. Köln"},
                                                     "unit": {"type": "string", "enum": ["c", "f"]}},
                    "required": ["city"]}}},
    {"type": "function", "function": {"name": "add", "description": "Adds",
     "parameters": {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "integer"}},
                    "required": ["a", "b"]}}},
]


def call(name, arguments):
    return {"id": "call12345", "type": "function", "function": {"name": name, "arguments": arguments}}


USER = {"role": "user", "content": " What's 2 + 2? <|im_end|> ｜é😀 "}
SHAPES = {
    "single": [USER],
    "turns": [USER, {"role": "assistant", "content": "Four.\n"}, {"role": "user", "content": "And 3 + 3?"}],
    "reasoning": [USER, {"role": "assistant", "content": "Four.", "reasoning_content": "\nAdd them.\n"},
                  {"role": "user", "content": "Sure?"},
                  {"role": "assistant", "content": "Yes.", "reasoning_content": "It is."}],
    "inline_reasoning": [USER, {"role": "assistant", "content": "<think>\nAdd them.\n</think>\n\nFour."},
                         {"role": "user", "content": "Sure?"}],
    "tool_round": [USER, {"role": "assistant", "content": "", "tool_calls": [call("add", {"a": 2, "b": 2})]},
                   {"role": "tool", "tool_call_id": "call12345", "name": "add", "content": "4"}],
    "tool_round_done": [USER, {"role": "assistant", "content": "", "tool_calls": [call("add", {"a": 2, "b": 2})]},
                        {"role": "tool", "tool_call_id": "call12345", "name": "add", "content": "4"},
                        {"role": "assistant", "content": "It is four."}, {"role": "user", "content": "Thanks"}],
    "two_calls": [USER, {"role": "assistant", "content": "Both:", "tool_calls": [
        call("add", {"a": 2, "b": 2}), call("get_weather", {"city": "Köln", "unit": "c"})]},
        {"role": "tool", "tool_call_id": "call12345", "name": "add", "content": "4"},
        {"role": "tool", "tool_call_id": "call12345", "name": "get_weather", "content": "{\"sky\": \"grey\"}"}],
    "two_users": [USER, {"role": "user", "content": "Hello?"}],
    "prefill": [USER, {"role": "assistant", "content": "The answer "}],
}


def scenarios():
    result = {}
    for system in (False, True):
        for tools in (0, 1, 2):
            for thinking in (None, True, False):
                for shape, messages in SHAPES.items():
                    name = f"{shape}{'+system' if system else ''}+{tools}tools" + (
                        "" if thinking is None else "+thinking" if thinking else "+direct")
                    head = [{"role": "system", "content": "You are <b>kind</b>.\n"}] if system else []
                    scenario = {"messages": head + messages}
                    if tools:
                        scenario["tools"] = TOOLS[:tools]
                    if thinking is not None:
                        scenario["extra"] = {"enable_thinking": thinking}
                    if shape == "prefill":
                        scenario["add_generation_prompt"] = False
                        scenario["continue_final_message"] = True
                    result[name] = scenario
    return result


FOREIGN_SCENARIOS = [
    "single+0tools", "single+system+0tools", "turns+0tools", "turns+system+0tools+direct", "reasoning+0tools+thinking",
    "inline_reasoning+0tools", "single+system+2tools", "single+1tools", "tool_round+2tools", "tool_round_done+system+1tools+direct",
    "two_calls+2tools+thinking", "two_users+0tools", "prefill+0tools", "prefill+system+0tools+direct",
]
