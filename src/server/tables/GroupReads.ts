import { selectorOf, type Selector } from "./ApplyWrite.ts"
import { recordId, requestScope, type WriteRequest } from "./EvaluateWrites.ts"

/** Where the answer to a request with an idempotency key is kept. */
export interface RecordKey {
  readonly scope: string
  readonly key: string
}

/** The rows that the writes may act on. Many operations may name the same rows, which are read once. */
export const selectorsOf = (requests: ReadonlyArray<WriteRequest>): ReadonlyArray<Selector> => {
  const selectors = new Map<string, Selector>()
  for (const { table, writes } of requests) {
    for (const write of writes) {
      const selector = selectorOf(write, table)
      if (selector !== undefined) selectors.set(selectorKey(selector), selector)
    }
  }
  return [...selectors.values()]
}

/** Tells selectors apart: equal ones find the same rows. */
export const selectorKey = ({ createdAt, fields, id, table, updatedAt }: Selector): string =>
  [table, id, createdAt, updatedAt, fields.short, fields.long].join("\n")

/** The kept answers that the requests may be given. Many requests may come with the same key, whose answer is read once. */
export const recordKeysOf = (requests: ReadonlyArray<WriteRequest>): ReadonlyArray<RecordKey> => {
  const keys = new Map<string, RecordKey>()
  const want = (scope: string, key: string) => keys.set(recordId(scope, key), { scope, key })
  for (const { idempotency, operation, table, writes } of requests) {
    if (idempotency !== undefined) want(requestScope(operation, table), idempotency.key)
    for (const write of writes) {
      if (write.action === "add" && write.idempotencyKey !== undefined) {
        want(requestScope("add", table), write.idempotencyKey)
      }
    }
  }
  return [...keys.values()]
}
