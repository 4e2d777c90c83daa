"""Tables of programs: which options and operands are code or only data, and the files they look for."""

from __future__ import annotations

import re
from typing import Literal, TypedDict, Unpack

from hookrun.shell.prefilter import READERS
from hookrun.shell.simple_command import NAMING_CODE

Operand = Literal["path", "inline", "node", "run", "maybe", "data"]
"""Kinds of operand: as in OptionKinds, a program with its arguments, possible code, no code."""


class OptionKinds(TypedDict, total=False):
    """A program's options by the kind of their value, separated by spaces."""

    path: str  # a file of code
    inline: str  # code itself
    line: str  # a shell's line
    module: str
    node: str  # what `require` takes
    library: str  # a directory of modules
    classes: str  # a class path
    chdir: str  # a directory to change to
    skip: str  # a word of data
    skip2: str  # two words of data
    glued: str  # data only without a space
    stdin: str  # none: the program reads code from standard input


class Program:
    """The command line syntax of a program.

    `options` are the kinds of option values, `first` of the first operand, `rest` of the others. `without` are options
    that give the code, so that no operand does. `language` is that of its inline code and modules. With `reads_stdin`
    it runs standard input if no word gives it code. `looks_for` are files that it finds in its working directory or
    above. Without `clusters` an option has several letters behind one dash.
    """

    def __init__(
        self,
        *,
        first: Operand = "path",
        rest: Operand = "maybe",
        language: str = "",
        without: str = "",
        reads_stdin: bool = True,
        looks_for: str = "",
        clusters: bool = True,
        **options: Unpack[OptionKinds],
    ) -> None:
        self.options = {name: value for value, names in options.items() for name in str(names).split()}
        self.first, self.rest = first, rest
        self.language = language
        self.without = frozenset(without.split())
        self.reads_stdin = reads_stdin
        self.looks_for = looks_for.split()
        self.clusters = clusters


def _build(looks_for: str, path: str = "-f --file", chdir: str = "-C --directory", skip: str = "") -> Program:
    return Program(
        path=path,
        chdir=chdir,
        skip=skip,
        first="data",
        rest="data",
        reads_stdin=False,
        looks_for=looks_for,
        without=path,
    )


