"""What an agent's transcript, or its word on one inference, says was used: model and tokens, by Anthropic's names."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MOST = 64 << 20
"""Bytes of a transcript that are read at once; what is left is read the next time."""
SIGNS = (b'"usage"', b'"usageMetadata"')
"""A line without either tells no usage: most lines are not even parsed."""


@dataclass(frozen=True)
class Used:
    """One inference: what it is called in the transcript, the model, and its usage."""

    id: str
    model: str
    usage: dict[str, int]


def read(path: str, start: int) -> tuple[list[Used], int]:
    """Return what the lines from byte `start` on tell, and where the next look begins: after the last whole line.

    A file that is shorter than that has been written anew, and is read from its beginning. Raises OSError.
    """
    with open(path, "rb") as file:
        size = file.seek(0, 2)
        start = start if start <= size else 0
        file.seek(start)
        data = file.read(MOST)
    end = data.rfind(b"\n") + 1
    lines = (line for line in data[:end].split(b"\n") if any(sign in line for sign in SIGNS))
    return [used for line in lines for used in _of_line(line)], start + end


def of_event(context: Mapping[str, object]) -> Used | None:
    """Return what the event `after_inference` tells, None where it tells no usage."""
    response, request = _object(context.get("llm_response")), _object(context.get("llm_request"))
    if response:
        candidates = response.get("candidates")
        finished = isinstance(candidates, list) and any(_object(each).get("finishReason") for each in candidates)
        usage = _of_google(response) if finished else {}  # of a stream, only the last piece has it all
    else:
        usage = _of_openai(_object(context.get("token_usage"))) or _counts(_object(context.get("usage")))
    model = context.get("model") or request.get("model")
    return Used(str(context.get("request_id")), model if isinstance(model, str) else "", usage) if usage else None


def _of_line(line: bytes) -> Iterator[Used]:
    """Yield the inference of a line: Claude Code's `message.usage`, or `usageMetadata` as Qwen Code has it."""
    try:
        data = _object(json.loads(line))
    except ValueError:
        return
    message = _object(data.get("message"))
    usage = _counts(_object(message.get("usage"))) or _of_google(data)
    name, model = message.get("id") or data.get("uuid"), message.get("model") or data.get("model")
    if isinstance(name, str) and isinstance(model, str) and any(usage.values()):
        yield Used(name, model, usage)


def _of_openai(usage: Mapping[str, object]) -> dict[str, int]:
    """Return a usage that counts cached tokens in, as Codex tells it."""
    counts = _counts({**usage, "cache_read_input_tokens": usage.get("cached_input_tokens")})
    if counts:
        counts["input_tokens"] = max(counts.get("input_tokens", 0) - counts.get("cache_read_input_tokens", 0), 0)
    return counts


def _of_google(data: Mapping[str, object]) -> dict[str, int]:
    """Return a usage of Gemini's API, which counts cached tokens in and thoughts apart."""
    told = _object(data.get("usageMetadata"))
    names = ("promptTokenCount", "candidatesTokenCount", "cachedContentTokenCount", "thoughtsTokenCount")
    prompt, answer, cached, thoughts = (_count(told.get(name)) for name in names)
    if not told:
        return {}
    usage = {"input_tokens": max(prompt - cached, 0), "output_tokens": answer + thoughts}
    return {**usage, "cache_read_input_tokens": cached}


NAMES = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


def _counts(usage: Mapping[str, object]) -> dict[str, int]:
    return {name: _count(usage[name]) for name in NAMES if usage.get(name) is not None}


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53 else 0


def _object(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}
