"""Tools and arguments of agents beyond shared ones: for warnings, and to name tools that are in no table.

Tools that an agent's module translates are in its TOOLS. Lists may be incomplete: an unknown name only causes a
warning, and a tool in no table is named by its arguments: `command` means a shell, a path with content a file.
"""

from __future__ import annotations

from hookrun.agents import AGENTS, base, load, patch
from hookrun.agents.base import CanonicalCall, Message, NameMap
from hookrun.agents.mcp_names import name_mcp_tool
from hookrun.core.events import CLAUDE_TOOLS
from hookrun.core.fastjson import loads
from hookrun.core.model import Verdict, as_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrun.agents.base import Arguments
    from hookrun.agents.types import Agent


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _pairs(text: str) -> dict[str, str]:
    return dict(pair.split("=") for pair in text.split())


# A tool -> its arguments, all by hookrun's names.
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

# hookrun's name of a tool -> agents' arguments that keep their names.
PASSED_THROUGH = {
    "bash": _words(
        "action background cwd dangerouslyDisableSandbox description detach dir_path directory initial_wait "
        "is_background mode run_in_background sessionId shell shell_id timeout timeout_ms workdir "
        "working_directory yield_time_ms"
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

# An agent -> its tools without a name of hookrun's.
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
    "kilo": _words(
        "apply_patch board_post board_read cancel_wakeup cron_create cron_delete cron_list goal invalid "
        "kilo_local_recall link_pr list lsp patch question schedule_wakeup skill todoread todowrite"
    ),
    "pi": _words("codemode tool_search"),
    "vibe": _words(
        "agents.send_message process.list process.output process.stop process.write self.sleep self.wait vibe.skill "
        "vibe.todo"
    ),
}

# Agents' own tools that read, list or run -> hookrun's name; `read_many_files` becomes a call for each file.
OWN_TOOLS = {"read_many_files": "read", "view_image": "read", "list_directory": "glob", "run_typescript": "bash"}
# One of these -> its names of arguments that only it uses so.
OWN_ARGUMENTS = {"read_many_files": {"include": "paths"}, "run_typescript": {"code": "command"}}

# Agents that run Claude Code's hooks, or lines written by hand (see callers.py) -> title, tools with hookrun's names.
OTHER_CALLERS = {
    "goose": ("Goose", _pairs("developer__shell=bash developer__write=write developer__edit=edit")),
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


# Results of `native_tools`. Importing functools would cost each call of an agent in OTHER_CALLERS 3 ms.
NATIVE: dict[str, dict[str, str]] = {}
# Results of `canonical_tools`, up to so many: a program's tools may be named from outside.
CANONICAL: dict[str, list[str]] = {}
MOST_NAMES = 1024


def native_tools(agent: str) -> dict[str, str]:
    """Return an agent's names of its tools, each with hookrun's, or itself without one."""
    if agent not in NATIVE:
        tools = load(agent).TOOLS if agent in AGENTS else OTHER_CALLERS.get(agent, ("", {}))[1]
        NATIVE[agent] = {**{name: OWN_TOOLS.get(name, name) for name in MORE_TOOLS.get(agent, ())}, **tools}
    return NATIVE[agent]


def canonical_tools(name: str) -> list[str]:
    """Return hookrun's names for the tool that agents call so; none for a name of no agent's, or of its own only."""
    if name not in CANONICAL:
        if len(CANONICAL) >= MOST_NAMES:
            CANONICAL.clear()
        found = [native_tools(agent).get(name, name) for agent in (*AGENTS, *OTHER_CALLERS)]
        found += patch.HEADERS.values() if name == patch.TOOL else (OWN_TOOLS.get(name, name),)
        CANONICAL[name] = list(dict.fromkeys(ours for ours in found if ours != name))
    return CANONICAL[name]


def with_canonical_tool(fields: Mapping[str, object]) -> Mapping[str, object]:
    """Return a program's context with hookrun's name of the tool where it has an agent's, such as `Bash`.

    Arguments keep their names: a program's functions, which read and change them, know its own tools.
    """
    message = message_of_program(fields)
    return fields if message is None else {**message.calls[0].fields, "tool_args": fields.get("tool_args")}


def message_of_program(fields: Mapping[str, object]) -> Message | None:
    """Return a context with an agent's name of a tool as that agent's message; None for others.

    With other arguments it is the program's own tool: `create`, without a path. The first of several calls stands for
    all: it has the names of all their tools, and is one whose arguments are not all there.
    """
    tool, args = fields.get("tool_name"), as_object(fields.get("tool_args"))
    if not isinstance(tool, str) or tool in ARGUMENTS or not (found := canonical_tools(tool)):
        return None
    first = CanonicalCall(None, {"agent_tool_name": tool, **fields, "tool_name": found[0]})
    message = Message("", [first], tool=tool)
    for agent in map(load, AGENTS if args else ()):
        ours, named = agent.TOOLS.get(tool, tool), agent.NAMES.arguments(tool, args)
        if ours != tool and ARGUMENTS[ours][0] in named:
            first.fields.update(tool_name=ours, tool_args=named)
            message.to_native_args = base.native_args_of_single_call(agent.NAMES, tool, args)
            return message
    if not args:
        return message
    ours, first = str(name_tool(message, {tool: found[0]})), message.calls[0]
    if len(message.calls) > 1:
        names = [call.fields["tool_name"] for call in message.calls]
        first.fields.update(possible_tool_names=names, arguments_cut_off=f"{tool} does {len(names)} things here")
    return message if tool in OWN_TOOLS or ARGUMENTS[ours][0] in as_object(first.fields["tool_args"]) else None


def with_given_names(message: Message, verdict: Verdict) -> Verdict:
    """Return a verdict on a message with its changed arguments under the given names, a block if that is impossible."""
    changes = {"modified_args": verdict.modified_args, "args_patch": verdict.args_patch}
    given = {name: message.to_native_args([change]) for name, change in changes.items() if change}
    if None in given.values():
        return Verdict("block", f"{message.tool} does not take the arguments that a hook gave it")
    return verdict.replace(**given) if given else verdict


# --- by the arguments
#
# In case of doubt the tool is taken for the one that can do more harm: a guard may see an irrelevant call, but misses
# none.

# hookrun's name of an argument -> other agents' names for it.
OTHER_NAMES = {
    "command": ("cmd", "command_line", "commandLine", "shell_command", "script"),
    "file_path": ("filePath", "path", "target_file", "targetFile", "absolute_path", "absolutePath", "file", "filename"),
    "content": ("contents", "file_text", "fileText", "newContent", "file_content"),
    "old_string": ("oldString", "old_str", "oldStr", "old_text", "oldText"),
    "new_string": ("newString", "new_str", "newStr", "new_text", "newText"),
    "pattern": ("regex", "glob_pattern", "globPattern"),
    "url": ("uri",),
    "query": ("search_term", "searchTerm"),
}

# Arguments that may list several items -> hookrun's name for a string in the list.
LISTS = {
    **dict.fromkeys(("files", "file_paths", "filePaths", "paths", "replacements", "edits", "operations"), "file_path"),
    "urls": "url",
    "commands": "command",
}

# An editor's `command`, used with a path -> hookrun's tool.
EDITOR = {"view": "read", "create": "write", "str_replace": "edit", "insert": "edit", "undo_edit": "edit"}

# hookrun's tool -> parts of tool names that imply it, with a path.
IMPLYING = (
    ("delete", ("delete", "remove", "unlink")),
    ("edit", ("write", "create", "save", "edit", "replace", "insert", "append", "patch", "move", "rename")),
)


def name_unknown_tool(agent: Agent, message: Message, *, home: str = "", project: str = "") -> None:
    """Name the tool of a message that is in none of its agent's tables.

    It may be an MCP server's (see mcp_names); otherwise it is one of OWN_TOOLS, or a shell if it has a command.
    """
    name_mcp_tool(agent, message, home=home, project=project)
    tool, fields = str(message.tool), message.calls[0].fields
    args = as_object(fields.get("tool_args"))
    may_run = tool not in MORE_TOOLS.get(agent.NAME, ()) and not {"command", *OTHER_NAMES["command"]}.isdisjoint(args)
    if fields.get("tool_name") == tool and (tool in OWN_TOOLS or may_run):
        name_tool(message, {})


def message_from_context(agent: Agent, event: str, context: Mapping[str, object]) -> Message:
    """Return the message with which an agent would fire `event` on a context under hookrun's names.

    Tool and arguments, under either names, are translated to the agent's and back, as in a real call.
    """
    native = next((each for each, name in agent.EVENTS.items() if name == event), event)
    native = agent.SYNTHESIZED_FROM[event][0] if native == event and event in agent.SYNTHESIZED_FROM else native
    fields: dict[str, object] = {**context, "agent": agent.NAME, "agent_event": native}
    tool, own_tool = fields.get("tool_name"), fields.get("agent_tool_name")
    if isinstance(tool, str) and not isinstance(own_tool, str):
        if tool not in ARGUMENTS and tool not in native_tools(agent.NAME):  # another agent's name of it
            tool = str(with_canonical_tool(fields)["tool_name"])
        own_tool = next((own for own, name in agent.TOOLS.items() if tool in (own, name)), tool)
        fields.update(agent_tool_name=own_tool, tool_name=agent.NAMES.tool(own_tool))
    if not isinstance(own_tool, str):
        return Message(native, [CanonicalCall(event, fields)])
    args = fields.get("tool_args")
    own_args: Arguments = {}
    if isinstance(args, dict):
        own_args = agent.NAMES.to_native(own_tool, agent.NAMES.arguments(own_tool, args))
        fields["tool_args"] = agent.NAMES.arguments(own_tool, own_args)
    own = base.native_args_of_single_call(agent.NAMES, own_tool, own_args)
    message = Message(native, [CanonicalCall(event, fields)], tool=own_tool, own=own)
    for text in own_args.values() if own_tool in (patch.TOOL, "patch") else ():
        patch.split_by_file(message, text)
    if event == "pre_tool_use" and (take_tool := getattr(agent, "take_tool", None)) is not None:
        take_tool(message, {"input": own_args})
    if not base.knows_tool(agent, message):
        name_unknown_tool(agent, message)
    return message


def name_tool(message: Message, tools: Mapping[str, str]) -> str | None:
    """Give a message's tool and arguments hookrun's names; return the tool's, None if unclear.

    `tools` has the known names. A call about several files becomes one for each.
    """
    tool, first = message.tool, message.calls[0]
    if tool is None or (tool not in tools and is_mcp(tool)):
        return None
    args = NameMap(None, OWN_ARGUMENTS).arguments(tool, as_object(first.fields.get("tool_args")))
    texts = (value for name, value in args.items() if name in ("input", "patch", "patchText", "command"))
    patches = (text for text in texts if isinstance(text, str) and text.lstrip().startswith("*** Begin Patch"))
    if (text := next(patches, None)) is not None:
        patch.split_by_file(message, text)
    else:
        items = _items(args)
        calls = []
        for item in items or [args]:
            ours, table = tool_by_arguments(tool, item, tools.get(tool, OWN_TOOLS.get(tool)))
            if ours is None:
                return None
            names = NameMap(None, {tool: table})
            named = names.arguments(tool, item)
            fields: Arguments = {"tool_name": ours, "tool_args": _as_line(named)}
            calls.append(CanonicalCall(first.event, {**first.fields, **fields}))
            is_whole = not items and fields["tool_args"] is named
            message.to_native_args = (
                base.native_args_of_single_call(names, tool, item) if is_whole else base.no_native_args
            )
        message.calls = base.add_file_changed(calls)
    possible = first.fields.get("possible_tool_names")
    for call in message.calls:  # a matcher may use Claude Code's name
        ours = str(call.fields["tool_name"])
        more = [*possible] if isinstance(possible, list) else []
        call.fields["possible_tool_names"] = [CLAUDE_TOOLS[ours], *more] if ours in CLAUDE_TOOLS else more
    return str(message.calls[0].fields["tool_name"])


def beginning(text: str) -> Arguments:
    """Return the arguments at the beginning of a JSON object; the last may be cut off."""
    for end in ('"}', "}", '":null}', "null}"):
        try:
            return as_object(loads(text.removesuffix(CUT).rstrip("\\") + end))
        except ValueError:
            continue
    return {}


# Grok Build's mark at the end of a cut object.
CUT = " [truncated]"


def is_mcp(tool: str) -> bool:
    """Return whether a tool belongs to an MCP server, by the agents' forms of names."""
    return "__" in tool or tool.lower().startswith(("mcp_", "mcp:"))


def tool_by_arguments(tool: str, args: Arguments, known: str | None = None) -> tuple[str | None, dict[str, str]]:
    """Return hookrun's names of a tool (`known`, else by its arguments; None if unclear), and of those that differ."""
    table = _table(args)
    named = NameMap(None, {tool: table}).arguments(tool, args)
    ours = known or _by_arguments(tool, named)
    if ours == "edit" and named.get("old_string") == "" and "content" not in named:  # it creates the file
        new = next((theirs for theirs, name in table.items() if name == "new_string"), "new_string")
        return "write", {**table, new: "content"}
    return ours, table


def _table(args: Arguments) -> dict[str, str]:
    """Return a table of argument names -> hookrun's, where these differ."""
    return {
        theirs: ours
        for ours, others in OTHER_NAMES.items()
        if ours not in args and (theirs := next((each for each in others if each in args), None)) is not None
    }


def _as_line(args: Arguments) -> Arguments:
    """Return the arguments with the command as a line, if it is a list of words or has some in `args`."""
    command, more = args.get("command"), args.get("args")
    if not isinstance(command, list) and not (isinstance(command, str) and isinstance(more, list)):
        return args
    from shlex import join  # rarely needed

    words = [join(map(str, each)) for each in (command, more) if isinstance(each, list)]
    return {**args, "command": " ".join([command, *words] if isinstance(command, str) else words)}


def _by_arguments(tool: str, args: Arguments) -> str | None:
    """Return the tool with such arguments, under hookrun's names."""
    name = tool.lower()
    path, url, pattern, query, prompt = (
        isinstance(args.get(each), str) for each in ("file_path", "url", "pattern", "query", "prompt")
    )
    found = (
        (path and EDITOR.get(str(args.get("command"))), path),
        ("bash", isinstance(args.get("command"), (str, list))),
        ("edit", path and ("old_string" in args or "new_string" in args)),
        ("write", path and "content" in args),
        ("web_fetch", url),
        ("glob" if "glob" in name else "grep", pattern),
        (next((ours for ours, words in IMPLYING if any(word in name for word in words)), "read"), path),
        ("web_search", query and "web" in name),
        ("task", prompt and ("agent" in name or "task" in name)),
    )
    return next((ours for ours, is_so in found if is_so and isinstance(ours, str)), None)


def _items(args: Arguments) -> list[Arguments]:
    """Return the arguments for each file or address that a call lists."""
    inner = [value for value in args.values() if isinstance(value, dict)]
    if len(inner) == 1 and not _table(args) and OTHER_NAMES.keys().isdisjoint(args):
        return [{**args, **inner[0]}]  # as in a task to create and run
    for key, ours in LISTS.items():
        listed = args.get(key)
        rest = {name: value for name, value in args.items() if name != key}
        if not isinstance(listed, list) or not listed:
            continue
        if all(isinstance(each, str) for each in listed):
            return [{**rest, ours: each} for each in listed]
        if all(isinstance(each, dict) and ours in {*each, *_table(each).values()} for each in listed):
            return [{**rest, **each} for each in listed]
    return []