_SCRIPTED = (
    "rscript r tclsh wish expect osascript pwsh powershell nu elvish xonsh groovy scala kotlin julia octave guile "
    "racket sbcl clisp ecl clojure bb escript elixir crystal raku bats bc dc m4 zx swift dart ocaml runghc "
    "runhaskell csi fennel janet gnuplot pytest py.test"
)
_PROGRAMS = {
    " ".join(READERS): Program(
        path="--rcfile --init-file", skip="-o +o -O +O", line="-c", stdin="-s", without="-c", language="shell"
    ),
    "python pythonw pypy micropython": Program(
        inline="-c", module="-m", skip="-W -X --check-hash-based-pycs", language="python", without="-c -m"
    ),
    "node nodejs": Program(
        inline="-e --eval -p --print -pe",
        node="-r --require --import --loader --experimental-loader",
        path="--env-file --env-file-if-exists --experimental-config-file",
        skip="-C --conditions --input-type --title --inspect-port",
        first="node",
        language="node",
        without="-e --eval -p --print -pe",
    ),
    "bun deno tsx ts-node esno jiti qjs gjs": Program(
        inline="-e --eval",
        node="-r --require --import --preload",
        path="--env-file -c --config --config-file --tsconfig --import-map -P --project",
        skip="--cwd -C",
        first="node",
        language="node",
        without="-e --eval",
        looks_for="package.json bunfig.toml deno.json deno.jsonc",
    ),
    "perl": Program(
        inline="-e -E",
        module="-M -m",
        library="-I",
        glued="-i -0 -l -F -C -D -d -x -V",
        language="perl",
        without="-e -E",
    ),
    "ruby": Program(
        inline="-e",
        module="-r --require",
        library="-I",
        chdir="-C -X",
        skip="-E --encoding",
        glued="-i -0 -F -K -T -W -x",
        language="ruby",
        without="-e",
    ),
    "php php-cgi": Program(
        inline="-r -B -R -E --run -d",
        path="-f --file -F -c --php-ini -z",
        skip="-S -t",
        language="php",
        without="-r -f",
    ),
    "lua luajit": Program(inline="-e", module="-l", language="lua", without="-e"),
    "awk gawk mawk nawk original-awk": Program(
        path="-f --file -i --include -l --load -E --exec",
        inline="-e --source",
        skip="-v --assign -F --field-separator",
        first="inline",
        rest="data",
        language="awk",
        without="-f --file -e --source -E --exec",
        reads_stdin=False,
    ),
    "sed gsed ssed": Program(
        path="-f --file",
        inline="-e --expression",
        skip="-l --line-length",
        glued="-i --in-place",
        first="inline",
        rest="data",
        language="sed",
        without="-f --file -e --expression",
        reads_stdin=False,
    ),
    "jq gojq jaq": Program(
        path="-f --from-file",
        library="-L",
        skip="--indent --tab",
        skip2="--arg --argjson --slurpfile --rawfile --argfile",
        first="inline",
        rest="data",
        language="jq",
        without="-f --from-file",
        reads_stdin=False,
    ),
    "sqlite3 psql mysql mariadb duckdb": Program(
        path="-init -f --file",
        inline="-cmd -c --command -e --execute",
        skip="-separator -nullvalue -d -U -h -p",
        first="data",
        rest="inline",
        language="sql",
        clusters=False,
    ),
    "vi vim nvim ex ed emacs": Program(
        path="-S -u -U -i -l --load --script", inline="-c --cmd -ex --eval", first="maybe", language="editor"
    ),
    "gdb lldb": Program(
        path="-x --command -s --source",
        inline="-ex -o -eval-command --eval-command",
        first="maybe",
        language="editor",
        clusters=False,
    ),
    _SCRIPTED: Program(inline="-e -c --eval -Command", path="-f -File -l --load --script --file", language="script"),
    "java": Program(
        classes="-cp -classpath --class-path -p --module-path",
        path="-jar",
        skip="-m --module --add-modules --add-opens --add-exports",
        first="path",
        language="java",
        without="-jar",
        reads_stdin=False,
        clusters=False,
    ),
    "make gmake bmake": _build(
        "GNUmakefile makefile Makefile", "-f --file --makefile", skip="-I --include-dir -o -W -l"
    ),
    "just": _build("justfile Justfile .justfile JUSTFILE", "-f --justfile", "-d --working-directory", "--set"),
    "rake": _build("Rakefile rakefile Rakefile.rb", "-f --rakefile"),
    "task go-task": _build("Taskfile.yml Taskfile.yaml taskfile.yml", "-t --taskfile", "-d --dir"),
    "invoke inv": _build("tasks.py", "-c --collection", "-r --search-root"),
    "fab": _build("fabfile.py", "-c --collection", "-r --search-root"),
    "nox": _build("noxfile.py", "-f --noxfile", "", "-s -e -t -k -p"),
    "tox": _build("tox.ini pyproject.toml setup.cfg", "-c --conf", "", "-e"),
    "doit": _build("dodo.py"),
    "scons": _build("SConstruct", "-f --file"),
    "ninja": _build("build.ninja", "-f", "-C"),
    "cmake": _build("CMakeLists.txt", "-P -C", "-S", "-B -D -G"),
    "mvn": _build("pom.xml"),
    "ant": _build("build.xml", "-f -file -buildfile"),
    "gradle": _build("build.gradle build.gradle.kts settings.gradle", "-b --build-file -I --init-script", "-p"),
    "pre-commit": _build(".pre-commit-config.yaml", "-c --config", ""),
    "lefthook": _build("lefthook.yml lefthook.yaml .lefthook.yml", "", ""),
    "composer": _build("composer.json", "", "-d"),
    "cargo": _build("Cargo.toml build.rs", "--manifest-path --config", "-C"),
    "mage": _build("magefile.go"),
    "docker-compose": _build("compose.yaml compose.yml docker-compose.yml docker-compose.yaml", "-f --file"),
    "npm pnpm yarn": Program(
        chdir="--prefix -C --dir --cwd",
        first="data",
        reads_stdin=False,
        looks_for="package.json .npmrc pnpm-workspace.yaml .yarnrc.yml",
    ),
    "npx pnpx bunx": Program(
        line="-c --call", skip="-p --package", first="run", reads_stdin=False, looks_for="package.json .npmrc"
    ),
}
PROGRAMS = {name: program for names, program in _PROGRAMS.items() for name in names.split()}
"""Programs that run code they are given, by name without a version."""

