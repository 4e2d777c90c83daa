"""Find what would show secrets that are in no protected file: of the environment, and of programs that keep them."""

from __future__ import annotations

from hookrun.recipes.shell_recipe import is_in, rows_of
from hookrun.shell.prefilter import may_run
from hookrun.shell.programs import having
from hookrun.shell.words import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrun.shell.simple_command import SimpleCommand

# What programs show, from their documentation: operands in order and options that it needs.
PROGRAMS = """
ansible-vault view|decrypt
aws configure get *secret*|*token*
aws configure export-credentials
aws ecr get-login-password
aws secretsmanager get-secret-value|batch-get-secret-value
aws ssm get-parameter|get-parameters|get-parameters-by-path --with-decryption
aws sts assume-role|get-session-token
az account get-access-token
az keyvault secret show|download
bw get password|item|totp|notes
bw list items
chamber read|export
doppler secrets get|download
doppler secrets
flyctl|fly auth token
gcloud auth print-access-token|print-identity-token
gcloud auth application-default print-access-token
gcloud secrets versions access
gh auth token
gh auth status --show-token|-t
glab auth status --show-token|-t
heroku config|config:get|auth:token
infisical secrets
keyring get
kubectl|oc config view --raw
kubectl|oc get secret|secrets|secret/* -o*|--output*
op item get
op read|document
pass show
pulumi config get
secret-tool lookup
security find-generic-password|find-internet-password -w|-g
sops decrypt
sops -d|--decrypt
terraform|tofu state pull
vault read|print
vault kv get
"""
# Forms of output without a value, and options to only set or describe.
NAMES_ONLY = frozenset(
    {"name", "wide", "-o=name", "-oname", "-owide", "-o=wide", "--output=name", "--help", "--generate"}
)
# Variables that hold a secret, by their names.
SECRETIVE = (
    r"(?:\w*_)?(?:SECRET|TOKEN|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|API_?KEY|PRIVATE_KEY|ACCESS_KEY)(?:_\w+)?"
)
# Such a variable that is printed: `${NAME:+x}` and `${#NAME}` do not show it.
PUT_IN = rf"\b(?:echo|printf)\b[^;&|\n]*?(\$(?:{SECRETIVE}\b|\{{{SECRETIVE}(?:\}}|:?[-=?]|:\d|[%#/^,@])))"
WANTED = r"(?i)secret|token|passw|credential|key|auth"
# Programs that send what they read.
SENDING = frozenset({*having("downloads"), "nc", "ncat", "socat", "ssh", "telnet"})


def may_show(line: str) -> bool:
    """Return whether a line may show one. False is certain."""
    return may_run(line, ("env", "printenv", "export", "declare", *ROWS))


def shown(commands: list[SimpleCommand], line: str) -> Iterator[tuple[SimpleCommand, str]]:
    """Yield the commands that show or send a secret, and what it is."""
    for index, command in enumerate(commands):
        what = _of_environment(command, line) if command.words else None
        if what is None and command.words:
            matching = NAMES_ONLY.isdisjoint(command.arguments) and is_in(command, ROWS)
            what = f"what `{command.program} {' '.join(command.operands[:3])}` prints" if matching else None
        if what is not None and _reaches(commands, index, everything=what == ALL):
            yield command, what


ROWS = rows_of(PROGRAMS)
ALL = "all variables of the environment"


def _of_environment(command: SimpleCommand, line: str) -> str | None:
    """Return which variables a command prints, if any of them may be secret."""
    import re

    program, operands = command.program, command.operands
    if program in {"env", "printenv"} and not command.arguments:
        return ALL
    if program in {"export", "declare"} and command.arguments in (["-p"], ["-x"], ["-px"]):
        return ALL
    if program == "printenv":
        return next((f"${name}" for name in operands if re.fullmatch(SECRETIVE, name)), None)
    printed = having("prints").get(program) in {"echo", "form"} and any(UNKNOWN in text for text in command.arguments)
    found = re.search(PUT_IN, line) if printed and not command.script else None
    return found[1] if found is not None else None


def _reaches(commands: list[SimpleCommand], index: int, *, everything: bool) -> bool:
    """Return whether the model sees what a command prints, or another machine gets it."""
    import re

    command = commands[index]
    if command.captured or any(each.writes and each.descriptor in {"", "1"} for each in command.redirections):
        return False
    following = commands[index + 1] if index + 1 < len(commands) else None
    if not command.beside or following is None or not following.piped:
        return True
    program = following.program
    if program in SENDING or (program == "tee" and not everything):
        return True
    if everything and program in having("searches"):
        return any(re.search(WANTED, text) for text in following.operands[:1])
    changes = program in having("text") or program in {"cut", "tr"}  # `cut -d= -f1` leaves the names
    plain = changes or program in having("passes_on") or program in having("searches")
    return plain and not (everything and changes) and _reaches(commands, index + 1, everything=False)
