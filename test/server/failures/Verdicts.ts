import type { Expected } from "./Doors.ts"

/** An answer of any door. */
export interface Answered {
  readonly status: number
  readonly location: string | null
  readonly text: string
}

/** A refusal: its code, and whether it says which place or limit it is about. */
interface Refusal {
  readonly code: string
  readonly isClear: boolean
}

interface Problem {
  readonly code: string
  readonly detail?: string
  readonly errors?: ReadonlyArray<{ readonly path?: string; readonly parameter?: string }>
  readonly limit?: number
}

/** What was not found has a name of its own in the code; what a bad token lacks is told to nobody. */
const codesThatSayAll = /_not_found$|^invalid_token$/

/** Tools tell a single fault in the detail alone, which begins with its place. */
const placeFirst = /^(?:\/|arguments )/

const ofProblem = ({ code, detail = "", errors = [], limit }: Problem): Refusal => ({
  code,
  isClear:
    codesThatSayAll.test(code) ||
    limit !== undefined ||
    placeFirst.test(detail) ||
    errors.some(({ parameter, path }) => path !== undefined || parameter !== undefined)
})

/** The JSON of an answer, which a legacy client of /mcp gets as an event. */
const jsonOf = (text: string): Record<string, unknown> | undefined => {
  const found = /^data: (.*)$/m.exec(text)?.[1] ?? text
  return found.startsWith("{") ? (JSON.parse(found) as Record<string, unknown>) : undefined
}

/** A page's own name, which is all that tells people's refusals apart. */
const titleOf = (text: string): string | undefined =>
  /<title>(.*?)<\/title>/.exec(text)?.[1]?.replace(/ · .*/, "").replaceAll("&#39;", "'")

const refusalOf = ({ location, text }: Answered): Refusal | undefined => {
  if (location !== null) {
    const code = new URL(location, "http://localhost").searchParams.get("error")
    return code === null ? undefined : { code, isClear: true }
  }
  const body = jsonOf(text)
  if (body === undefined) {
    const title = titleOf(text)
    return title === undefined ? undefined : { code: title, isClear: true }
  }
  const { code, error, result } = body
  if (typeof error === "string") return { code: error, isClear: String(body["error_description"] ?? "") !== "" }
  if (typeof error === "object" && error !== null) {
    const { code, message } = error as { readonly code: number; readonly message: string }
    return { code: String(code), isClear: /^(\/|The body)/.test(message) }
  }
  if (result === undefined) return code === undefined ? undefined : ofProblem(body as unknown as Problem)
  const { content, isError } = result as {
    readonly isError?: boolean
    readonly content: ReadonlyArray<{ readonly text: string }>
  }
  return isError === true ? ofProblem(JSON.parse(content[0]!.text) as Problem) : undefined
}

/** What is wrong with an answer; undefined where it is what was expected. */
export const faultOf = (answer: Answered, expected: Expected): string | undefined => {
  const { status, text } = answer
  const told = `${status} ${answer.location ?? titleOf(text) ?? text.slice(0, 300)}`
  const isMcp = text.includes('"jsonrpc"')
  if (status === 0 || status >= 500) return told
  const refusal = status < 400 && !isMcp && answer.location === null ? undefined : refusalOf(answer)
  if (expected === "legal") return refusal === undefined ? undefined : `should be legal: ${told}`
  if (refusal === undefined) return `should be refused: ${told}`
  if (!expected.includes(refusal.code)) return `should be refused with ${expected.join(" or ")}: ${told}`
  return refusal.isClear ? undefined : `names neither place nor limit: ${told}`
}
