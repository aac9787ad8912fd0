"""Writes a model of 17 MB with random weights (Qwen3, dense) that a real engine serves on a CPU: `… OUT`.

Needs numpy and tokenizers, as they lie beside an engine. Nothing is downloaded; the bytes never change.
"""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

HIDDEN, LAYERS, HEADS, KV_HEADS, HEAD, INNER, VOCABULARY = 256, 4, 4, 2, 64, 768, 2048
SPECIALS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")


def make_tokenizer(out: Path) -> list[int]:
    """A byte-level tokenizer; the ids that no sampler shall pick: special ones, and bytes that are no ASCII.

    Broken UTF-8 would make an engine hold text back, and streamed times would mean nothing.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    draw = np.random.default_rng(7)
    syllables = [f"{one}{other}" for one in "bcdfghjklmn" for other in "aeiou"]
    words = [f"{one}{other}" for one in syllables for other in syllables]
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY - len(SPECIALS), show_progress=False, initial_alphabet=alphabet
    )
    made.train_from_iterator((" ".join(draw.choice(words, 40)) for _ in range(2000)), trainer)
    left = VOCABULARY - len(SPECIALS) - made.get_vocab_size()
    made.add_tokens([f" w{at:04d}" for at in range(left)])
    made.add_special_tokens(list(SPECIALS))
    made.save(str(out / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": "<|im_end|>",
        "pad_token": "<|endoftext|>",
    }
    (out / "tokenizer_config.json").write_text(json.dumps(settings))
    shown = {chr(code) for code in range(33, 127)} | {"\u0120"}
    vocabulary = made.get_vocab(with_added_tokens=True).items()
    return [at for text, at in vocabulary if text in SPECIALS or (len(text) == 1 and text not in shown)]


class Weights:
    """Writes safetensors by hand, in float32, so that no torch is needed."""

    def __init__(self) -> None:
        self._draw = np.random.default_rng(0)
        self._all: dict[str, np.ndarray] = {}

    def drawn(self, name: str, *shape: int, scale: float | None = None) -> np.ndarray:
        """By chance, of about the size that a trained one has."""
        found = self._draw.standard_normal(shape) * (scale or shape[-1] ** -0.5)
        self._all[name] = found.astype(np.float32)
        return self._all[name]

    def ones(self, *names: str, size: int) -> None:
        """For norms."""
        for name in names:
            self._all[name] = np.ones(size, dtype=np.float32)

    def save(self, path: Path) -> None:
        """The file."""
        head: dict[str, object] = {"__metadata__": {"format": "pt"}}
        at = 0
        for name, each in self._all.items():
            place = [at, at + each.nbytes]
            head[name] = {"dtype": "F32", "shape": list(each.shape), "data_offsets": place}
            at += each.nbytes
        text = json.dumps(head).encode()
        text += b" " * (-len(text) % 8)
        with path.open("wb") as stream:
            stream.write(struct.pack("<Q", len(text)) + text)
            for each in self._all.values():
                stream.write(each.tobytes())


def make_weights(unlikely: Sequence[int]) -> Weights:
    """All layers."""
    found = Weights()
    found.drawn("model.embed_tokens.weight", VOCABULARY, HIDDEN, scale=1.0)
    for layer in range(LAYERS):
        at = f"model.layers.{layer}"
        found.ones(f"{at}.input_layernorm.weight", f"{at}.post_attention_layernorm.weight", size=HIDDEN)
        found.drawn(f"{at}.self_attn.q_proj.weight", HEADS * HEAD, HIDDEN)
        found.drawn(f"{at}.self_attn.k_proj.weight", KV_HEADS * HEAD, HIDDEN)
        found.drawn(f"{at}.self_attn.v_proj.weight", KV_HEADS * HEAD, HIDDEN)
        found.drawn(f"{at}.self_attn.o_proj.weight", HIDDEN, HEADS * HEAD)
        found.ones(f"{at}.self_attn.q_norm.weight", f"{at}.self_attn.k_norm.weight", size=HEAD)
        found.drawn(f"{at}.mlp.gate_proj.weight", INNER, HIDDEN)
        found.drawn(f"{at}.mlp.up_proj.weight", INNER, HIDDEN)
        found.drawn(f"{at}.mlp.down_proj.weight", HIDDEN, INNER)
    found.ones("model.norm.weight", size=HIDDEN)
    head = found.drawn("lm_head.weight", VOCABULARY, HIDDEN, scale=3 * HIDDEN**-0.5)
    head[list(unlikely)] = 0
    return found


CONFIG = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "hidden_size": HIDDEN,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "num_key_value_heads": KV_HEADS,
    "head_dim": HEAD,
    "intermediate_size": INNER,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": 8192,
    "rms_norm_eps": 1e-6,
    "rope_theta": 1e6,
    "hidden_act": "silu",
    "attention_bias": False,
    "tie_word_embeddings": False,
    "torch_dtype": "float32",
    "bos_token_id": VOCABULARY - 3,
    "eos_token_id": VOCABULARY - 1,
}


def main() -> None:
    """Write it."""
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    unlikely = make_tokenizer(out)
    (out / "config.json").write_text(json.dumps(CONFIG, indent=1))
    make_weights(unlikely).save(out / "model.safetensors")


if __name__ == "__main__":
    main()
