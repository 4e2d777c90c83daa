
export default function hookrun(pi) {
  let waiting = "" // text for the model that goes with its next prompt
  const beside = new Map() // a tool call -> text for its result

  const notifier = (ctx) => (text) => (ctx.hasUI ? ctx.ui.notify(text, "warning") : console.error(text))

  const fire = (event, ctx, message) => {
    const { sessionManager, cwd } = ctx
    const session = { session_id: sessionManager.getSessionId(), transcript_path: sessionManager.getSessionFile() ?? null }
    return ask(event, { hook_event_name: event, ...session, cwd, ...message }, cwd, notifier(ctx))
  }

  const texts = (content) =>
    typeof content === "string" ? content : content.flatMap((each) => (each.type === "text" ? [each.text] : [])).join("\n")

  const call = (event) => ({
    tool_name: event.toolName,
    tool_use_id: event.toolCallId,
    parent_tool_use_id: event.parentToolCallId ?? null,
    tool_input: event.input,
  })

  pi.on("session_start", async (event, ctx) => {
    waiting = (await fire("session_start", ctx, { source: event.reason })).context ?? ""
  })

  pi.on("input", async (event, ctx) => {
    const answer = await fire("input", ctx, { prompt: event.text })
    if (answer.refuse !== undefined) {
      notifier(ctx)(`hookrun: the prompt was blocked: ${answer.refuse}`)
      return { action: "handled" }
    }
    waiting = joined(waiting, answer.context)
    if (answer.prompt !== undefined) return { action: "transform", text: answer.prompt }
  })

  pi.on("before_agent_start", () => {
    const content = waiting
    waiting = ""
    return content ? { message: { customType: "hookrun", content, display: false } } : undefined
  })

  pi.on("tool_call", async (event, ctx) => {
    const answer = await fire("tool_call", ctx, call(event)) // an error here blocks the call
    if (answer.refuse !== undefined) return { block: true, reason: joined(answer.refuse, answer.context) }
    if (answer.args) {
      for (const key of Object.keys(event.input)) delete event.input[key] // another object would be ignored
      Object.assign(event.input, answer.args)
    }
    if (answer.context) beside.set(event.toolCallId, answer.context)
  })

  pi.on("tool_result", async (event, ctx) => {
    const before = beside.get(event.toolCallId)
    beside.delete(event.toolCallId)
    const result = { ...call(event), tool_response: texts(event.content), is_error: event.isError }
    const answer = await fire("tool_result", ctx, result)
    const text = joined(answer.output, before, answer.context)
    const content = answer.output === undefined ? event.content : []
    return text || answer.output !== undefined ? { content: [...content, { type: "text", text }] } : undefined
  })

  pi.on("agent_before_settle", async (event, ctx) => {
    if (event.outcome !== "completed") return
    const last = event.context.contextMessages.findLast((each) => each.role === "assistant")
    const answer = await fire("agent_before_settle", ctx, { last_assistant_message: texts(last?.content ?? "") })
    if (!answer.go_on) return
    const instruction = { type: "custom_message", customType: "hookrun", content: answer.go_on, display: true }
    return { entries: [...event.entries, instruction], continue: true }
  })

  pi.on("session_before_compact", async (event, ctx) => {
    await fire("session_before_compact", ctx, { trigger: event.reason })
  })

  pi.on("session_compact", async (event, ctx) => {
    await fire("session_compact", ctx, { trigger: event.reason })
  })

  pi.on("session_shutdown", async (event, ctx) => {
    await fire("session_shutdown", ctx, { reason: event.reason })
  })
}
