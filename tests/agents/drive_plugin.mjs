// Calls the functions of the plugin as OpenCode does, one after the other, and prints what came of it.
//   node drive_plugin.mjs PLUGIN DIRECTORY [run] < calls.json
import { readFileSync } from "node:fs"

const [plugin, directory] = process.argv.slice(2)
const module = await import(plugin)
const prompts = []
const toasts = []
let stored = 0
const store = async ({ path, body }) => {
  const parts = body.parts.map((part, index) => ({ ...part, id: `prt_${index}`, messageID: "m2", sessionID: path.id }))
  await hooks["chat.message"]({ sessionID: path.id }, { message: { id: "m2" }, parts })
  stored += 1
  for (const part of parts) await hooks.event({ event: { type: "message.part.updated", properties: { part } } })
}
const client = {
  // It answers before the prompt is stored, as OpenCode does.
  session: { promptAsync: async (request) => prompts.push(request) && void setTimeout(store, 0, request) },
  tui: { showToast: async ({ body }) => toasts.push(body.message) },
}
const hooks = await Object.values(module)[0]({ client, directory, worktree: directory })
const results = []
for (const [name, ...given] of JSON.parse(readFileSync(0, "utf8"))) {
  let error = null
  try {
    await hooks[name](...given)
  } catch (thrown) {
    error = thrown.message
  }
  results.push({ error, given, stored })
}
console.log(JSON.stringify({ results, prompts, toasts, exports: Object.values(module).map((each) => typeof each) }))
