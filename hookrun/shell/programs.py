"""What is known of each program, once: how its words are read, what it does with files, and whether it runs code."""

from __future__ import annotations

# A row has programs and their facts, some with values. It continues where the next line is indented.
#
# line: how it gives a line to a shell (see `wrappers`); given: its options with one, if not -c, --command and --run;
# input: it may run its input; in_shell: in the current shell.
# posix: it need not know the syntax of bash.
# interprets, opens: it reads commands from the terminal, or starts a shell that does; interactive: the option for that
# besides code, reads_on: none is needed; runs_code: of a file or its input; evaluates: in a language of its own.
# script, text, queries: its options with code, by what its first operand is: a file, code, data. node: it resolves
# modules as node does; resolves: also its script; code: the language of others, see `code.py`; versioned: its name may
# end in a version; flags, long_flags: without a value.
# wraps: its words after so many operands are a command; assigns: and may be NAME=VALUE; apart: which may see other
# directories. valued, directory, never: options with the next word, those for its directory, and to run nothing.
# carries: any of its operands may be a program, with the words after it: `docker exec db psql`; hosts: which runs in a
# container or on another machine.
# launches: it may run a command, after one of these words. line_after: likewise a line. finds: files it looks for;
# tasks: and how it runs what they say for a name.
# enters: it changes the directory. keyword: a command follows.
# data: it only handles data; passes_on: and prints or copies it; unseen: and shows nothing of it; prints: what.
# changes, removes, modes: it writes or removes all its files, or sets who may. onto_last: it writes the last;
# targeted: or an option's.
# ends: it ends processes. covers: it mounts one directory over another, or takes such a one away.
# in_place: the options to write its files; output: to write one; unpacks: into it; attached: with a
# file in the same word.
# pattern_first: its first operand is no file unless these are given.
ROWS = r"""
# Shells and what runs lines
dash sh :: line=shell input posix flags=aefuvx
nix :: launches=-c,--command
ksh zsh :: line=shell input flags=aefuvx
ash :: line=shell input posix
csh fish mksh tcsh :: line=shell input
bash :: line=shell input flags=aefuvx long_flags=--norc,--noprofile,--posix
sg :: line=option input
flock :: line=option input wraps=1 valued=-w,--timeout,-E
script :: line=option input opens
runuser :: line=option input wraps valued=-u,--user,-g,--group,-G,--supp-group,-w,--whitelist-environment
su :: line=login input
npm pnpm :: carries line=call launches=exec,x,dlx tasks=package
    finds=package.json,.npmrc,pnpm-workspace.yaml,.yarnrc.yml
npx pnpx :: line=call launches finds=package.json,.npmrc,pnpm-workspace.yaml,.yarnrc.yml
. source :: line=sourced in_shell input runs_code builtin
at batch :: line=input input
eval :: line=joined in_shell builtin data
git :: line=git prints=directory passes_on git
ssh :: line=remote input apart hosts valued=-B,-D,-E,-F,-I,-J,-L,-O,-Q,-R,-S,-W,-b,-c,-e,-i,-l,-m,-o,-p,-w unseen
sudo :: line=sudo input wraps assigns directory=-D,--chdir
    valued=-u,--user,-g,--group,-h,--host,-p,--prompt,-C,--close-from,-R,--chroot,-r,--role,-t,--type,-T,-U
    never=-l,--list,-v,--validate,-k,-K,-e,--edit data
tmux :: line=tmux opens valued=-F,-c,-e,-n,-s,-t,-x,-y
    line_after=new,new-session,new-window,neww,respawn-pane,run,run-shell,split-window,splitw,send,send-keys
trap :: line=trap in_shell builtin data
ansible :: line=option apart given=-a,--args
clush dsh parallel-ssh pdsh pssh :: line=wrapped apart hosts wraps
    valued=-w,-x,-X,-g,-f,-l,-o,-O,-t,-u,-R,-h,-H,-p,-e,-m,-M,-r
aws :: line=parameters apart given=--command,--parameters
az :: line=option apart given=--command,--exec-command,--scripts
cf eb gcloud vagrant :: line=option apart
doctl :: line=option apart given=--ssh-command
fly flyctl :: line=option apart carries hosts given=-C,--command
lando :: line=option apart carries hosts
cmd :: line=cmd
concurrently :: line=each
crontab :: line=timed input
nix-shell :: line=option input
watch :: line=wrapped wraps valued=-n,--interval
xargs :: input wraps
    valued=-a,--arg-file,-d,--delimiter,-E,-I,-L,--max-lines,-n,--max-args,-P,--max-procs,-s,--max-chars adds_words data
parallel :: input wraps valued=-j,--jobs,-I,-a,--arg-file adds_words data
# Interpreters, and other programs that take code
guile octave r racket sbcl scala tclsh xonsh :: interprets script=-e,-c,--eval,-Command
elvish nu :: line=option input interprets script=-e,-c,--eval,-Command
expect :: line=escape interprets script=-e,-c,--eval,-Command
ghci iex irb jshell :: interprets reads_on
bpython erl groovysh pry ptpython swipl utop :: interprets
ipython ipython3 :: interprets interactive=-i code=py
node :: carries interprets runs_code interactive=-i script=-e,--eval,-p,--print,-pe node resolves versioned flags
deno :: carries interprets runs_code script=-e,--eval,-p,--print,-pe node tasks=package
    finds=package.json,bunfig.toml,deno.json,deno.jsonc
bun :: carries interprets runs_code script=-e,--eval,-p,--print,-pe node resolves flags tasks=package
    finds=package.json,bunfig.toml,deno.json,deno.jsonc
php :: carries interprets runs_code interactive=-a script=-r,-B,-R,-E,--run versioned flags=nq code=php
lua :: interprets runs_code interactive=-i script=-e,-c,--eval,-Command versioned flags code=lua
osascript :: interprets runs_code script=-e,-c,--eval,-Command code=scpt
powershell pwsh :: line=powershell interprets runs_code script=-e,-c,--eval,-Command
nodejs :: interprets runs_code interactive=-i script=-e,--eval,-p,--print,-pe node
perl :: interprets runs_code script=-e,-E versioned flags=wWXTt code=pl in_place=-(?:[acnpstuwWSUl]|0[0-7]*)*i
    pattern_first=-e,-E
julia luajit :: interprets interactive=-i script=-e,-c,--eval,-Command
ruby :: carries interprets runs_code script=-e,-c,--eval,-Command versioned flags=w
    in_place=-(?:[acnpstuwWSUl]|0[0-7]*)*i
    code=rb pattern_first=-e,-E
gdb :: line=escape evaluates script=-e,-c,--eval,-Command wraps valued=-x,--command,-ex,-eval-command,-d,--directory
gsed sed :: text=-f,--file,-e,--expression in_place=-[EnrsuzlH]*i|--in-p
    pattern_first=-e,-f,--expression,--file
awk gawk :: code=awk evaluates text=-f,--file,-i,--include,-l,--load,-E,--exec,-e,--source pattern_first=-f,--file
    in_place=inplace$|-iinplace|--include=inplace
mawk :: code=awk evaluates text=-f,--file,-i,--include,-l,--load,-E,--exec,-e,--source pattern_first=-f,--file
jq :: text=-f,--from-file,-L pattern_first=-f,--from-file
pypy python :: carries evaluates script=-c,-m versioned flags=uBIsSEObqvP code=py
esno gjs jiti qjs ts-node tsx zx :: carries script=-e,--eval,-p,--print,-pe node
micropython py.test pytest pythonw :: script=-c,-m
php-cgi :: script=-r,-B,-R,-E,--run
bats bb bc clisp clojure crystal csi dart dc ecl escript fennel gnuplot groovy janet java kotlin lldb m4 ocaml
    raku runghc runhaskell swift wish :: script=-e,-c,--eval,-Command
elixir :: script=-e,-c,--eval,-Command code=exs
rscript :: script=-e,-c,--eval,-Command code=r
nawk original-awk :: code=awk evaluates text=-f,--file,-i,--include,-l,--load,-E,--exec,-e,--source
ssed :: text=-f,--file,-e,--expression
gojq jaq :: text=-f,--from-file,-L
duckdb mariadb mysql psql sqlite3 :: line=escape evaluates queries=-init,-f,--file,-cmd,-c,--command,-e,--execute
# Wrappers: their remaining words are a command
screen :: opens wraps valued=-S,-c,-e,-h,-p,-s,-t,-T
unshare :: opens wraps apart valued=-R,--root,-w,--wd
builtin :: in_shell wraps builtin
busybox chronic dbus-launch dumb-init eatmydata entr fakechroot linux32 linux64 setsid systemd-inhibit tini toybox
    unbuffer valgrind :: wraps
coproc :: wraps builtin
firejail :: wraps apart
nohup :: wraps prefix
wsl :: wraps valued=-d,--distribution,-u,--user,--cd
doas :: wraps assigns valued=-u,-C
env :: wraps assigns directory=-C,--chdir valued=-u,--unset,-S,--split-string prefix data
gtimeout timeout :: wraps=1 valued=-s,--signal,-k,--kill-after
proxychains proxychains4 :: wraps valued=-f
faketime gosu su-exec taskset :: wraps=1
choom :: wraps valued=-n,--adjust
cpulimit :: wraps valued=-l,--limit,-e,--exe
direnv :: wraps=2
ssh-agent :: wraps valued=-a,-t,-E,-P
sshpass :: wraps valued=-p,-f,-d,-P
nice :: wraps valued=-n,--adjustment
ionice :: wraps valued=-c,--class,-n,--classdata,-p
chrt :: wraps=1 valued=-T,-P,-D
stdbuf :: wraps valued=-i,--input,-o,--output,-e,--error
time :: in_shell wraps valued=-f,--format,-o,--output prefix builtin keyword
command :: in_shell wraps never=-v,-V prefix builtin prints=path unseen
exec :: wraps valued=-a prefix builtin data
caffeinate :: wraps valued=-t,-w
strace :: wraps valued=-o,-e,-p,-s,-u,-E
ltrace :: wraps valued=-o,-e,-p,-s,-u
fakeroot :: wraps valued=-s,-i
chroot :: wraps=1 apart valued=--userspec,--groups
nsenter :: wraps apart valued=-t,--target,-w,--wd
systemd-run :: wraps directory=--working-directory valued=-p,--property,-u,--unit,-E,--setenv,--uid,--gid,--slice
pkexec :: wraps valued=--user
setpriv :: wraps valued=--reuid,--regid,--groups,--securebits,--inh-caps,--ambient-caps,--bounding-set,--pdeathsig
prlimit :: wraps valued=-o,--output
numactl :: wraps valued=-i,-p,-P,-m,-w,-N,-C,-l
torsocks :: wraps valued=-P,--port,-a,--address,-u,--user,-p,--pass
run0 :: wraps directory=-D,--chdir valued=-u,--user,-g,--group
xvfb-run :: wraps valued=-n,-s,-e,-f,-w,-p,--server-args
dbus-run-session :: wraps valued=--config-file
rlwrap :: wraps valued=-C,-D,-f,-g,-H,-l,-p,-P,-q,-s,-S,-t
arch :: wraps valued=-arch,-d,-e
perf :: wraps=1 valued=-o,--output,-e,--event,-p,--pid,-r,--repeat
ip :: wraps=3 valued=-n,-netns
# Programs that open shells, or run a command in an environment
login newgrp :: opens
asdf aws-vault bundle mise pdm pyenv rbenv :: launches=exec,x
yarn :: carries launches=exec,x,dlx tasks=package finds=package.json,.npmrc,pnpm-workspace.yaml,.yarnrc.yml
conda doppler dotenvx hatch infisical mamba micromamba op pipenv pipx poetry railway rye uv :: launches=run
bunx :: launches finds=package.json,.npmrc,pnpm-workspace.yaml,.yarnrc.yml
dotenv dotenv-cli env-cmd uvx :: launches
# Programs that find their files
bmake gmake make :: finds=GNUmakefile,makefile,Makefile tasks=makefile
just :: finds=justfile,Justfile,.justfile,JUSTFILE tasks=justfile
rake :: finds=Rakefile,rakefile,Rakefile.rb tasks=rakefile
go-task task :: finds=Taskfile.yml,Taskfile.yaml,taskfile.yml tasks=taskfile
npm-run-all run-p run-s :: finds=package.json tasks=package
inv invoke :: finds=tasks.py
fab :: finds=fabfile.py
nox :: finds=noxfile.py
tox :: finds=tox.ini,pyproject.toml,setup.cfg
doit :: finds=dodo.py
scons :: finds=SConstruct
ninja :: finds=build.ninja
cmake :: finds=CMakeLists.txt
mvn :: finds=pom.xml
ant :: finds=build.xml
gradle :: finds=build.gradle,build.gradle.kts,settings.gradle
pre-commit :: finds=.pre-commit-config.yaml
lefthook :: finds=lefthook.yml,lefthook.yaml,.lefthook.yml
composer :: carries finds=composer.json tasks=package
cargo :: finds=Cargo.toml,build.rs
mage :: finds=magefile.go
docker-compose :: carries hosts finds=compose.yaml,compose.yml,docker-compose.yml,docker-compose.yaml
go :: finds=*.go
run-parts :: finds=*
# Programs that change, show or search files
hub :: git
base64 :: prints=decoded passes_on
cat :: prints=input passes_on
echo :: builtin prints=echo passes_on unseen
find :: prints=found passes_on unseen
ls :: prints=listing passes_on unseen
printf :: builtin prints=form passes_on unseen
tee :: prints=copy passes_on changes writes_last
type :: builtin prints=path data unseen
which :: prints=path data unseen
mktemp :: prints=directory data
pwd :: builtin prints=directory data unseen
shred sponge touch truncate :: data changes
ed emacs :: evaluates changes
ex nvim vi vim :: line=escape evaluates changes
nano sudoedit :: changes
srm trash unlink :: changes removes
patch :: changes output=-o,--output
rm rmdir :: data changes removes
cp install ln mv :: passes_on onto_last targeted writes_last
scp :: data onto_last
rsync :: passes_on onto_last
yq :: passes_on in_place=-[A-Za-z]*i|--inplace pattern_first=-f,--from-file
curl :: passes_on output=-o,--output attached=-K,-T,--config=,--upload-file= downloads
gpg sort :: passes_on output=-o,--output
wget :: passes_on output=-O,--output-document downloads
chgrp chmod chown :: modes data unseen
chattr chflags setfacl setfattr xattr :: modes
basename dirname du file locate mkdir readlink realpath sleep ssh-add ssh-keygen stat tree whereis ::
    data unseen
apply_patch :: unseen
: [ alias exit export false hash read test true :: builtin data unseen
kill :: builtin data unseen ends
killall pkill :: data ends
fusermount fusermount3 mount umount :: covers
cd :: builtin enters data unseen
fd :: passes_on unseen launches=-x,-X,--exec,--exec-batch
ack ag zgrep :: data pattern_first=-e,-f,--regexp,--file searches
egrep fgrep grep rg :: passes_on pattern_first=-e,-f,--regexp,--file searches
docker nerdctl podman :: mounts carries hosts
ddev dokku heroku incus kamal limactl lxc multipass nomad oc podman-compose sail :: carries hosts
kubectl :: data carries hosts
symfony :: carries
age base32 bzcat bzip2 column comm cut dos2unix envsubst fold gunzip gzip head iconv join less more nl openssl paste pr
    rev strings tac tail tr uniq xxd xz xzcat zcat zstd :: passes_on
bsdtar tar :: passes_on unpacks output=-C,--directory
unzip :: passes_on unpacks output=-d
dd :: passes_on writes_last
http :: data downloads
aria2c fetch https xh :: downloads
# Others that only handle data, and words of shells
pushd :: builtin enters data
Rscript :: flags long_flags=--vanilla
[[ bg break continue declare disown fc fg getopts history jobs let local popd readonly return set shift times typeset
    ulimit umask unalias unset wait :: builtin data
! do elif else if then until while :: builtin keyword
caller case complete dirs done enable esac fi for function help in logout mapfile readarray select shopt suspend { } ::
    builtin
7z actionlint afplay aplay ar autopep8 b2sum bandit basedpyright bat biome black bunzip2 cal canberra-gtk-play cksum
    clang-format clang-tidy clear cmp codespell colordiff cpio cppcheck cpplint csplit csvcut dasel date delta
    detect-secrets df dialog diff diff3 dig dir dprint eslint espeak exa expand eza factor ffplay flake8 fmt fswatch
    fuser fx gh gitleaks glab gofmt gofumpt goimports golangci-lint gpg2 gron groups hadolint hexdump hg host hostname
    httpie id inotifywait isort jj jo jshint jsonlint ktlint lockfile logger logrotate look lsd lsof
    luacheck lz4 mail mailx markdownlint markdownlint-cli2 md5 md5sum mdformat miller mkfifo mlr mpg123 mpv mypy nc ncat
    notify-send nslookup numfmt od open osd_cat oxlint paplay pbcopy pbpaste pgrep php-cs-fixer phpcs phpstan ping
    play prettier printenv ps pycodestyle pydocstyle pylint pyright pyupgrade recode redis-cli reset rubocop ruff
    rustfmt say sdiff semgrep sendmail seq sftp sha1sum sha256sum sha512sum shasum shellcheck shfmt shuf spd-say split
    sqlfluff standard standardrb staticcheck stty stylelint stylua svn swiftformat swiftlint sync taplo telnet
    terminal-notifier terraform-docs tflint tomlq top tput trufflehog tsc tty typos uname unix2dos unxz vale vulture
    wall watchman wc who whoami wl-copy wl-paste xclip xdg-open xmllint xmlstarlet xo xq xsel yamllint yapf yes zip ::
    data
""".replace("\n    ", " ").split("\n")

_HAVING: dict[str, dict[str, str]] = {}


def having(fact: str) -> dict[str, str]:
    """Return the programs with a fact, and its value for each, "" if it has none."""
    found = _HAVING.get(fact)
    if found is None:
        found = _HAVING[fact] = {}
        for row in ROWS:
            if fact in row:  # most rows are left out by this
                names, _, facts = row.partition(" :: ")
                for name, _, value in (each.partition("=") for each in facts.split()):
                    if name == fact:
                        found.update(dict.fromkeys(names.split(), value))
    return found


def values(program: str, fact: str) -> list[str]:
    """Return the values of a program's fact, [] without it."""
    found = having(fact).get(program)
    return found.split(",") if found else []
