// Written by `hookrun install AGENT`; the next install overwrites changes.
// Calls hookrun for the agent's events and applies its answers.
import { spawn } from "node:child_process"
import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"

const COMMAND = [] // the event is added
const EVENTS = new Set([]) // for which hookrun is called
const PATIENCE = 65000 // milliseconds; hookrun's own timeout is shorter
const GATE = "AGENT_GATE" // the event before a tool

const ROOT = fileURLToPath(new URL("../..", import.meta.url)) // the project's, if this is its file

const joined = (...texts) => texts.filter(Boolean).join("\n\n")

const run = (event, message, cwd) =>
  new Promise((resolve) => {
    // An interpreter without its program exits with 2, which would block everything.
    const end = COMMAND.indexOf("fire") // -1 in a launcher and a project's line
    const isProjects = COMMAND[1] === "-c" && end < 0
    const gone = COMMAND.slice(0, end < 0 ? 1 : end).find((word) => word.startsWith("/") && !existsSync(word))
    if (gone) return resolve({ failed: `${gone} no longer exists` })
    const [first, ...rest] = COMMAND
    const args = end > 0 || isProjects ? [...rest, event] : [event, ...rest] // a launcher decides by its first word
    const child = spawn(first, args, { cwd: isProjects ? ROOT : cwd })
    let out = ""
    let err = ""
    const timer = setTimeout(() => child.kill("SIGKILL"), PATIENCE)
    child.on("error", (error) => resolve({ failed: `${COMMAND[0]} could not be run: ${error.message}` }))
    child.on("close", (code) => resolve({ code, out: out.trim(), err: err.trim() }))
    child.on("close", () => clearTimeout(timer))
    child.stdout.setEncoding("utf8").on("data", (data) => (out += data))
    child.stderr.setEncoding("utf8").on("data", (data) => (err += data))
    child.stdin.on("error", () => {}) // it has exited: its output counts
    child.stdin.end(JSON.stringify(message))
  })

const shown = new Set()

// Returns hookrun's answer to a message about an event; `notify` shows a text to the user.
const ask = async (event, message, cwd, notify) => {
  if (!EVENTS.has(event)) return {}
  const notifyOnce = async (text) => {
    if (shown.has(text)) return
    shown.add(text)
    await notify(text)
  }
  const { failed, code, out, err } = await run(event, message, cwd)
  if (code === 2) return { refuse: err || "blocked by hookrun" }
  if (failed) await notifyOnce(`hookrun: ${failed}, so no hook runs: run \`hookrun doctor AGENT\``)
  else if (code !== 0) await notifyOnce(`hookrun: exited with ${code ?? "a signal"} at ${event}: ${err}`)
  let answer = {}
  try {
    if (out) answer = JSON.parse(out)
  } catch {
    await notifyOnce(`hookrun: its answer to ${event} cannot be read, so the hooks had no effect`)
  }
  if (answer.missing) {
    await notifyOnce(answer.missing) // from a project's settings: hookrun is not installed on this machine
    return answer.block && event === GATE ? { refuse: answer.missing } : {}
  }
  if (answer.person) await notify(answer.person)
  return answer
}
