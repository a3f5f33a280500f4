import { parseEnvelope, type EnvelopeShape } from "../domain/json/ParseEnvelope.ts"
import { AgentMemoryError } from "./AgentMemoryError.ts"

const text: EnvelopeShape = { kind: "text" }
const array = (items: EnvelopeShape): EnvelopeShape => ({ kind: "array", items })
const object = (members: Record<string, EnvelopeShape>): EnvelopeShape => ({
  kind: "object",
  members: new Map(Object.entries(members))
})
const withParts = object({ row: text, rows: array(text) })

/** Where rows stand in answers: they keep their text until they are read. */
export const shapes = {
  plain: { kind: "plain" },
  row: text,
  withParts,
  withVersions: object({ versions: array(object({ row: text })) }),
  withResults: object({ results: array(object({ result: text })) }),
  withTables: object({ tables: { kind: "object", members: new Map(), rest: array(text) } })
} as const satisfies Record<string, EnvelopeShape>

/** Reads an answer's body, which must be an object with these members. */
export const answer =
  <A>(shape: EnvelopeShape, ...members: ReadonlyArray<keyof A & string>) =>
  async (response: Response): Promise<A> => {
    const { value } = parseEnvelope(await response.text(), shape)
    if (typeof value === "object" && value !== null && members.every((member) => Object.hasOwn(value, member))) {
      return value as A
    }
    throw new AgentMemoryError({
      code: "invalid_response",
      status: response.status,
      detail: "The answer is not one of Agent Memory.",
      hint: "Check baseUrl, and what stands between this client and the service.",
      requestId: response.headers.get("x-request-id") ?? undefined
    })
  }
