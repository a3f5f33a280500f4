import * as P from "../../../domain/Problem.ts"
import { explanations } from "./Explanations.ts"

/** A failure's facts, taken from its class, with an example body. */
export interface ProblemFacts {
  readonly code: string
  /** Usually one; a code has two where some operations declare no better status than 400. */
  readonly statuses: ReadonlyArray<number>
  readonly title: string
  readonly hint: string
  readonly example: string
}

type ProblemClass = (new (fields: Record<string, unknown>) => {
  readonly code: string
  readonly status: number
  readonly title: string
  readonly type: string
  readonly hint?: string
}) & { readonly fields: Readonly<Record<string, unknown>> }

const isProblemClass = (value: unknown): value is ProblemClass =>
  typeof value === "function" &&
  "fields" in value &&
  typeof value.fields === "object" &&
  value.fields !== null &&
  "code" in value.fields

/** Members beside those that every problem has, as an example has them. */
const sampleMembers: Readonly<Record<string, unknown>> = { limit: 20, current: 21, matches: 2, retry_after: 2 }

const factsOf = (Problem: ProblemClass): ProblemFacts => {
  const members = Object.fromEntries(Object.entries(sampleMembers).filter(([name]) => name in Problem.fields))
  const { code, hint = "", status, title, type } = new Problem({ detail: "", ...members })
  const request_id = "01a21fbe-ea17-7524-a592-a12f985190ab"
  const body = { type, title, status, detail: explanations[code]?.detail, code, hint, request_id, ...members }
  return { code, statuses: [status], title, hint, example: JSON.stringify(body, null, 2) }
}

/** Every failure of the service, one for each code, by name. */
export const problems: ReadonlyArray<ProblemFacts> = [
  ...Map.groupBy(Object.values<unknown>(P).filter(isProblemClass).map(factsOf), ({ code }) => code).values()
].flatMap(([first, ...others]) =>
  first === undefined
    ? []
    : [{ ...first, statuses: [...first.statuses, ...others.flatMap(({ statuses }) => statuses)] }]
)
