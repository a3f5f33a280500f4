import { unknownId } from "./ModelGenerator.ts"
import type { Json, ModelOperation } from "./ModelValues.ts"

const name = /"([#@]\d+)"/g
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const instant = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

/** Which of the service's ids and times the model's names stand for; learnt from the answers. */
export class Names {
  private readonly real = new Map<string, string>()
  private readonly taken = new Set<string>()
  private readonly updates = new Map<string, { readonly order: number; readonly real: string }>()

  constructor(keyId: string) {
    this.real.set("#0", keyId)
    this.real.set(unknownId, "01900000-0000-7000-8000-000000000000")
  }

  /** Names that go on learning by themselves. */
  fork(): Names {
    const fork = new Names("")
    for (const [name, real] of this.real) fork.real.set(name, real)
    for (const real of this.taken) fork.taken.add(real)
    for (const [id, update] of this.updates) fork.updates.set(id, update)
    return fork
  }

  knows(operation: ModelOperation): boolean {
    return [...JSON.stringify(operation).matchAll(name)].every((found) => this.real.has(found[1]!))
  }

  resolve(operation: ModelOperation): ModelOperation {
    return JSON.parse(JSON.stringify(operation).replace(name, (_, found: string) => `"${this.real.get(found)}"`))
  }

  /** Where an answer is another than the model's, or undefined. Names that are new are learnt. */
  match(model: Json, actual: Json, path = ""): string | undefined {
    if (typeof model === "string" && /^[#@]\d+$/.test(model)) return this.matchName(model, actual, path)
    if (typeof model !== "object" || typeof actual !== "object" || model === null || actual === null) {
      return model === actual ? undefined : `${path}: ${JSON.stringify(actual)}`
    }
    const [wanted, found] = [Object.entries(model), Object.entries(actual)]
    const isAlike =
      Array.isArray(model) === Array.isArray(actual) &&
      wanted.length === found.length &&
      wanted.every(([name], index) => name === found[index]![0])
    if (!isAlike) return `${path}: ${JSON.stringify(actual)}`
    for (const [index, [name, value]] of wanted.entries()) {
      const fault = this.match(value, found[index]![1], `${path}/${name}`)
      if (fault !== undefined) return fault
    }
    const row = model as { readonly [name: string]: Json }
    return "updated_at" in row ? this.matchOrder(String(row["id"]), String(row["updated_at"]), path) : undefined
  }

  private matchName(model: string, actual: Json, path: string): string | undefined {
    const known = this.real.get(model)
    if (known !== undefined) return known === actual ? undefined : `${path}: ${JSON.stringify(actual)}, not ${known}`
    const isId = model.startsWith("#")
    if (typeof actual !== "string" || !(isId ? uuid : instant).test(actual) || (isId && this.taken.has(actual))) {
      return `${path}: ${JSON.stringify(actual)}`
    }
    this.real.set(model, actual)
    this.taken.add(actual)
    return undefined
  }

  /** A row's `updated_at` strictly grows. */
  private matchOrder(id: string, updatedAt: string, path: string): string | undefined {
    // An import brings times of its own, older than what the row had before.
    if (!updatedAt.startsWith("@")) return undefined
    const [order, real] = [Number(updatedAt.slice(1)), this.real.get(updatedAt)!]
    const before = this.updates.get(id)
    if (before !== undefined && before.order >= order) return undefined
    this.updates.set(id, { order, real })
    return before === undefined || before.real < real ? undefined : `${path}/updated_at: ${real} after ${before.real}`
  }
}
