import { assert, describe, it } from "@effect/vitest"
import { AgentMemoryError, createClient, type StandardSchema } from "../../src/client/createClient.ts"

interface Task {
  readonly title: string
  readonly done: boolean
  readonly rank?: number
}

/** Is only type-checked: what users may write, and what the type checker has to refuse. */
export const written = async () => {
  const memory = createClient({ apiKey: "svc_live_…" })
  // @ts-expect-error a key is needed
  createClient({})
  const tasks = memory.table<Task>("tasks")
  await tasks.add({ title: "write", done: false })
  // @ts-expect-error a field is missing
  await tasks.add({ title: "write" })
  // @ts-expect-error a field is unknown
  await tasks.add({ title: "write", done: false, doen: true })
  // @ts-expect-error the service sets the id
  await tasks.add({ id: "1", title: "write", done: false })
  const { rows } = await tasks.query({ filter: { done: false, rank: null, id: "1" }, sort: "-rank", limit: 10 })
  const [first] = rows
  if (first !== undefined) {
    const title: string = first.title
    const id: string = first.id
    void [title, id]
  }
  // @ts-expect-error no such field
  await tasks.query({ filter: { doen: true } })
  // @ts-expect-error a boolean is no string
  await tasks.query({ filter: { done: "no" } })
  await tasks.query({ filter: { rank: { gte: 1, lt: 10n }, title: { contains: "x", in: ["a", "b"] } }, search: "x" })
  await tasks.count({ created_at: { gt: "2026-03-01" }, done: { ne: true } }, { search: "x" })
  await tasks.delete({ rank: { exists: false } })
  // @ts-expect-error no such operator
  await tasks.query({ filter: { rank: { above: 1 } } })
  // @ts-expect-error a number is not compared with a string
  await tasks.query({ filter: { rank: { gt: "1" } } })
  // @ts-expect-error booleans have no order
  await tasks.query({ filter: { done: { lt: true } } })
  // @ts-expect-error a number contains no text
  await tasks.query({ filter: { rank: { contains: "1" } } })
  // @ts-expect-error a string is no array
  await tasks.query({ filter: { title: { has: "x" } } })
  // @ts-expect-error one value is no list
  await tasks.query({ filter: { title: { in: "x" } } })
  // @ts-expect-error no such field
  await tasks.query({ sort: "-doen" })
  // @ts-expect-error a delete names a filter
  await tasks.delete()
  await tasks.updateRow({ id: "1", patch: { done: true } })
  // @ts-expect-error of another type
  await tasks.updateRow({ id: "1", patch: { done: 1 } })
  // @ts-expect-error no such key field
  await tasks.upsert({ key: "name", row: { title: "write", done: false } })
  const [added, count] = await tasks.batch((b) => [b.add({ title: "write", done: false }), b.delete({ done: true })])
  const done: boolean = added.done
  const deleted: number = count
  // @ts-expect-error a count is no row
  const wrong: Task = count
  // @ts-expect-error the function has to say which operations
  await tasks.batch((b) => {
    b.delete({ done: true })
  })
  void [done, deleted, wrong]

  const schema = {} as StandardSchema<{ due: string }, { due: Date }>
  const dated = memory.table("dated", schema)
  const due: Date = (await dated.add({ due: "2026-11-27" })).due
  // @ts-expect-error text is stored
  await dated.add({ due })

  const tagged = memory.table<{ readonly tags: ReadonlyArray<string> }>("tagged")
  await tagged.updateWhere({ filter: { tags: { has: "red" } }, patch: { tags: [] }, allowMultiple: true })
  // @ts-expect-error another type of element
  await tagged.query({ filter: { tags: { has: 1 } } })

  const untyped = await memory.table("notes").add({ anything: [1, { a: 1n }] })
  const unknown: unknown = untyped["anything"]
  // @ts-expect-error nothing is known of it
  const text: string = untyped["anything"]
  void [unknown, text]
}

/** Is only type-checked: `code` tells the error's other members. */
export const told = (error: unknown) => {
  if (!(error instanceof AgentMemoryError)) return undefined
  // @ts-expect-error only some codes have it
  void error.limit
  switch (error.code) {
    case "row_limit":
      return [error.limit.toFixed(), error.current?.toFixed()]
    case "storage_limit":
      return error.current.toFixed()
    case "rate_limited":
      return error.retryAfter.toFixed()
    case "multiple_matches":
      return error.matches.toFixed()
    case "invalid_row":
      return [error.table, error.rowId, error.issues[0]?.message]
    // @ts-expect-error no such code
    case "row_limits":
      return undefined
    default:
      return error.detail
  }
}

describe("The client's types", () => {
  it("are checked by the type checker", () => {
    assert.isFunction(written)
    assert.isFunction(told)
  })
})
