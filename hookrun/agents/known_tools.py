"""Tools and arguments of agents beyond those they share: for warnings, and to name tools that are in no table.

Tools that an agent's own module translates are in its TOOLS. Lists may be incomplete: an unknown name only causes a
warning.
"""

from __future__ import annotations

from functools import cache

from hookrun.agents import AGENTS, load


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _pairs(text: str) -> dict[str, str]:
    return dict(pair.split("=") for pair in text.split())


ARGUMENTS = {
    "bash": ("command",),
    "read": ("file_path",),
    "write": ("file_path", "content"),
    "edit": ("file_path", "old_string", "new_string"),
    "delete": ("file_path",),
    "glob": ("pattern",),
    "grep": ("pattern",),
    "web_fetch": ("url",),
    "web_search": ("query",),
    "task": ("prompt",),
}
"""hookrun's name of each tool -> its arguments, by hookrun's names."""

PASSED_THROUGH = {
    "bash": _words(
        "background cwd dangerouslyDisableSandbox description detach dir_path directory initial_wait is_background "
        "mode run_in_background sessionId shell shell_id timeout timeout_ms workdir working_directory yield_time_ms"
    ),
    "read": _words("end_line limit offset pages start_line view_range"),
    "write": _words("ai_proposed_content modified_by_user"),
    "edit": _words(
        "allow_multiple ai_proposed_content cell_id cell_type diff edit_mode edits expected_replacements insert_line "
        "instruction modified_by_user notebook_path replaceAll replace_all"
    ),
    "delete": frozenset[str](),
    "glob": _words("case_sensitive dir_path path respect_gemini_ignore respect_git_ignore"),
    "grep": _words(
        "-A -B -C -i -n -o case_sensitive context dir_path glob head_limit include limit multiline offset output_mode "
        "path paths type"
    ),
    "web_fetch": _words("format max_length prompt raw start_index timeout"),
    "web_search": _words("allowed_domains blocked_domains contextMaxCharacters livecrawl numResults type"),
    "task": _words("agent_name agent_type command description isolation model name run_in_background subagent_type"),
}
"""hookrun's name of a tool -> agents' arguments that hookrun does not rename."""

MORE_TOOLS = {
    "claude": _words(
        "Artifact AskUserQuestion ClaudeDesign CronCreate CronDelete CronList EndConversation EnterPlanMode "
        "EnterWorktree ExitPlanMode ExitWorktree ListAgents ListMcpResourcesTool LSP OfferChromeSetup Projects "
        "propose_skills PushNotification ReadMcpResourceDirTool ReadMcpResourceTool ReadNotifications RemoteTrigger "
        "ReportFindings ScheduleWakeup SendFeedback SendMessage SendUserFile SendUserMessage SetGoal "
        "ShareOnboardingGuide ShowOnboardingRolePicker Skill SubagentHandback TaskCreate TaskGet TaskList TaskStop "
        "TaskUpdate TodoWrite ToolSearch WaitForMcpServers Workflow"
    ),
    "codex": _words(
        "apply_patch close_agent exec_command get_goal list_mcp_resources read_mcp_resource resume_agent send_input "
        "spawn_agent update_goal update_plan view_image wait wait_agent write_stdin"
    ),
    "gemini": _words(
        "activate_skill ask_user complete_task enter_plan_mode exit_plan_mode get_internal_docs list_directory "
        "read_many_files save_memory write_todos"
    ),
    "qwen": _words("ask_user_question exit_plan_mode list_directory lsp read_many_files save_memory skill todo_write"),
    "copilot": _words(
        "Agent apply_patch ask_user list_agents list_bash read_agent read_bash report_intent skill sql stop_bash "
        "store_memory update_todo write_agent write_bash"
    ),
    "cline": _words("apply_patch ask_question skills submit_and_exit"),
    "opencode": _words("apply_patch invalid list lsp patch question skill todoread todowrite"),
}
"""An agent -> its tools without a name of hookrun's."""

OTHER_CALLERS = {
    "cursor": (
        "Cursor",
        _pairs(
            "Shell=bash Read=read Write=write Edit=edit StrReplace=edit Delete=delete Grep=grep Glob=glob Task=task"
        ),
    ),
    "devin": ("Devin", _pairs("exec=bash read=read write=write edit=edit glob=glob grep=grep webfetch=web_fetch")),
    "grok": (
        "Grok Build",
        _pairs(
            "run_terminal_command=bash monitor=bash read_file=read write=write search_replace=edit list_dir=glob "
            "grep=grep web_search=web_search web_fetch=web_fetch spawn_subagent=task"
        ),
    ),
    "vscode": (
        "VS Code",
        _pairs(
            "runTerminalCommand=bash runInTerminal=bash run_in_terminal=bash readFile=read read_file=read "
            "createFile=write create_file=write editFiles=edit replace_string_in_file=edit "
            "multi_replace_string_in_file=edit insert_edit_into_file=edit apply_patch=edit deleteFile=delete "
            "grep_search=grep file_search=glob fetch=web_fetch fetch_webpage=web_fetch runSubagent=task"
        ),
    ),
}
"""Agents that run the hooks in Claude Code's settings (see callers.py) -> title, and tools with hookrun's names."""


@cache
def native_tools(agent: str) -> dict[str, str]:
    """Return an agent's own names of its tools, each with hookrun's (itself, if it has none)."""
    tools = load(agent).TOOLS if agent in AGENTS else OTHER_CALLERS.get(agent, ("", {}))[1]
    return {**{name: name for name in MORE_TOOLS.get(agent, ())}, **tools}


def title(agent: str) -> str:
    """Return an agent's name for people."""
    return load(agent).DISPLAY_NAME if agent in AGENTS else OTHER_CALLERS[agent][0]
