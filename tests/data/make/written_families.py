"""Families that transformers has no class of, as their papers and published code have them: logits in float64 of a
checkpoint's tensors by their published names, the configuration and the ids of a text."""
import math
import torch
from torch.nn.functional import rms_norm, silu, softplus


def norm(x, gain, epsilon): return rms_norm(x, (x.shape[-1],), eps=epsilon) * gain


def rotate(x, base):
    """Of [rows, heads, elements], halves of each head together (arXiv 2104.09864)."""
    dim = x.shape[-1]
    angles = torch.arange(len(x))[:, None] * base ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim)
    cos, sin = (f(angles).repeat(1, 2)[:, None, :] for f in (torch.cos, torch.sin))
    return x * cos + torch.cat([-x[..., dim // 2:], x[..., :dim // 2]], -1) * sin


def attend(q, k, v):
    """Causal, with grouped queries; all are [rows, heads, elements]."""
    q, k, v = (x.transpose(0, 1) for x in (q, k, v))
    k, v = (x.repeat_interleave(len(q) // len(x), 0) for x in (k, v))
    scores = q @ k.transpose(1, 2) / math.sqrt(q.shape[-1])
    later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    return (scores.masked_fill(later, -torch.inf).softmax(-1) @ v).transpose(0, 1).flatten(1)


def convolve(x, taps):
    """Causal, each channel by itself: x [rows, channels], taps [channels, 1, width]."""
    width = taps.shape[-1]
    padded = torch.cat([x.new_zeros(width - 1, x.shape[1]), x])
    return sum(taps[:, 0, i] * padded[i:i + len(x)] for i in range(width))


def scan(x, dt, decay, b, c, skip):
    """Mamba 2 (arXiv 2405.21060): x [rows, heads, elements], dt [rows, heads], b and c [rows, states]."""
    state, out = x.new_zeros(*x.shape[1:], b.shape[1]), []
    for row in range(len(x)):
        state = state * (dt[row] * decay).exp()[:, None, None] + (dt[row][:, None] * x[row])[..., None] * b[row]
        out.append(state @ c[row] + skip[:, None] * x[row])
    return torch.stack(out)


def plamo2(w, config, ids):
    """The published modeling_plamo.py: gains are what they are beside a number of their place."""
    epsilon, dim, states = config["rms_norm_eps"], config["hidden_size_per_head"], config["mamba_d_state"]
    x = w["model.embed_tokens.weight"][ids]
    for layer in range(config["num_hidden_layers"]):
        def of(name, at=layer): return w[f"model.layers.layers.{at}.{name}"]
        h = norm(x, of("pre_mixer_norm.weight") + 1, epsilon)
        if f"model.layers.layers.{layer}.mixer.in_proj.weight" in w:
            z, inner = (h @ of("mixer.in_proj.weight").T).view(len(ids), -1, 2, dim).unbind(2)
            inner = silu(convolve(inner.flatten(1), of("mixer.conv1d.weight")))
            b, c, dt = (inner @ of("mixer.bcdt_proj.weight").T).split([states, states, max(64, len(x[0]) // 16)], -1)
            b, c, dt = (norm(value, of(f"mixer.{name}_norm_weight"), epsilon)
                        for value, name in ((b, "B"), (c, "C"), (dt, "dt")))
            dt = softplus(dt @ of("mixer.dt_proj.weight").T + of("mixer.dt_bias"))
            scanned = scan(inner.view(len(ids), -1, dim), dt, -of("mixer.A_log").exp(), b, c, of("mixer.D"))
            mixed = (silu(z) * scanned).flatten(1) @ of("mixer.out_proj.weight").T
        else:
            heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
            q, k, v = (h @ of("mixer.qkv_proj.weight").T).view(len(ids), -1, dim).split([heads, kv_heads, kv_heads], 1)
            q, k = (rotate(norm(value, of(f"mixer.{name}_weight"), epsilon), config["rope_theta"])
                    for value, name in ((q, "q"), (k, "k")))
            mixed = attend(q, k, v) @ of("mixer.o_proj.weight").T
        x = x + norm(mixed, of("post_mixer_norm.weight") + 1 / 5, epsilon)
        gate, up = (norm(x, of("pre_mlp_norm.weight") + 1, epsilon) @ of("mlp.gate_up_proj.weight").T).chunk(2, -1)
        x = x + norm((silu(gate) * up) @ of("mlp.down_proj.weight").T, of("post_mlp_norm.weight") + 1 / 5**1.5, epsilon)
    return norm(x, w["model.norm.weight"] + 1, epsilon) @ w["lm_head.weight"].T


def layer_norm(w, name, x, epsilon):
    return torch.nn.functional.layer_norm(x, (x.shape[-1],), w[name + ".weight"], w[name + ".bias"], epsilon)


def before(x): return torch.cat([torch.zeros_like(x[:1]), x[:-1]])


def group_norm(of, x, heads):
    return torch.nn.functional.group_norm(x, heads, of("ln_x.weight"), of("ln_x.bias"), 64e-5)


def goose(of, x, first_values, dim, has_gate):
    """RWKV-7's time mixing (arXiv 2503.14456, and its published code): rows and the first layer's values."""
    last, heads = before(x), x.shape[1] // dim
    def mixed(name): return x + (last - x) * of("x_" + name).flatten()
    def low_rank(name, x, bend=lambda x: x): return bend(x @ of(name + "1")) @ of(name + "2") + of(name + "0").flatten()
    r, k, v = (mixed(name) @ of(what + ".weight").T for name, what in (("r", "receptance"), ("k", "key"), ("v", "value")))
    decay = torch.exp(-torch.exp(-softplus(-low_rank("w", mixed("w"), torch.tanh)) - 0.5))
    if first_values is None: first_values = v
    else: v = v + (first_values - v) * low_rank("v", mixed("v")).sigmoid()
    a = low_rank("a", mixed("a")).sigmoid()
    by_head = lambda x: x.view(-1, heads, dim)
    known = torch.nn.functional.normalize(by_head(k * of("k_k").flatten()), dim=-1)
    k = k * (1 + (a - 1) * of("k_a").flatten())
    r_, k_, v_, a_, d_ = map(by_head, (r, k, v, a, decay))
    state, out = x.new_zeros(heads, dim, dim), []  # values by keys
    for row in range(len(x)):
        change = -known[row][:, :, None] * (known[row] * a_[row])[:, None, :]
        state = state * d_[row][:, None, :] + state @ change + v_[row][:, :, None] * k_[row][:, None, :]
        out.append((state @ r_[row][:, :, None]).flatten())
    out = torch.stack(out)
    if has_gate: out = group_norm(of, out, heads)
    out = out + ((r_ * k_ * of("r_k")).sum(-1, keepdim=True) * v_).flatten(1)
    if has_gate: out = out * (torch.sigmoid(mixed("g") @ of("g1")) @ of("g2"))
    return out @ of("output.weight").T, first_values


def rwkv7(w, config, ids):
    epsilon, first_values = config["layer_norm_epsilon"], None
    x = layer_norm(w, "model.layers.0.pre_norm", w["model.embeddings.weight"][ids], epsilon)
    for layer in range(config["num_hidden_layers"]):
        prefix = f"model.layers.{layer}."
        def of(name, at=prefix + "attention."): return w[at + name]
        mixed, first_values = goose(of, layer_norm(w, prefix + "ln1", x, epsilon), first_values, config["head_size"], True)
        x = x + mixed
        h = layer_norm(w, prefix + "ln2", x, epsilon)
        h = h + (before(h) - h) * w[prefix + "feed_forward.x_k"].flatten()
        x = x + (h @ w[prefix + "feed_forward.key.weight"].T).relu() ** 2 @ w[prefix + "feed_forward.value.weight"].T
    return layer_norm(w, "model.ln_out", x, epsilon) @ w["lm_head.weight"].T


def arwkv7(w, config, ids):
    """RWKV-7's time mixing, here without a gate, in qwen2's blocks."""
    epsilon, first_values = config["rms_norm_eps"], None
    x = w["model.embed_tokens.weight"][ids]
    for layer in range(config["num_hidden_layers"]):
        prefix = f"model.layers.{layer}."
        def of(name, at=prefix + "self_attn.time_mixer."): return w[at + name]
        mixed, first_values = goose(of, norm(x, w[prefix + "input_layernorm.weight"], epsilon), first_values,
                                    config["head_size"], False)
        x = x + mixed
        h = norm(x, w[prefix + "post_attention_layernorm.weight"], epsilon)
        gate, up = (h @ w[prefix + f"mlp.{name}_proj.weight"].T for name in ("gate", "up"))
        x = x + (silu(gate) * up) @ w[prefix + "mlp.down_proj.weight"].T
    return norm(x, w["model.norm.weight"], epsilon) @ w["lm_head.weight"].T


def rwkv6(w, config, ids):
    """Finch (arXiv 2404.05892) and its published code, which halves rows every so many layers."""
    epsilon, dim, period = config["layer_norm_epsilon"], config["head_size"], config["rescale_every"]
    x = layer_norm(w, "rwkv.blocks.0.pre_ln", w["rwkv.embeddings.weight"][ids], epsilon)
    for layer in range(config["num_hidden_layers"]):
        prefix = f"rwkv.blocks.{layer}."
        def of(name, at=prefix + "attention."): return w[at + name]
        h = layer_norm(w, prefix + "ln1", x, epsilon)
        last, heads = before(h), h.shape[1] // dim
        shares = torch.tanh((h + (last - h) * of("time_maa_x").flatten()) @ of("time_maa_w1")).view(len(h), 5, -1)
        shares = torch.einsum("tse,sen->stn", shares, of("time_maa_w2"))
        xw, xk, xv, xr, xg = (h + (last - h) * (of("time_maa_" + name).flatten() + share)
                              for name, share in zip("wkvrg", shares))
        decay = of("time_decay").flatten() + torch.tanh(xw @ of("time_decay_w1")) @ of("time_decay_w2")
        r, k, v, d = (x.view(len(h), heads, dim) for x in (
            xr @ of("receptance.weight").T, xk @ of("key.weight").T, xv @ of("value.weight").T, torch.exp(-torch.exp(decay))))
        state, out = h.new_zeros(heads, dim, dim), []  # keys by values
        for row in range(len(h)):
            new = k[row][:, :, None] * v[row][:, None, :]
            out.append((r[row][:, None, :] @ (state + of("time_faaaa")[:, :, None] * new)).flatten())
            state = state * d[row][:, :, None] + new
        x = x + group_norm(of, torch.stack(out), heads) * silu(xg @ of("gate.weight").T) @ (
            of("output.weight").T / 2 ** (layer // period))
        def ffn(name, at=prefix + "feed_forward."): return w[at + name]
        h = layer_norm(w, prefix + "ln2", x, epsilon)
        xk, xr = (h + (before(h) - h) * ffn("time_maa_" + name).flatten() for name in "kr")
        value = (xk @ ffn("key.weight").T).relu() ** 2 @ (ffn("value.weight").T / 2 ** (layer // period))
        x = x + torch.sigmoid(xr @ ffn("receptance.weight").T) * value
        if (layer + 1) % period == 0: x = x / 2
    return layer_norm(w, "rwkv.ln_out", x, epsilon) @ w["head.weight"].T


WRITTEN = {"plamo2": plamo2, "rwkv6": rwkv6, "rwkv7": rwkv7, "arwkv7": arwkv7}
