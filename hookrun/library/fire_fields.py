"""The fields of a context as keyword arguments, for type checkers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from os import PathLike
from typing import TypedDict
from uuid import UUID

Id = str | int | UUID | None
Path = str | PathLike[str] | None


class FireFields(TypedDict, total=False):
    """The known fields of all events, with the types that `fire` takes. Fields of a program's own go in a mapping."""

    agent: str | None
    agent_event: str | None
    agent_id: Id
    agent_name: str | None
    agent_tool_name: str | None
    assistant_response: str | None
    checkpoint_data: Mapping[str, object] | None
    error_info: Mapping[str, object] | None
    file_path: Path
    initial_message: str | None
    level: str | None
    message: str | None
    message_count: int | None
    metadata: Mapping[str, object] | None
    model: str | None
    payload: object
    permission_mode: str | None
    possible_tool_names: Sequence[str]
    reason: str | None
    reflection: str | None
    request_id: Id
    resumed: bool
    root_session_id: Id
    session_id: Id
    source: str | None
    stop_hook_active: bool
    timestamp: str | datetime
    token_count: int | None
    tool_args: Mapping[str, object] | None
    tool_name: str | None
    tool_result_error: str | None
    tool_result_output: str | None
    tool_use_id: Id
    transcript_path: Path
    trigger: str | None
    usage: Mapping[str, object] | None
    user_prompt: str | None
    working_dir: Path
