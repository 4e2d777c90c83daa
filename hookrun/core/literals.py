"""The words that a Python program may pass, for type checkers. Not imported at run time on the way of `hookrun fire`.

A literal type can be read by a checker only if it is written out; a test holds them equal to the tables.
"""

from __future__ import annotations

from typing import Literal

Action = Literal["continue", "allow", "modify", "ask", "skip", "block", "stop"]
Mode = Literal["enforce", "advise", "off"]
Policy = Literal["continue", "block"]
EventName = Literal[
    "session_start", "session_end", "user_prompt_submit", "assistant_response", "pre_tool_use", "post_tool_use",
    "post_tool_failure", "tool_call_requested", "tool_call_aborted", "permission_request", "file_changed", "stop",
    "subagent_start", "subagent_stop", "pre_compact", "post_compact", "notification", "error", "before_request",
    "after_request", "before_inference", "after_inference", "pre_checkpoint", "post_checkpoint",
    "pre_reflection_store", "pre_search_query", "pre_session_end",
]  # fmt: skip