RUNNERS = {
    **dict.fromkeys(("npm", "pnpm", "yarn"), ("exec", "x", "dlx")),
    **dict.fromkeys(("uv", "poetry", "pipenv", "hatch", "pdm", "rye", "conda", "mamba", "dotenv", "op"), ("run",)),
    **dict.fromkeys(("bundle", "rbenv", "pyenv", "asdf", "direnv", "aws-vault", "mise"), ("exec", "run", "x")),
    "doppler": ("run",),
}
"""Programs with commands that run the words after them."""

INSTALLED = frozenset({"npm", "pnpm", "yarn", "npx", "pnpx", "bunx"})
"""Those that find programs in node_modules/.bin."""

_NO_CODE = (
    ": [ [[ test true false echo printf pwd cd pushd popd ls dir cat tac head tail more less touch tee cp mv rm rmdir "
    "ln mkdir mkfifo mktemp install dd chmod chown chgrp stat file du df basename dirname readlink realpath wc sort "
    "uniq comm cut paste join tr fold fmt pr nl expand column rev split csplit shuf seq factor od xxd hexdump strings "
    "cksum md5sum md5 sha1sum sha256sum sha512sum shasum b2sum base64 base32 diff diff3 sdiff cmp colordiff delta "
    "grep egrep fgrep rg ag ack zgrep look tree which whereis type date cal sleep wait kill pkill killall pgrep ps "
    "top uname hostname whoami id who groups env printenv tty stty clear reset yes sync truncate shred sponge tar "
    "gzip gunzip zcat bzip2 bunzip2 bzcat xz unxz xzcat zstd lz4 zip unzip 7z ar cpio rsync scp sftp ssh-add "
    "ssh-keygen curl wget http httpie nc ncat telnet ping dig host nslookup openssl gpg gpg2 age git gh glab hg svn "
    "jj yq tomlq xq xmllint xmlstarlet csvcut mlr miller fx gron dasel bat exa eza lsd fd locate jo numfmt envsubst "
    "iconv recode dos2unix unix2dos ruff black isort flake8 pylint mypy pyright basedpyright pycodestyle pydocstyle "
    "bandit autopep8 yapf pyupgrade vulture eslint prettier biome stylelint oxlint dprint tsc standard xo jshint "
    "shellcheck shfmt gofmt goimports gofumpt golangci-lint staticcheck rustfmt clang-format clang-tidy cppcheck "
    "cpplint rubocop standardrb php-cs-fixer phpcs phpstan ktlint swiftformat swiftlint stylua luacheck yamllint "
    "jsonlint taplo markdownlint markdownlint-cli2 mdformat vale codespell typos hadolint actionlint sqlfluff "
    "terraform-docs tflint gitleaks trufflehog semgrep detect-secrets notify-send osd_cat terminal-notifier say "
    "espeak spd-say paplay aplay afplay mpv mpg123 ffplay play canberra-gtk-play xdg-open open pbcopy pbpaste xclip "
    "xsel wl-copy wl-paste logger wall mail mailx sendmail read export unset local declare typeset readonly set shift "
    "getopts hash umask ulimit exit return break continue let alias unalias jobs bg fg disown history fc times exec "
    "eval trap source . lockfile logrotate fuser lsof inotifywait fswatch watchman find xargs parallel sudo tput "
    "dialog redis-cli kubectl"
)
NO_CODE = frozenset(_NO_CODE.split())
"""Programs that never execute the files they get."""

