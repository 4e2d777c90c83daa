"""Scripts of hooks as public repositories have them: each works, and `hookrun validate` must find no error in it."""

from __future__ import annotations

SH, BASH, PYTHON, NODE = "#!/bin/sh\n", "#!/usr/bin/env bash\n", "#!/usr/bin/env python3\n", "#!/usr/bin/env node\n"
READS = 'input=$(cat)\ncmd=$(printf "%s" "$input" | sed -n \'s/.*"command": *"\\([^"]*\\)".*/\\1/p\')\n'

SHELLS = {
    "case": f"""{SH}{READS}case "$cmd" in
  *"git push --force"*|*'git push -f'*) echo "no force push" >&2; exit 2 ;;
esac
""",
    "classes": f"""{SH}{READS}case "$cmd" in
[[:space:]]*) exit 2 ;;
[[:alpha:]]*) exit 0 ;;
esac
""",
    "heredoc": f"""{SH}cat <<'EOF'
{{"action": "block", "message": "use [[ only in bash"}}
[[ not a command
source nothing
x=(1 2)
EOF
exit 0
""",
    "heredoc-tabs": f"{SH}if true; then\n\tcat <<-END >&2\n\t\tdon't\n[[ do this: ${{x}}\n\tEND\n\texit 2\nfi\n",
    "heredoc-help": f"""{SH}usage() {{
cat <<USAGE
  declare nothing
  source <(x)
USAGE
}}
[ $# -eq 0 ] || usage
{READS}[ -z "$cmd" ] || exit 2
""",
    "comments": f"""{SH}# [[ $x == y ]] would need bash; don't
[ -n "$1" ] || exit 2  # function, declare, source <(x) and it's
# it's over
""",
    "python-inside": f"""{SH}python3 -c '
import json, sys
data = json.load(sys.stdin)
x=(1, 2)
declare = None
sys.exit(2 if "rm" in data["tool_args"]["command"] else 0)
'
""",
    "awk": f"""{SH}awk '
function check(line) {{ return line ~ /rm -rf/ }}
source = 1
check($0) {{ print "no" > "/dev/stderr"; exit 2 }}
'
""",
    "jq": f"""{SH}command -v jq >/dev/null 2>&1 || exit 0
jq -e '.tool_args.command
| test("^(rm|dd) ") | not' >/dev/null || {{ echo "don't" >&2; exit 2; }}
""",
    "continued": f"""{SH}grep -q \\
  -e rm \\
  source \\
  && exit 2
exit 0
""",
    "apostrophes": f"""{SH}{READS}echo "don't touch $cmd, it's mine" >&2
if [ "$cmd" = "it's" ]; then exit 2; fi
""",
    "pipefail-if-there": f"""{SH}set -eu
if (set -o pipefail) 2>/dev/null; then set -o pipefail; fi
grep -q secret && exit 2
exit 0
""",
    "bash-if-there": f"""{SH}if [ -n "${{BASH_VERSION:-}}" ]; then set -o pipefail; fi
grep -q secret && exit 2 || exit 0
""",
    "wrapper": f"""{SH}DIR=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
"$DIR/case" "$@"
""",
    "one-call": f"{SH}FOO=bar ./case\n",
    "group": f"{SH}{{\n  grep -q secret && exit 2\n}} 2>&1\n",
    "one-line": f"{SH}guard() {{ exit 2; }}; guard\n",
    "sets-and-runs": f"{SH}set -e; ./case\n",
    "exec": f'{SH}exec python3 "$(dirname "$0")/main.py" "$@"\n',
    "local": f"{SH}check() {{\n  local x=1\n  return $x\n}}\ncheck || exit 2\n",
    "extglob": f"""{BASH}shopt -s extglob
case "$(cat)" in
  *+(rm|dd)*) exit 2 ;;
esac
[[ $x == !(a|b) ]] && exit 2
exit 0
""",
    "extglob-in-a-function": f"{BASH}shopt -s extglob nullglob\nf() {{\n  [[ $1 = @(a|b) ]]\n}}\nf x || exit 2\n",
    "no-extglob": f"{BASH}if !(grep -q x); then exit 2; fi\n",
    "arrays": f"""{BASH}set -euo pipefail
declare -a words=(rm dd)
mapfile -t lines < <(cat)
for word in "${{words[@]}}"; do
  [[ "${{lines[*]}}" == *"$word"* ]] && {{ echo "no $word" >&2; exit 2; }}
done
exit 0
""",
    "here-string": f'{BASH}jq -e .tool_args <<<"$(cat)" &>/dev/null || exit 2\n',
    "main": f'{BASH}main() {{\n  local input\n  input=$(cat)\n  [[ $input != *rm* ]] || exit 2\n}}\nmain "$@"\n',
    "regex": f"""{BASH}re='^git[[:space:]]+push'
[[ $(cat) =~ $re ]] && {{ printf '%s\\n' '{{"action":"block"}}'; }}
exit 0
""",
}

