#!/usr/bin/env python3
"""Writes goldens.json: what jinja2, set up as transformers sets it up, renders for the cases in cases.py.

Needs jinja2 >= 3.1.6 and transformers. Templates whose licence does not allow copying are read from the folder given
as argument (the *.jinja files of llama.cpp's models/templates); only the length and a hash of what they render is kept.
"""
import datetime
import glob
import json
import os
import sys

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment, SandboxedEnvironment
from transformers.utils import chat_template_utils

import cases

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..", "..")
NOW = datetime.datetime(2024, 7, 26, 12, 0, 0)


class FrozenClock(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return NOW


chat_template_utils.datetime = FrozenClock


class Generation(Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return nodes.Scope(body).set_lineno(line)


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment(kind):
    env = kind(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = NOW.strftime
    return env


def render(env, source, variables):
    try:
        return env.from_string(source).render(**variables)
    except Exception as error:  # whatever Python raises, riftjit must refuse too
        return {"error": str(error)}


def chat_variables(scenario):
    variables = {"messages": scenario["messages"], "tools": scenario.get("tools"), "documents": None,
                 "add_generation_prompt": scenario.get("add_generation_prompt", True),
                 "bos_token": "<s>", "eos_token": "</s>"}
    variables.update(scenario.get("extra", {}))
    return variables


def render_chat(env, source, scenario):
    if not scenario.get("continue_final_message"):
        return render(env, source, chat_variables(scenario))
    try:
        rendered, _ = chat_template_utils.render_jinja_template([scenario["messages"]], tools=scenario.get("tools"), chat_template=source,
                                            continue_final_message=True, bos_token="<s>", eos_token="</s>",
                                            **scenario.get("extra", {}))
        return rendered[0]
    except Exception as error:
        return {"error": str(error)}


def fnv1a(text):
    value = 0xCBF29CE484222325
    for byte in text.encode("utf-8", "surrogatepass"):
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return f"{value:016x}"


def digest(rendering):
    if isinstance(rendering, dict):
        return "error"
    return f"{len(rendering.encode('utf-8'))} {fnv1a(rendering)}"


def own_templates():
    def of_config(path):
        return json.load(open(os.path.join(ROOT, path)))["chat_template"]

    templates = {"storyteller": of_config("share/models/storyteller/tokenizer_config.json"),
                 "qwen3": of_config("tests/data/tokenizers/qwen3/tokenizer_config.json")}
    for path in sorted(glob.glob(os.path.join(HERE, "*.jinja"))):
        templates[os.path.basename(path).removesuffix(".jinja")] = open(path).read()
    return templates


def main():
    strict = environment(ImmutableSandboxedEnvironment)
    language = [{"template": source, "rendered": render(strict, source, cases.VARIABLES)} for source in cases.LANGUAGE]
    scenarios = cases.scenarios()
    renderings = {name: {key: render_chat(strict, source, scenario) for key, scenario in scenarios.items()}
                  for name, source in own_templates().items()}

    # Some published templates append to lists, parse JSON or print what a filter maps, which their makers' engines allow.
    lenient = environment(SandboxedEnvironment)
    lenient.filters["tojson"] = lambda x, indent=None, **options: json.dumps(x, indent=indent, default=list, **{
        "ensure_ascii": False, **options})
    lenient.filters["from_json"] = json.loads
    # jinja2 escapes what is added to a string marked safe, though nothing else is ever escaped: never intended.
    lenient.filters["safe"] = str
    foreign = {}
    for path in sorted(glob.glob(os.path.join(sys.argv[1], "*.jinja"))):
        source = open(path).read()
        foreign[os.path.basename(path)] = {key: digest(render_chat(lenient, source, scenarios[key]))
                                           for key in cases.FOREIGN_SCENARIOS}
    goldens = {"now": int(NOW.replace(tzinfo=datetime.timezone.utc).timestamp()), "variables": cases.VARIABLES,
               "language": language, "scenarios": scenarios, "renderings": renderings, "foreign": foreign}
    with open(os.path.join(HERE, "goldens.json"), "w") as file:
        json.dump(goldens, file, ensure_ascii=False, indent=1)
        file.write("\n")
    errors = sum(isinstance(case["rendered"], dict) for case in language)
    print(f"{len(language)} language cases ({errors} refused), {len(scenarios)} scenarios, {len(renderings)} templates, "
          f"{len(foreign)} foreign templates")


if __name__ == "__main__":
    main()