_CONTENTS = (
    "cat tac head tail more less grep egrep fgrep rg sort uniq cut tr paste base64 base32 xxd gunzip zcat bzcat "
    "xzcat zstd gzip xz bzip2 openssl gpg age sed awk gawk mawk jq yq envsubst m4 cpp iconv dos2unix rev fold nl "
    "printf ls find fd curl wget tar unzip cp mv ln install dd rsync tee pr strings join comm column git echo"
)
CONTENTS = frozenset(_CONTENTS.split())
"""Programs that print, copy or name files: code, in a line that runs its own output."""

OPTION_VARIABLES = {
    "NODE_OPTIONS": "node",
    "PERL5OPT": "perl",
    "RUBYOPT": "ruby",
    "BUN_OPTIONS": "bun",
    "JAVA_TOOL_OPTIONS": "java",
    "JDK_JAVA_OPTIONS": "java",
    "_JAVA_OPTIONS": "java",
    "AWKFLAGS": "awk",
}
"""Variables with a program's options."""

LIBRARY_VARIABLES = {
    "PYTHONPATH": ("python", "*.py"),
    "NODE_PATH": ("node", "*.js"),
    "PERL5LIB": ("perl", "*.pm"),
    "PERLLIB": ("perl", "*.pm"),
    "RUBYLIB": ("ruby", "*.rb"),
    "AWKPATH": ("awk", "*.awk"),
    "LUA_PATH": ("lua", "*.lua"),
    "CLASSPATH": ("java", "*.class"),
    "LD_LIBRARY_PATH": ("", "*.so*"),
    "DYLD_LIBRARY_PATH": ("", "*.dylib"),
    "ZDOTDIR": ("", ".z*"),
    "GIT_EXEC_PATH": ("", "*"),
    "GIT_TEMPLATE_DIR": ("", "hooks/*"),
}
"""Variables that name code directories -> the modules' language, and which files are code."""

CODE_PATHS = NAMING_CODE.difference({"PATH"}, OPTION_VARIABLES, LIBRARY_VARIABLES) | {"GIT_CONFIG", "GIT_CONFIG_GLOBAL"}
"""Variables that name code files, separated by spaces or colons."""

EXECUTING_OPTIONS = re.compile(
    r"exec=|command=|program=|hooksPath=|fsmonitor=|rsh=|editor=|pager=|config=|sshCommand=", re.IGNORECASE
)
"""Options of programs without their own code that name some."""

CONFIG_OPTIONS = frozenset({"-K", "-c", "--config", "--config-file", "--plugin", "--rulesdir"})
"""Options with a file that may be code, such as eslint's."""

NAMING = frozenset({".", "source", "go", "run-parts", "alias"})
"""Programs with their own ways to take code."""

LINE_VARIABLES = re.compile(
    r"(?:.*(?:COMMAND|EDITOR|PAGER|ASKPASS|SHELL|_SSH|_DIFF|BROWSER|WRAPPER|LESSOPEN)|VISUAL|CC|CXX)"
)
"""Variables that a program may run as a line."""

MODULES = {
    "python": (re.compile(r"(?:^|[;\n:\s])(?:import|from)\s+([\w.]+(?:\s*,\s*[\w.]+)*)"), ""),
    "perl": (re.compile(r"(?:^|[;{\s])(?:use|require)\s+([A-Za-z]\w*(?:::\w+)*)"), ".pm"),
    "node": (re.compile(r"(?:require|import)\s*\(?\s*['\"`]([^'\"`]+)|from\s*['\"`]([^'\"`]+)"), ".js"),
    "ruby": (re.compile(r"require(?:_relative)?[\s(]*['\"]([^'\"]+)"), ".rb"),
    "lua": (re.compile(r"require[\s(]*['\"]([^'\"]+)"), ".lua"),
    "jq": (re.compile(r"(?:include|import)\s+\"([^\"]+)"), ".jq"),
    "sql": (re.compile(r"(?:\.read|\\ir?|source|\.load)\s+([^\s;]+)"), ""),
    "java": (re.compile(r"(?!)"), ".class"),
}
"""How a language's inline code names modules, and their files' suffix."""


def versionless(name: str) -> str:
    """Return a program's name without a trailing version: `python` for `python3.12`."""
    return name if name in PROGRAMS or name in NO_CODE else name.rstrip("0123456789.").rstrip("-") or name