POLYGLOTS = {
    "sh-and-python": """#!/bin/sh
''''exec python3 -- "$0" "$@" # '''
import json, sys
if "rm" in json.load(sys.stdin)["tool_args"]["command"]:
    sys.exit(2)
""",
    "sh-and-python-quoted": """#!/bin/sh
"exec" "python3" "$0" "$@"
x = [1, 2]; raise SystemExit(2 if (x[0] == 1) else 0)
""",
    "sh-and-node": """#!/bin/sh
":" //# comment; exec /usr/bin/env node "$0" "$@"
const input = require("fs").readFileSync(0, "utf8");
if (/rm/.test(input)) { console.error(`no ${input}`); process.exit(2); }
""",
    "bash-if-it-is-not": '#!/bin/sh\n[ -n "$BASH" ] || exec bash "$0" "$@"\nx=(1 2)\n[[ ${x[0]} == 1 ]] && exit 2\n',
}

PYTHONS = {
    "main.py": f"{PYTHON}def main():\n    return 2\n\n\nif __name__ == '__main__':\n    raise SystemExit(main())\n",
    "call.py": f'{PYTHON}"""Guard."""\nimport sys\n\n\ndef main():\n    sys.exit(2)\n\n\nmain()\n',
    "script.py": f"{PYTHON}import json, sys\ndata = json.load(sys.stdin)\nprint(json.dumps({{'action': 'ask'}}))\n",
    "library.py": f"{PYTHON}import guard_library\n",
    "star.py": f"{PYTHON}from guard_library import *\n",
    "raises.py": f"{PYTHON}import sys\n\ndef check(): return 2\n\nraise SystemExit(check())\n",
    "assigns.py": f"{PYTHON}import sys\n\ndef check():\n    sys.exit(2)\n\nresult: int = check()\n",
    "with.py": f"{PYTHON}import os\n\n\n@decorated\ndef main(): ...\n\n\nwith open(0) as stream:\n    os._exit(2)\n",
}

NODES = {
    "exports-and-acts.js": f"""{NODE}'use strict';
const fs = require('fs');
function check(input) {{
  return /rm/.test(input);
}}
module.exports = {{ check }};
if (require.main === module) process.exit(check(fs.readFileSync(0, 'utf8')) ? 2 : 0);
""",
    "chained.js": f"""{NODE}exports.check = (input) => input;
let data = '';
process.stdin
  .on('data', (chunk) => {{ data += chunk; }})
  .on('end', () => process.exit(2));
""",
    "iife.js": f"{NODE}exports.x = 1;\n;(async () => {{\n  process.exit(2);\n}})();\n",
    "void.mjs": f"{NODE}export async function main() {{\n  process.exit(2);\n}}\nvoid main();\n",
    "no-semicolon.mjs": f"{NODE}export function main() {{\n  process.exit(2)\n}}\nmain()\n",
    "reads.mjs": f"{NODE}import {{ readFileSync }} from 'fs';\nexport const data = JSON.parse(readFileSync(0));\n",
    "require-read.js": f"{NODE}const input = require('fs').readFileSync(0, 'utf8');\nmodule.exports = input;\n",
    "await.mjs": f"{NODE}export const run = async (x) => x;\nconst answer = await run(() => {{\n}});\n",
    "side-effect.mjs": f"{NODE}import './reads.mjs';\nexport const x = 1;\n",
    "switch.js": f"{NODE}exports.x = 1;\nswitch (process.argv[2]) {{\n  default: process.exit(2);\n}}\n",
    "sdk.mjs": f"{NODE}import {{ run }} from 'sdk';\nexport default run(async (input) => {{\n  return input;\n}});\n",
    "bundle.js": f'{NODE}"use strict";var m=(e)=>e;function main(){{process.exit(2)}}exports.m=m;main();\n',
}

# Interpreters that a machine may lack: that is said of each, and nothing of the script.
OTHERS = {
    "deno.ts": "#!/usr/bin/env -S deno run --allow-read\nexport const x: number = 1;\nDeno.exit(2);\n",
    "ruby.rb": "#!/usr/bin/env ruby\nrequire 'json'\ndata = JSON.parse($stdin.read)\nexit 2 if data['x']\n",
    "uv.py": "#!/usr/bin/env -S uv run --script\n# /// script\n# ///\nraise SystemExit(2)\n",
    "perl.pl": "#!/usr/bin/env perl\nuse strict;\nmy $in = do { local $/; <STDIN> };\nexit 2 if $in =~ /rm/;\n",
    "tsx.ts": "#!/usr/bin/env tsx\nimport { x } from './x';\nx();\n",
}
