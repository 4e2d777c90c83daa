"""Lines that the grammar misreads, or that are no shell at all: no error hides what a shell would run all the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hookrun.recipes.shell_recipe import unreadable
from hookrun.shell.parse_line import parse_line

if TYPE_CHECKING:
    from tests.recipes.account import Account

DESTROYS = [
    "[ -d ~ ] && rm -rf ~",
    "[ -d / ] && rm -rf /",
    "[[ -d / ]] && rm -rf /",
    "[ -e / ] || rm -rf /",
    "[ -d * ] && rm -rf /",
    "[ -d / ]\nrm -rf /",
    "while [ -d / ] && rm -rf /; do :; done",
    "{fd}>f rm -rf /",
    "if cat <<EOF; then rm -rf /; fi\nx\nEOF",
    "cat <<EOF\n${x\nEOF\nrm -rf /",
    "echo ${a#$(rm -rf /)}",
    'x="$([ -d / ] && rm -rf /)"',
    "bash -c '[ -d / ] && rm -rf /'",
    "if [ -d / ]; then rm -rf /; fi",
    "test -d / && rm -rf /",
    '[ / = "$x" ] && rm -rf /',
    "[ -d / -a -d ~ ] && rm -rf /",
    "[[ -d / && -d ~ ]] && rm -rf /",
    "! [ -d / ] || rm -rf /",
    "{ [ -d / ] && rm -rf /; }",
    "( [ -d / ] && rm -rf / )",
    "[ -d /* ] && rm -rf /",
    "[ -d ? ] && rm -rf /",
    "[ * ] && rm -rf /",
    "[[ $x == *(a|b)* ]] && rm -rf /",
    "[ -d {a,b} ] && rm -rf /",
    "echo ${x#[} ; rm -rf /",
    "echo $((x[ ; rm -rf /",
    "x=(a b [ -d / ] ; rm -rf /",
    "case x in [ ) rm -rf /;; esac",
    "case x in (/) rm -rf /;; esac",
    "for i in / [ -d /; do rm -rf /; done",
    "f() { [ -d / ] && rm -rf /; }; f",
    "function f { {fd}>x rm -rf /; }; f",
    "{fd}>&- rm -rf /",
    "{fd}<x rm -rf /",
    "{fd}>f bash -c 'rm -rf /'",
    "{fd}>f echo 'rm -rf /' | bash",
    "if cat <<EOF; then echo 'rm -rf /' | bash; fi\nx\nEOF",
    "cat <<EOF && {fd}>x rm -rf /\nx\nEOF",
    "bash <<EOF\n{fd}>x rm -rf /\nEOF",
    'eval "{fd}>x rm -rf /"',
    'echo "$({fd}>x rm -rf /)"',
    "while {fd}>x read a; do rm -rf /; done",
    "[ -d / ] && cd / && rm -rf *",
    "{fd}>x true; cd /; rm -rf *",
    "rm -rf / [ 'a",
    'echo "a; rm -rf /',
    "bash <<EOF\n${x\nrm -rf /\nEOF",
]
FORCES = ["[ -d ~ ] && git push -f", "{fd}>x git push -f", 'echo "a; git push -f']
NAMES = ["[ -d ~ ] && cat .env", "{fd}>x cat .env", 'echo "a; cat .env']
COMMITS = ["[ -d ~ ] && git commit -m wip", "{fd}>x git commit -m wip"]

ORDINARY = [
    "awk '{ if ($1 > 3) { print $2 } }' f | sort",
    "awk -F: '$3 >= 1000 && $1 !~ /nobody/ {print $1}' /etc/passwd",
    "jq '.a[] | select(.b == \"c\") | {d: .e}' x.json",
    'jq -r --arg x "$y" \'.[] | "\\(.a) \\($x)"\' f',
    "python -c 'print(\"a\" + '\"'\"'b'\"'\"')'",
    "python3 -c \"import os; [os.remove(f) for f in ['a', 'b'] if os.path.exists(f)]\"",
    "find . \\( -name '*.pyc' -o -name __pycache__ \\) -prune -exec rm -rf {} +",
    'for f in *.txt; do mv "$f" "${f%.txt}.md"; done',
    'for f in *.py; do echo "${f#./}" "${f/a/b}" "${f##*/}"; done',
    'case "$1" in start|stop) echo ;; *) rm -rf build ;; esac',
    "cat > x.sh <<'EOF'\nrm -rf /\n[ -d / ] && it's\nEOF\n[ -d ~ ] && ls",
    "diff <(sort a) <(sort b)",
    "echo $(( (1 + 2) * 3 << 1 ))",
    "(( x++ )); (( y = x > 3 ? 1 : 0 ))",
    "[ -d ~/x ] && cd ~/x && make",
    "[ -d ~ ] && rm -rf ./build",
    "[ -d / ] && rm -rf node_modules && git push",
    "[ -e / ] || { echo no; exit 1; }",
    "[ -d * ] && ls",
    "if [ ! -d / ]; then mkdir x; fi",
    "{fd}>x echo hi",
    "exec {fd}<>x; rm -rf build",
    'while IFS= read -r l; do echo "$l"; done < <(git log --oneline)',
    "sed -n '/a/,/b/{p;}' f && rm -f x",
    "ls -la {a,b}/*.py 2>/dev/null || true",
    'a=(1 2 3); echo "${a[@]:1}" ; for i in "${!a[@]}"; do echo $i; done',
    '[[ "$x" =~ ^[a-z]+\\.(js|ts)$ ]] && rm -rf dist',
    "[[ $x == *.py && ! -e / ]] && rm -rf dist",
    "echo it's; rm -rf build",
    'git commit -m "fix: it\'s [ -d / ] && rm -rf / that fails"',
    '[ -d ~ ] && git commit -m "fix: x; rm -rf /"',
    "{fd}>x git commit -m 'fix: rm -rf /'",
    "{fd}>x echo 'rm -rf /; git push -f; cat .env'",
    "{fd}>x cat > f <<'A'\nrm -rf /\ngit push -f\ncat .env\nA",
    "if cat <<EOF; then ls; fi\nrm -rf /\nEOF",
    "cat <<EOF\n${x\nrm -rf /\nEOF\nls",
    "if cat <<EOF; then echo '# rm -rf /'; fi # rm -rf /\nx\nEOF",
    "select x in a b; do echo; done",
    "cat <<-EOF | grep x\n\tgit push -f\n\tEOF",
    "docker run --rm -v $(pwd):/x img sh -c 'cd /x && make'",
    "grep -rn \"rm -rf /\" . | awk '{print $1}' | [ -d ~ ]",
    "rm -rf build/*(N)",
    "print -l **/*(.)",
    "if npm i; then",
    "ls !(a|b) ; rm -rf ./c",
    "function f { rm -rf /; }; [ -d ~ ] && ls",
    "git log --pretty=format:'%h %s' --since=\"2 days ago\" -- . ':!x'",
    "time { make; }; echo ${PIPESTATUS[@]}",
    "let x=1+2; [ $x -gt 3 ] || ls",
    "curl -s 'http://x/?a=b&c=d' | jq '.[]|.x'",
    "cat <<EOF > f\n$(date) `id` ${x:-a}\nEOF",
    "SELECT * FROM x;",
    'sqlite3 x.db "delete from a where b > 3;"',
    'echo "a" >&2 |& tee x; ls',
    "xargs -I{} sh -c 'echo {}' < f",
    '[ -n "$(ls -A ~)" ] && [ -d / ] && rm -rf tmp',
    "find . -name '*.o' -print0 | xargs -0 rm -f",
    "perl -ne 'print if /a/ .. /b/' f",
    "set -euo pipefail; trap 'rm -rf \"$tmp\"' EXIT; tmp=$(mktemp -d)",
    "if [[ -z ${x-} ]]; then echo; fi",
    "export PATH=$PATH:~/bin; hash -r",
    "echo $[1+2]; ls",
    'echo "${x//\\"/\\\\\\"}" "${y%\\}}" ',
    "ssh host \"cd /srv && ls | awk '{print \\$1}'\"",
    'make -j$(nproc) CFLAGS="-O2 -g" 2>&1 | tail -n 50',
]
"""Each does no harm, however odd it looks."""

BLOCKED = {
    "block_destructive_commands": DESTROYS,
    "no_force_push": FORCES,
    "protect_files": NAMES,
    "commit_message_check": COMMITS,
}


@pytest.mark.parametrize("recipe", BLOCKED)
def test_what_stands_behind_an_error_is_seen(nobody: Account, recipe: str) -> None:
    """Tests with odd operands, `{name}>`, here-documents in conditions, and parts that cannot be parsed."""
    assert nobody.wrong(recipe, BLOCKED[recipe], "block") == []


@pytest.mark.parametrize("recipe", BLOCKED)
def test_an_ordinary_line_passes(nobody: Account, recipe: str) -> None:
    """An error in one part makes nothing of what the others only mention."""
    assert nobody.wrong(recipe, ORDINARY, "continue") == []


def test_a_line_is_changed_behind_a_test(nobody: Account) -> None:
    """Positions refer to the original line."""
    nobody.options(node="pnpm")
    changed = nobody.answer("package_manager", "[ -d / ] && npm i {fd}>é")
    assert changed is not None
    assert changed["args_patch"] == {"command": "[ -d / ] && pnpm i {fd}>é"}


def test_a_part_that_is_not_understood_is_told() -> None:
    """The text near it is quoted, so that it can be rewritten; harmless parts are not reported."""
    reading = parse_line("ls; echo 'a; rm x")
    said = list(unreadable(reading, lambda text: "rm" in text))
    assert said == ["This line cannot be read as shell (near `echo 'a; rm x`). Write it more simply"]
    assert not list(unreadable(reading, lambda text: "mv" in text))


@pytest.mark.slow
@pytest.mark.parametrize("part", ["[ / ; ", "if [ / ;", "a <<E\n", "$(", "(", '"$(', "`'", "${x;"])
def test_a_line_full_of_errors_ends(part: str) -> None:
    """Whatever it is, reading it is bounded."""
    parse_line(part * 4000)
