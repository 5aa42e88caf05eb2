#!/usr/bin/env python3
"""Drives `riftjit serve` with the clients that people use: openai, ollama and anthropic from PyPI.

    clients_test.py RIFTJIT [MODEL]     exit 0: all holds; 77: a client is not installed here
"""
import json
import os
import re
import subprocess
import sys
import urllib.request

try:
    import anthropic
    import ollama
    import openai
except ImportError as error:
    print(f"clients_test: {error.name} is not installed (RIFTJIT_PEER_CLIENTS)")
    sys.exit(1 if os.environ.get("RIFTJIT_REQUIRE_ORACLES") else 77)

checks = 0


def expect(condition, what):
    global checks
    checks += 1
    if not condition:
        raise SystemExit(f"clients_test: {what}")


def start(arguments):
    """The server, and its address once it is ready to answer."""
    process = subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        found = re.match(r"(http://\S+): ", line)
        if found:
            return process, found.group(1)
    raise SystemExit(f"clients_test: the server ended with {process.wait()}")


def refusal(error_type, call):
    try:
        call()
    except error_type as error:
        return error
    raise SystemExit(f"clients_test: expected {error_type.__name__}")


QUESTION = [{"role": "user", "content": "Tell me a story about a fox."}]
TOOL = {"type": "function", "function": {"name": "weather", "description": "of a city",
                                         "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}}


def test_openai(url):
    client = openai.OpenAI(base_url=url + "/v1", api_key="secret")
    models = client.models.list().data
    expect(len(models) == 1 and models[0].id == "storyteller", f"models: {models}")
    settings = dict(model="storyteller", messages=QUESTION, temperature=0, max_tokens=20)
    whole = client.chat.completions.create(**settings)
    choice = whole.choices[0]
    expect(choice.finish_reason == "length" and choice.message.role == "assistant", whole)
    expect(whole.usage.completion_tokens == 20 and whole.usage.total_tokens == whole.usage.prompt_tokens + 20, whole.usage)
    again = client.chat.completions.create(**settings)
    expect(again.choices[0].message.content == choice.message.content, "temperature 0 says the same twice")
    expect(again.usage.prompt_tokens_details.cached_tokens == whole.usage.prompt_tokens - 1, again.usage)
    text, finish, usage, roles = "", None, None, []
    for chunk in client.chat.completions.create(**settings, stream=True, stream_options={"include_usage": True}):
        usage = chunk.usage or usage
        for each in chunk.choices:
            text += each.delta.content or ""
            finish = each.finish_reason or finish
            roles.append(each.delta.role)
    expect(text == choice.message.content, f"streamed {text!r}, whole {choice.message.content!r}")
    expect(finish == "length" and usage.completion_tokens == 20 and roles[0] == "assistant", (finish, usage, roles))
    logprobs = client.chat.completions.create(**settings, logprobs=True, top_logprobs=3).choices[0].logprobs.content
    expect(len(logprobs) == 20 and len(logprobs[0].top_logprobs) == 3, logprobs)
    expect("".join(bytes(each.bytes).decode() for each in logprobs) == choice.message.content, logprobs)
    several = client.chat.completions.create(model="x", messages=QUESTION, n=3, max_tokens=4, seed=1)
    expect([each.index for each in several.choices] == [0, 1, 2], several)
    tools = client.chat.completions.create(**settings, tools=[TOOL], tool_choice="auto")
    expect(tools.choices[0].message.content is not None, tools)
    stopped = client.chat.completions.create(**{**settings, "max_tokens": 200}, stop=[" "])
    expect(stopped.choices[0].finish_reason == "stop" and " " not in stopped.choices[0].message.content, stopped)

    completion = client.completions.create(model="x", prompt="Once upon a time", max_tokens=8, temperature=0, logprobs=2)
    expect(completion.choices[0].text.strip() and completion.choices[0].finish_reason == "length", completion)
    pieces = client.completions.create(model="x", prompt="Once upon a time", max_tokens=8, temperature=0, stream=True)
    expect("".join(piece.choices[0].text for piece in pieces) == completion.choices[0].text, "completions as a stream")
    both = client.completions.create(model="x", prompt=["The fox", "A lamp"], max_tokens=3)
    expect(len(both.choices) == 2, both)

    response = client.responses.create(model="x", input="Tell me a story.", max_output_tokens=12, temperature=0)
    expect(response.status == "incomplete" and response.output_text, response)
    events = list(client.responses.create(model="x", input="Tell me a story.", max_output_tokens=12, temperature=0, stream=True))
    expect(events[0].type == "response.created" and events[-1].type == "response.incomplete", [each.type for each in events])
    expect("".join(each.delta for each in events if each.type == "response.output_text.delta") == response.output_text, events)
    expect([each.sequence_number for each in events] == list(range(len(events))), "sequence numbers")
    expect(events[-1].response.output_text == response.output_text, events[-1])

    error = refusal(openai.BadRequestError, lambda: client.chat.completions.create(**{**settings, "temperature": -1}))
    expect(error.status_code == 400 and "temperature" in str(error), error)
    error = refusal(openai.BadRequestError, lambda: client.chat.completions.create(
        model="x", messages=[{"role": "user", "content": "fox " * 3000}]))
    expect("context_length_exceeded" in str(error), error)
    refusal(openai.AuthenticationError, lambda: openai.OpenAI(base_url=url + "/v1", api_key="no").models.list())
    error = refusal(openai.APIStatusError, lambda: client.embeddings.create(model="x", input="text"))
    expect(error.status_code == 501, error)


def test_ollama(url):
    client = ollama.Client(host=url, headers={"Authorization": "Bearer secret"})
    expect([each.model for each in client.list().models] == ["storyteller"], client.list())
    expect(client.ps().models[0].context_length == 1024, client.ps())
    expect("completion" in client.show("storyteller").capabilities, client.show("storyteller"))
    options = {"temperature": 0, "num_predict": 12}
    whole = client.chat("storyteller", QUESTION, options=options)
    expect(whole.done and whole.done_reason == "length" and whole.eval_count == 12, whole)
    lines = list(client.chat("storyteller", QUESTION, options=options, stream=True))
    expect("".join(each.message.content for each in lines) == whole.message.content, lines)
    expect(lines[-1].done and lines[-1].total_duration > 0, lines[-1])
    raw = client.generate("storyteller:latest", "Once upon a time", raw=True, options=options)
    expect(raw.response and raw.prompt_eval_count == 4, raw)
    lines = list(client.generate("storyteller", "Once upon a time", raw=True, options=options, stream=True))
    expect("".join(each.response for each in lines) == raw.response, lines)
    expect(client.generate("storyteller", "").done_reason == "load", "an empty prompt loads the model")
    error = refusal(ollama.ResponseError, lambda: client.generate("another", "Hi"))
    expect(error.status_code == 404 and error.error == "model 'another' not found", error)
    error = refusal(ollama.ResponseError, lambda: client.generate("storyteller", "Hi", options={"temperature": "hot"}))
    expect(error.status_code == 400, error)
    expect(refusal(ollama.ResponseError, lambda: client.embed("storyteller", "Hi")).status_code == 501, "embed")


def test_anthropic(url):
    client = anthropic.Anthropic(base_url=url, api_key="secret")
    settings = dict(model="storyteller", max_tokens=16, system="You tell stories.", messages=QUESTION,
                    extra_body={"temperature": 0})
    whole = client.messages.create(**settings)
    expect(whole.stop_reason == "max_tokens" and whole.content[0].type == "text", whole)
    expect(whole.usage.output_tokens == 16, whole.usage)
    with client.messages.stream(**settings) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    expect(text == whole.content[0].text and final.stop_reason == "max_tokens", final)
    counted = client.messages.count_tokens(model="x", system="You tell stories.", messages=QUESTION)
    expect(counted.input_tokens == whole.usage.input_tokens + whole.usage.cache_read_input_tokens, counted)
    stopped = client.messages.create(**{**settings, "max_tokens": 200}, stop_sequences=[" "])
    expect(stopped.stop_reason == "stop_sequence" and stopped.stop_sequence == " ", stopped)
    history = QUESTION + [{"role": "assistant", "content": [{"type": "text", "text": "Once."}]},
                          {"role": "user", "content": [{"type": "text", "text": "Go on."}]}]
    expect(client.messages.create(**{**settings, "messages": history}).content[0].text, "a conversation")
    error = refusal(anthropic.BadRequestError, lambda: client.messages.create(**{**settings, "max_tokens": 0}))
    expect(error.body["type"] == "error" and "max_tokens" in error.body["error"]["message"], error.body)


def test_embeddings(url):
    """Of an encoder, whose vectors all APIs have alike."""
    texts = ["the city", "machine learning", "word"]
    client = openai.OpenAI(base_url=url + "/v1", api_key="none")
    reply = client.embeddings.create(model="bert", input=texts)  # which the client asks for as bytes
    vectors = [each.embedding for each in reply.data]
    expect(len(vectors) == 3 and len(vectors[0]) == 64, reply)
    expect(all(abs(sum(x * x for x in vector) - 1) < 1e-5 for vector in vectors), "length 1")
    expect(reply.usage.prompt_tokens == reply.usage.total_tokens > 9, reply.usage)
    plain = client.embeddings.create(model="bert", input=texts[0], encoding_format="float")
    expect(plain.data[0].embedding == vectors[0], "the same as numbers")
    expect(len(client.embeddings.create(model="bert", input=texts[0], dimensions=8).data[0].embedding) == 8, "dimensions")
    error = refusal(openai.BadRequestError, lambda: client.embeddings.create(model="bert", input="word " * 600))
    expect("too large" in str(error), error)
    error = refusal(openai.APIStatusError, lambda: client.completions.create(model="bert", prompt="the"))
    expect(error.status_code == 501, error)

    client = ollama.Client(host=url)
    reply = client.embed(model="bert", input=texts)
    expect([list(each) for each in reply.embeddings] == vectors, "ollama's are openai's")
    expect(reply.prompt_eval_count > 9, reply.prompt_eval_count)
    expect(len(client.embed(model="bert", input="word " * 600).embeddings) == 1, "cut to what fits")
    older = client.embeddings(model="bert", prompt=texts[0]).embedding
    size = sum(x * x for x in older) ** 0.5
    expect(max(abs(x / size - y) for x, y in zip(older, vectors[0])) < 1e-6, "the older form")


def main():
    riftjit = sys.argv[1]
    model = sys.argv[2:3] and ["-m", sys.argv[2]]
    process, url = start([riftjit, "serve", *model, "--port", "0", "-c", "1024", "-a", "storyteller", "--api-key", "secret",
                          "-np", "4", "-kvu"])
    try:
        test_openai(url)
        test_ollama(url)
        test_anthropic(url)
        with urllib.request.urlopen(url + "/health") as reply:
            expect(json.load(reply) == {"status": "ok"}, "the server is well after all of it")
    finally:
        process.terminate()
        code = process.wait(timeout=30)
    expect(code == 143, f"exit code {code} after SIGTERM")
    encoder = os.path.join(os.path.dirname(__file__), "..", "data", "encoders", "bert_mean.gguf")
    process, url = start([riftjit, "serve", "-m", encoder, "--port", "0", "-a", "bert"])
    try:
        test_embeddings(url)
    finally:
        process.terminate()
        process.wait(timeout=30)
    print(f"clients_test: {checks} checks hold")


main()
