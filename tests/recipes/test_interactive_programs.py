"""Programs that read commands from Codex's terminal, which no hook sees, and lines that only look like one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.recipes.account import Account

READING = """\
bash
sh -i
/bin/bash --norc
bash -l
bash -s
bash --rcfile x -i
exec zsh
sudo -s
sudo -u me -i
sudo bash
su
su - root
env -i bash
timeout 100 bash
nohup bash &
busybox sh
rlwrap sh
cd /srv && bash
(bash)
if true; then bash; fi
f() { bash; }; f
B=bash; $B
$SHELL
$(echo bash)
ba''sh
/bin/ba?h
eval bash
bash -c bash
bash -c 'exec python3'
bash | tee log
cat | bash
cat - | sh -s
tee log | sh
bash < /dev/tty
bash /dev/stdin
. /dev/stdin
source /dev/tty
python3
python3.12
python3 -i
python3 -i script.py
python3 -ic 'x = 1'
python3 -I
python3 -v
python3 -u -
python3 -m code
python3 -mpdb script.py
python3 -W ignore
PYTHONINSPECT=1 python3 script.py
node
node -i -e 'x'
node -r ./x
ruby
irb
irb script.rb
iex -S mix
ghci Main.hs
perl
php -a
lua
ssh host
ssh -t me@host
at now
script -q /dev/null
tmux
screen
echo ok; python3""".splitlines()

HARMLESS = """\
bash -c 'ls'
bash script.sh
sh ./x
bash <<< 'ls'
echo ls | bash
cat x | bash
./generate | sh
bash < x.sh
bash --version
python3 x.py
python3 -c 'print(1)'
python3 -m pytest
python3 -um http.server
python3 -V
python3 --version
python3 -I x.py
python3 -W ignore x.py
node x.js
node -e 1
node -p 1
node --version
node -v
node --test
php --ini
ghci -e main Main.hs
ruby x.rb
ruby -e 1
perl -pe s/a/b/ x
perl -i -pe s/a/b/ x
php -v
php -r 1
php -i
lua x.lua
ssh host ls
ssh -N -L 1:host:3 host
sudo ls
su -c ls
cat
cat x
tee x
tmux ls
tmux new -d ls
screen -ls
script -q out ls
git commit -m "bash python3"
echo bash
grep -r python .
which bash
command -v python3
npm run node
find . -name '*.py' | xargs python3
ls *
python3 - <<'END'
bash <<'END'""".splitlines()

RECIPES = pytest.mark.parametrize("recipe", ["block_destructive_commands", "no_force_push"])


def reasons(nobody: Account, recipe: str, lines: list[str]) -> dict[str, str]:
    """Return the lines that a recipe does not allow, with its action and the reason."""
    whole = {line: f"{line}\nls\nEND\n" if line.endswith("<<'END'") else line for line in lines}
    answers = {line: nobody.answer(recipe, text, "codex") for line, text in whole.items()}
    return {line: f"{answer['action']}: {answer['message']}" for line, answer in answers.items() if answer}


@RECIPES
def test_a_program_that_reads_commands_from_the_terminal_is_refused_on_codex(
    nobody: Account, recipe: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reason explains what to do; on other agents, where hooks see each command, it runs."""
    monkeypatch.setenv("SHELL", "/bin/bash")
    refused = reasons(nobody, recipe, READING)
    assert [
        line for line in READING if not re.match("block: .*read commands that no hook", refused.get(line, ""))
    ] == []
    assert nobody.wrong(recipe, READING, "continue") == []


@RECIPES
def test_what_runs_a_script_or_a_line_passes(nobody: Account, recipe: str) -> None:
    """Its commands are in the line, in a file or in a pipe."""
    assert reasons(nobody, recipe, HARMLESS) == {}


@RECIPES
def test_the_option_allows_it(nobody: Account, recipe: str) -> None:
    """For users who accept the risk."""
    nobody.options(interactive="allow")
    assert nobody.answer(recipe, "bash", "codex") is None
