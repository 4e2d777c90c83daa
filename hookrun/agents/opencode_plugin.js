
// OpenCode and Kilo ignore a file if any of its exports is not a function.
export const HookrunPlugin = async ({ client, directory, worktree }) => {
  const headless = process.argv.includes("run")
  const parents = new Map() // a subagent's session -> the session that it works for
  const starts = new Map() // a session -> a promise of text for its first prompt
  const beside = new Map() // a tool call -> text for its result
  const running = new Map() // a tool call that runs -> what is said of it after it
  const goingOn = new Map() // a session -> { part, stored }: its next prompt, and what is called once that is stored

  // `opencode run` ends at session.idle, and a subagent's result is given by then: these can only go on before it.
  const atText = (session) => headless || parents.has(session)

  const notify = async (text) => {
    if (headless) return console.error(text)
    try {
      await client.tui.showToast({ body: { title: "hookrun", message: text, variant: "warning" } })
    } catch {
      console.error(text)
    }
  }

  const fire = (name, session, message) =>
    ask(name, { directory, worktree, parent: parents.get(session) ?? null, ...message }, directory, notify)

  const fireEvent = (event, session, more) => fire(event.type, session, { hook: "event", event, ...more })

  const fireHook = (hook, input, output, more) => fire(hook, input.sessionID, { hook, input, output, ...more })

  const goOn = async (session, answer) => {
    if (!answer.go_on) return
    const stored = new Promise((resolve) => goingOn.set(session, { stored: resolve }))
    await client.session.promptAsync({ path: { id: session }, body: { parts: [{ type: "text", text: answer.go_on }] } })
    // It returns before the prompt is stored, which its hooks delay, and `opencode run` would end without it.
    if (atText(session)) await Promise.race([stored, new Promise((resolve) => setTimeout(resolve, PATIENCE).unref())])
    goingOn.delete(session)
  }

  return {
    event: async ({ event }) => {
      const info = event.properties?.info ?? {}
      const session = event.properties?.sessionID ?? info.id
      if (event.type === "session.created") {
        if (info.parentID) parents.set(info.id, info.parentID)
        starts.set(session, fireEvent(event, session).then((answer) => answer.context))
      } else if (event.type === "message.part.updated") {
        const { part } = event.properties
        const next = goingOn.get(part.sessionID)
        if (next?.part === part.id) next.stored()
        const input = part.state?.status === "error" && running.get(part.callID)
        if (input) {
          running.delete(part.callID)
          await fireHook("tool.execute.after", input, {}, { error: part.state.error }) // not sent for a failed tool
        }
      } else if (event.type === "session.idle") {
        if (!atText(session)) await goOn(session, await fireEvent(event, session))
      } else {
        if (event.type === "session.error") goingOn.get(session)?.stored() // a plugin refused the prompt
        await fireEvent(event, session)
      }
    },

    "chat.message": async (input, output) => {
      const session = input.sessionID
      const atStart = await starts.get(session)
      starts.delete(session)
      const next = goingOn.get(session)
      const answer = parents.has(session) ? {} : await fireHook("chat.message", input, output)
      if (answer.refuse !== undefined) {
        await notify(`hookrun: the prompt was blocked: ${answer.refuse}`)
        throw new Error(answer.refuse)
      }
      if (answer.prompt !== undefined) {
        const texts = output.parts.filter((part) => part.type === "text")
        texts.forEach((part, index) => (part.text = index ? "" : answer.prompt)) // the parts are stored: none can go
      }
      const text = joined(atStart, answer.context)
      if (text) {
        const messageID = output.message?.id ?? output.parts[0]?.messageID
        const id = `prt_hookrun${Date.now()}${Math.random().toString(36).slice(2, 8)}`
        output.parts.push({ id, type: "text", text, synthetic: true, messageID, sessionID: session })
      }
      if (next) next.part = output.parts.at(-1).id
    },

    "tool.execute.before": async (input, output) => {
      const answer = await fireHook("tool.execute.before", input, output)
      if (answer.refuse !== undefined) throw new Error(joined(answer.refuse, answer.context))
      if (answer.args) {
        for (const key of Object.keys(output.args)) delete output.args[key] // another object would be ignored
        Object.assign(output.args, answer.args)
      }
      if (answer.context) beside.set(input.callID, answer.context)
      running.set(input.callID, { ...input, args: output.args })
    },

    "tool.execute.after": async (input, output) => {
      const before = beside.get(input.callID)
      beside.delete(input.callID)
      running.delete(input.callID)
      const answer = await fireHook("tool.execute.after", input, output)
      if (answer.output !== undefined) delete output.attachments
      output.output = joined(answer.output ?? output.output, before, answer.context)
    },

    "experimental.text.complete": async (input, output) => {
      const session = input.sessionID
      await fireHook("experimental.text.complete", input, output)
      if (!atText(session)) return
      const event = { type: "session.idle", properties: { sessionID: session } }
      await goOn(session, await fireEvent(event, session, { text: output.text }))
    },

    "experimental.session.compacting": async (input, output) => {
      const answer = await fireHook("experimental.session.compacting", input, output)
      if (answer.context) output.context.push(answer.context)
    },
  }
}
