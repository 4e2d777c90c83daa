#!/usr/bin/env node
// PostToolUse on Bash: point at failing tests in what a command printed.
import { readFileSync } from "node:fs";

const input = JSON.parse(readFileSync(0, "utf8"));
const { stdout = "", stderr = "" } = input.tool_response ?? {};
const failing = `${stdout}\n${stderr}`.match(/(\d+) (failed|failing)/i);

if (failing && Number(failing[1]) > 0) {
  console.log(JSON.stringify({
    decision: "block",
    reason: `Tests are red (${failing[0]}): mend them before you go on.`,
  }));
}
