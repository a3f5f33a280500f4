/** A tool that a client offers to its model. */
interface OfferedTool {
  readonly name: string
  /** The group that it came in, which calls then name. */
  readonly namespace?: string
}

/** An answer of the model, at once or as a stream of events. */
interface Answer {
  readonly whole: unknown
  readonly stream: string
}

/** How one kind of model API writes what all of them say. */
export interface Dialect {
  readonly path: string
  readonly tools: (body: Body) => ReadonlyArray<OfferedTool>
  readonly results: (body: Body) => ReadonlyArray<string>
  readonly calls: (tool: OfferedTool, args: object, id: string) => Answer
  readonly says: (text: string) => Answer
}

type Body = Readonly<Record<string, unknown>>

const list = (value: unknown): ReadonlyArray<Body> => (Array.isArray(value) ? (value as ReadonlyArray<Body>) : [])

/** The text of a content that is text, or parts of text. */
const textOf = (content: unknown): string =>
  typeof content === "string"
    ? content
    : list(content)
        .map(({ text }) => String(text))
        .join("")

const event = (data: object, name?: string) =>
  `${name === undefined ? "" : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`

const named = (data: { readonly type: string }) => event(data, data.type)

const usage = { input_tokens: 1, output_tokens: 1 }

const messages = (block: object, start: object, delta: object, reason: string): Answer => {
  const message = { id: "msg_1", type: "message", role: "assistant", model: "fake", usage }
  return {
    whole: { ...message, content: [block], stop_reason: reason, stop_sequence: null },
    stream: [
      { type: "message_start", message: { ...message, content: [], stop_reason: null, stop_sequence: null } },
      { type: "content_block_start", index: 0, content_block: start },
      { type: "content_block_delta", index: 0, delta },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: reason, stop_sequence: null }, usage },
      { type: "message_stop" }
    ]
      .map(named)
      .join("")
  }
}

/** Anthropic's messages, which Claude Code speaks. */
const anthropic: Dialect = {
  path: "/v1/messages",
  tools: ({ tools }) => list(tools).map(({ name }) => ({ name: String(name) })),
  results: ({ messages }) =>
    list(messages)
      .flatMap(({ content }) => list(content))
      .filter(({ type }) => type === "tool_result")
      .map(({ content }) => textOf(content)),
  calls: ({ name }, input, id) =>
    messages(
      { type: "tool_use", id, name, input },
      { type: "tool_use", id, name, input: {} },
      { type: "input_json_delta", partial_json: JSON.stringify(input) },
      "tool_use"
    ),
  says: (text) => messages({ type: "text", text }, { type: "text", text: "" }, { type: "text_delta", text }, "end_turn")
}

const responses = (item: object): Answer => {
  const whole = { id: "resp_1", object: "response", model: "fake", status: "completed", output: [item] }
  const counted = { ...whole, usage: { ...usage, total_tokens: 2 } }
  return {
    whole: counted,
    stream: [
      { type: "response.created", response: { ...whole, status: "in_progress", output: [] } },
      { type: "response.output_item.added", output_index: 0, item },
      { type: "response.output_item.done", output_index: 0, item },
      { type: "response.completed", response: counted }
    ]
      .map(named)
      .join("")
  }
}

/** OpenAI's responses, which Codex speaks. */
const openai: Dialect = {
  path: "/v1/responses",
  tools: ({ tools }) =>
    list(tools).flatMap(({ name, tools: inner, type }): ReadonlyArray<OfferedTool> =>
      type === "namespace"
        ? list(inner).map((tool) => ({ name: String(tool["name"]), namespace: String(name) }))
        : [{ name: String(name) }]
    ),
  results: ({ input }) =>
    list(input)
      .filter(({ type }) => type === "function_call_output")
      .map(({ output }) => textOf(output)),
  calls: ({ name, namespace }, args, id) =>
    responses({
      type: "function_call",
      id: `fc_${id}`,
      call_id: id,
      name,
      ...(namespace === undefined ? {} : { namespace }),
      arguments: JSON.stringify(args),
      status: "completed"
    }),
  says: (text) =>
    responses({
      type: "message",
      id: "msg_1",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text, annotations: [] }]
    })
}

const completion = (message: object, delta: object, reason: string): Answer => {
  const chunk = (delta: object, finish_reason: string | null) =>
    event({
      id: "c_1",
      object: "chat.completion.chunk",
      created: 1,
      model: "fake",
      choices: [{ index: 0, delta, finish_reason }]
    })
  return {
    whole: {
      id: "c_1",
      object: "chat.completion",
      created: 1,
      model: "fake",
      choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason: reason }],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
    },
    stream: `${chunk({ role: "assistant", ...delta }, null)}${chunk({}, reason)}data: [DONE]\n\n`
  }
}

/** OpenAI's chat completions, which opencode and most others speak. */
const chat: Dialect = {
  path: "/v1/chat/completions",
  tools: ({ tools }) => list(tools).map((tool) => ({ name: String((tool["function"] as Body | undefined)?.["name"]) })),
  results: ({ messages }) =>
    list(messages)
      .filter(({ role }) => role === "tool")
      .map(({ content }) => textOf(content)),
  calls: ({ name }, args, id) => {
    const call = { id, type: "function", function: { name, arguments: JSON.stringify(args) } }
    return completion({ content: null, tool_calls: [call] }, { tool_calls: [{ index: 0, ...call }] }, "tool_calls")
  },
  says: (text) => completion({ content: text }, { content: text }, "stop")
}

export const dialects: ReadonlyArray<Dialect> = [anthropic, openai, chat]
