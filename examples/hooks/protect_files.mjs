#!/usr/bin/env node
// Refuse to write, edit or delete files outside the project, and files that hold secrets.
//
// Event `pre_tool_use`, matcher `write|edit|delete`. Reads `tool_args.file_path` from the context on stdin; answers a
// block, or nothing. It sees the agent's file tools only: what a shell command writes is for a hook on `bash`.

import { readlinkSync } from "node:fs";
import { dirname, isAbsolute, join, relative, resolve } from "node:path";

const HARMLESS = /^\.env\.(example|sample|template|dist)$/;
const SECRET = [
  /^\.env(\..*)?$/,
  /\.(pem|key|p12|pfx|jks|keystore)$/,
  /^id_(rsa|dsa|ecdsa|ed25519)$/,
  /^(client_secret.*|service[-_]account.*|credentials|secrets?)\.(json|ya?ml|toml)$/,
  /^(\.netrc|\.pgpass|\.pypirc|\.git-credentials|\.htpasswd)$/,
];
// Everything in these directories, and the names themselves: in a worktree `.git` is a file.
const PRIVATE = new Set([".git", ".ssh", ".gnupg", ".aws"]);

/** Return where a symbolic link leads, null when there is no link of that name (and perhaps nothing at all). */
function linkTarget(path) {
  try {
    return readlinkSync(path);
  } catch (error) {
    if (["EINVAL", "ENOENT", "ENOTDIR"].includes(error.code)) return null;
    throw error;
  }
}

/**
 * Return the path that a write to `path` would really reach.
 *
 * Part by part, as the kernel does it, because `realpath` gives up on a file that does not exist yet, and because
 * `link/../x` is not `x` when `link` leads elsewhere. A dangling link is followed: writing to it creates its target.
 */
function destination(path) {
  const parts = path.split("/");
  let reached = "/";
  let links = 0;
  while (parts.length > 0) {
    const part = parts.shift();
    if (part === "" || part === ".") continue;
    if (part === "..") {
      reached = dirname(reached);
      continue;
    }
    const target = linkTarget(join(reached, part));
    if (target === null) {
      reached = join(reached, part);
      continue;
    }
    links += 1;
    if (links > 40) throw new Error(`too many symbolic links in ${path}`);
    if (isAbsolute(target)) reached = "/";
    parts.unshift(...target.split("/"));
  }
  return reached;
}

/** Return the part of the path that makes it secret, undefined when none does. File systems may ignore case: so do we. */
function secretPart(path) {
  const parts = path.toLowerCase().split("/");
  const name = parts.at(-1);
  const secret = !HARMLESS.test(name) && SECRET.some((pattern) => pattern.test(name));
  return secret ? name : parts.find((part) => PRIVATE.has(part));
}

/** Return why this file must not be touched, null when there is nothing against it. */
function objection(filePath, workingDir, projectDir) {
  const project = destination(resolve(projectDir));
  const asked = isAbsolute(filePath) ? filePath : `${resolve(workingDir)}/${filePath}`;
  const reached = destination(asked);
  // Below the project only: the project itself may live in a directory with any name. Both names count: a harmless one
  // may lead to a secret, and a secret one may lead anywhere.
  const secret = secretPart(relative(project, resolve(asked))) ?? secretPart(relative(project, reached));
  if (secret !== undefined) {
    return `${filePath} is protected (${secret}). Do not change it; tell the user which change is needed and why.`;
  }
  const inside = relative(project, reached);
  if (inside === "" || inside === ".." || inside.startsWith("../")) {
    const really = reached === resolve(asked) ? "" : ` (it is really ${reached})`;
    return `${filePath}${really} is not a file in the project ${project}. Work inside the project, or ask the user.`;
  }
  return null;
}

async function main() {
  const chunks = [];
  for await (const chunk of process.stdin) chunks.push(chunk);
  const context = JSON.parse(Buffer.concat(chunks).toString("utf8"));
  const filePath = context?.tool_args?.file_path;
  if (typeof filePath !== "string" || filePath === "") throw new Error("no tool_args.file_path in the context");

  // Hooks run in the project's root, so that without hookrun's variable the current directory will do.
  const projectDir = process.env.HOOKRUN_PROJECT_DIR || process.cwd();
  const message = objection(filePath, context.working_dir ?? projectDir, projectDir);
  if (message !== null) process.stdout.write(`${JSON.stringify({ action: "block", message })}\n`);
}

// A guard that cannot judge must not look like one that has no objection: exit 1, and `on_failure` decides.
main().catch((error) => {
  process.stderr.write(`protect_files: ${error.message}\n`);
  process.exitCode = 1;
});
