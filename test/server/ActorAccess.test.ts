import { assert, layer } from "@effect/vitest"
import { Effect, Option, Result, Stream, type Scope } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import { fullAccess, type Actor, type Reach } from "../../src/domain/Actor.ts"
import { parseFilter, parseWords } from "../../src/domain/Query.ts"
import { JsonText } from "../../src/domain/json/JsonText.ts"
import { Email } from "../../src/domain/Account.ts"
import { AccountDeletion } from "../../src/server/accounts/AccountDeletion.ts"
import { Changes } from "../../src/server/versions/Changes.ts"
import { Keys } from "../../src/server/keys/Keys.ts"
import { Links } from "../../src/server/links/Links.ts"
import { Writes, type SingleOperation } from "../../src/server/tables/Writes.ts"
import { Rows } from "../../src/server/tables/Rows.ts"
import { Search } from "../../src/server/tables/Search.ts"
import { Tables } from "../../src/server/tables/Tables.ts"
import { Versions } from "../../src/server/versions/Versions.ts"
import { backupId, backupRow } from "../support/Backups.ts"
import { actorNow } from "../support/Instances.ts"
import { newAccount, serviceLayer } from "../support/TestService.ts"
import { asked } from "../support/Asked.ts"

/** The services in which somebody acts. */
const services = Effect.gen(function* () {
  return {
    Keys: yield* Keys,
    Links: yield* Links,
    Writes: yield* Writes,
    Rows: yield* Rows,
    Search: yield* Search,
    Tables: yield* Tables,
    Versions: yield* Versions,
    Changes: yield* Changes,
    AccountDeletion: yield* AccountDeletion
  }
})

/** The methods that nobody acts in, and why. */
const withoutActor: Readonly<Record<string, string>> = {
  "AccountDeletion.resume": "background work ends what was begun",
  "AccountDeletion.forgetGone": "background work frees memory",
  "Keys.issue": "a sign-in makes the first key",
  "Keys.prune": "a sweep removes what has expired",
  "Links.open": "whoever has the token opens it",
  "Links.prune": "a sweep removes what has expired"
}

interface Place {
  readonly table: string
  readonly id: string
}

type Call = (actor: Actor, place: Place) => Effect.Effect<unknown, unknown, Scope.Scope>

/** The calls of a method: of one table, or of all that the actor may know of. */
interface Method {
  readonly reads: boolean
  readonly ofTable: boolean
  readonly calls: ReadonlyArray<Call>
}

const json = JsonText.trusted
const filterOf = (text: string) => Result.getOrThrow(parseFilter(json(text), "/filter"))
const words = (text: string) => Result.getOrThrow(parseWords(text, "/search"))
const byId = (id: string) => `{"id":"${id}"}`

/** Every operation on its own; a new one does not compile before it is here. */
const operationsOn = (id: string): { readonly [A in SingleOperation["action"]]: SingleOperation } => ({
  update_row: { action: "update_row", id, patch: json('{"m":1}') },
  update_where: { action: "update_where", filter: json(byId(id)), patch: json('{"m":2}'), allowMultiple: true },
  save: {
    action: "save",
    id,
    updatedAt: undefined,
    fields: json('{"m":3}'),
    replaces: false,
    textField: undefined,
    restores: false
  },
  restore: { action: "restore", id, version: 1 },
  delete: { action: "delete", filter: json(byId(id)) },
  add: { action: "add", row: json('{"n":7}') },
  upsert: { action: "upsert", key: "k", row: json('{"k":1}') }
})

const reading = (...calls: ReadonlyArray<Call>): Method => ({ reads: true, ofTable: true, calls })
const readingAll = (...calls: ReadonlyArray<Call>): Method => ({ reads: true, ofTable: false, calls })
const changing = (...calls: ReadonlyArray<Call>): Method => ({ reads: false, ofTable: true, calls })
const changingAll = (...calls: ReadonlyArray<Call>): Method => ({ reads: false, ofTable: false, calls })

/** Every method in which somebody acts. */
const makeMethods = Effect.gen(function* () {
  const {
    Keys: keys,
    Links: links,
    Writes: writes,
    Rows: rows,
    Search: search,
    Tables: tables,
    Versions: versions,
    Changes: changes,
    AccountDeletion: deletion
  } = yield* services
  const every = { filter: undefined, sort: undefined, limit: 100 }
  const methods: Readonly<Record<string, Method>> = {
    "Search.everywhere": readingAll((actor) => search.everywhere(actor, words("of"))),
    "Tables.list": readingAll(
      (actor) => tables.list(actor),
      (actor) => tables.list(actor, 9)
    ),
    "Tables.overview": readingAll((actor) => tables.overview(actor)),
    "Tables.names": readingAll((actor) => tables.names(actor)),
    "Tables.summaries": readingAll((actor) => tables.summaries(actor)),
    "Tables.totals": readingAll((actor) => tables.totals(actor)),
    "Tables.usage": readingAll((actor) => tables.usage(actor, 7)),
    "Tables.exportAll": readingAll((actor) =>
      Effect.flatMap(tables.exportAll(actor), ({ bytes, text }) =>
        Effect.map(Stream.mkString(text), (whole) => ({ bytes, whole }))
      )
    ),
    "Rows.query": reading(
      (actor, { table }) => rows.query(actor, asked(table, every)),
      (actor, { id, table }) => rows.query(actor, asked(table, { ...every, filter: filterOf(byId(id)) }))
    ),
    "Rows.select": reading((actor, { table }) => rows.select(actor, table, every)),
    "Rows.ids": reading((actor, { table }) => rows.ids(actor, table, filterOf('{"n":1}'), 10)),
    "Rows.find": reading((actor, { id, table }) => rows.find(actor, table, id)),
    "Rows.summary": reading((actor, { table }) =>
      rows.summary(actor, table, undefined, { by: "n", measures: [{ measure: "sum", field: "n" }] })
    ),
    "Rows.every": reading((actor, { table }) => rows.every(actor, table, words("of"))),
    "Rows.filled": readingAll((actor) => rows.filled(actor)),
    "Rows.overview": reading((actor, { table }) =>
      Effect.map(rows.overview(actor, table), ({ changedAt, fields }) => [changedAt, [...fields]])
    ),
    "Rows.notes": reading((actor, { table }) => rows.notes.ofNothing({ table, filter: json('{"m":1}') }, actor)),
    "Rows.matched": reading((actor, { table }) => rows.matched(actor, table, undefined)),
    "Rows.count": reading(
      (actor, { table }) => rows.count(actor, table, undefined),
      (actor, { table }) => rows.count(actor, table, filterOf('{"n":1}'))
    ),
    "Versions.list": reading((actor, { id, table }) => versions.list(actor, table, id)),
    "Versions.deleted": reading((actor, { table }) => versions.deleted(actor, table, { limit: 10, after: undefined })),
    "Versions.readDeleted": reading((actor, { table }) =>
      versions.readDeleted(actor, table, { limit: 10, after: undefined })
    ),
    "Versions.read": reading((actor, { id, table }) => versions.read(actor, table, id)),
    "Changes.list": reading(
      (actor) => changes.list(actor, { limit: 10 }),
      (actor, { table }) => changes.list(actor, { limit: 10, table, since: 0 })
    ),
    "Changes.read": reading((actor) => changes.read(actor, { limit: 10 })),
    "Links.toRow": changing((actor, place) => links.toRow(actor, place)),
    "Links.toTextField": changing((actor, place) => links.toTextField(actor, { ...place, field: "text" })),
    "Links.toQuery": { ...reading((actor, { table }) => links.toQuery(actor, { table, ...every })), reads: false },
    "Writes.batch": changing(
      ...[true, false].map(
        (isDryRun): Call =>
          (actor, { id, table }) =>
            writes.batch(actor, { table, isDryRun }, [
              { action: "update_where", filter: json('{"n":1}'), patch: json('{"b":1}'), allowMultiple: true },
              { action: "delete", filter: json(byId(id)) }
            ])
      )
    ),
    "Writes.write": changing(
      ...Object.keys(operationsOn("")).flatMap((action) =>
        [true, false].map(
          (isDryRun): Call =>
            (actor, { id, table }) =>
              writes.write(actor, { table, isDryRun }, operationsOn(id)[action as SingleOperation["action"]])
        )
      )
    ),
    "Writes.undo": changingAll((actor) => writes.undo(actor, {}, 1_000_000)),
    "Writes.import": changing((actor, { table }) =>
      writes.import(actor, {}, { [table]: [json(backupRow(table.length + 50, '"i":1'))] })
    ),
    "AccountDeletion.deleteAccount": changingAll((actor) =>
      deletion.deleteAccount(actor, Email.make("nobody@example.com"))
    ),
    "Keys.list": readingAll((actor) => keys.list(actor)),
    "Keys.create": changingAll((actor) => keys.create(actor, "made")),
    "Keys.revoke": changingAll((actor) => keys.revoke(actor, "00000000-0000-4000-8000-000000000000"))
  }
  return methods
})

const [notes, plans, secret] = ["notes", "plans", "private"] as const
const tableNames = [notes, plans, secret]
const liveId = (table: string) => backupId(tableNames.indexOf(table as typeof notes) * 2 + 1)
const deletedId = (table: string) => backupId(tableNames.indexOf(table as typeof notes) * 2 + 2)

/** An account with these tables: each with a row that was changed, and one that was deleted. */
const accountWith = Effect.fnUntraced(function* (names: ReadonlyArray<string>, now: Date) {
  const writes = yield* Writes
  const { accountId } = yield* newAccount
  const actor = Effect.map(actorNow(accountId), (admitted): Actor => ({ ...admitted, now }))
  for (const table of names) {
    const first = tableNames.indexOf(table as typeof notes) * 2 + 1
    const rows = [first, first + 1].map((n) => json(backupRow(n, `"n":${n % 2},"text":"of ${table}"`)))
    yield* writes.import(yield* actor, {}, { [table]: rows })
    const patch = json('{"old":false}')
    yield* writes.write(yield* actor, { table }, { action: "update_row", id: liveId(table), patch })
    yield* writes.write(yield* actor, { table }, { action: "delete", filter: json(byId(deletedId(table))) })
  }
  return actor
})

const places: ReadonlyArray<Place> = [...tableNames, "never"].flatMap((table) =>
  [notes, secret].flatMap((of) => [liveId(of), deletedId(of)].map((id) => ({ table, id })))
)

const known = new Set(tableNames.flatMap((table) => [liveId(table), deletedId(table)]))
const plain = (value: unknown): unknown => {
  if (JsonText.is(value)) return value.text
  if (Option.isOption(value)) return Option.isSome(value) ? [plain(value.value)] : []
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== "object" || value === null || value instanceof Date) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plain(member)]))
}

/** What a call gives, but for what is made anew each time. */
const outcomeOf = Effect.fnUntraced(function* (call: Call, actor: Actor, place: Place) {
  const result = yield* Effect.result(Effect.scoped(call(actor, place)))
  const told = Result.isSuccess(result) ? { success: plain(result.success) } : { failure: result.failure }
  return (
    JSON.stringify(told)
      .replaceAll(actor.accountId, "account")
      .replaceAll(/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g, (id) => (known.has(id) ? id : "a new id"))
      .replaceAll(/(view|download|svc_live)([/_])[\w-]+/g, "$1$2token")
      .replaceAll(/"(expires_at|created_at)":"[^"]*"/g, '"$1":"a time"')
      // The numbers of changes grow within the whole account.
      .replaceAll(/"change":\d+/g, '"change":"a number"')
      .replaceAll(/\\"change\\":\d+/g, '\\"change\\":\\"a number\\"')
  )
})

const accesses: Readonly<Record<string, Reach["access"]>> = {
  "may only read": { readOnly: true, tables: null },
  "are confined to some tables": { readOnly: false, tables: [notes, plans] },
  "are confined to one table, and may only read it": { readOnly: true, tables: [notes] },
  "are confined to tables that do not exist": { readOnly: false, tables: ["never"] },
  "are confined to no table": { readOnly: false, tables: [] }
}

layer(serviceLayer(), { excludeTestServices: true, timeout: "60 seconds" })("Actors", (it) => {
  it.effect("P43 act in every method of the services, which are all looked at here", () =>
    Effect.gen(function* () {
      const shapes = Object.entries(yield* services).map(([name, shape]) =>
        Object.keys(shape).map((method) => `${name}.${method}`)
      )
      const looked = [...Object.keys(yield* makeMethods), ...Object.keys(withoutActor)]
      assert.deepStrictEqual(shapes.flat().toSorted(), looked.toSorted())
      const folder = new URL("../../src/server/", import.meta.url)
      const taking = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter(
        (path) =>
          path.endsWith(".ts") &&
          /(?:readonly \w+: (?:<[^()]*>)?|traced\("\w+\.\w+"\)\(function\* ?)\(\s*actor: (?:Actor|Reach)\b/.test(
            readFileSync(new URL(path, folder), "utf8")
          )
      )
      const names = taking.map((path) => /(\w+)\.ts$/.exec(path)![1]!)
      assert.deepStrictEqual(names.toSorted(), Object.keys(yield* services).toSorted())
    })
  )

  for (const [title, access] of Object.entries(accesses)) {
    it.effect(`P43 that ${title} get what they would if no others existed, and change nothing else`, () =>
      Effect.gen(function* () {
        const methods = yield* makeMethods
        const { now } = yield* actorNow((yield* newAccount).accountId)
        const among = access.tables ?? tableNames
        const reached = tableNames.filter((name) => among.includes(name))
        const owner = yield* accountWith(tableNames, now)
        const other = yield* accountWith(reached, now)
        const actor = Effect.map(owner, (full): Actor => ({ ...full, kind: "connection", access }))
        const alone = Effect.map(other, (full): Actor => ({ ...full, kind: "connection", access }))
        const tables = yield* Tables
        const held = Effect.scoped(
          Effect.flatMap(owner, (full) => Effect.flatMap(tables.exportAll(full), ({ text }) => Stream.mkString(text)))
        )
        const rowsOut = (whole: string) =>
          Object.entries((JSON.parse(whole) as { tables: Record<string, unknown> }).tables).filter(
            ([name]) => access.readOnly || !among.includes(name)
          )
        const before = rowsOut(yield* held)
        for (const [name, { calls, ofTable, reads }] of Object.entries(methods)) {
          for (const [index, call] of calls.entries()) {
            for (const place of ofTable ? places : [places[0]!]) {
              const at = `${name} ${index} ${place.table} ${place.id}`
              const outcome = yield* outcomeOf(call, yield* actor, place)
              assert.strictEqual(outcome, yield* outcomeOf(call, yield* alone, place), at)
              if (reads) assert.strictEqual(outcome, yield* outcomeOf(call, yield* other, place), at)
              if (access.readOnly && !reads && name !== "Links.toQuery") {
                assert.include(outcome, "This connection is read-only.", at)
              }
            }
          }
        }
        assert.deepStrictEqual(rowsOut(yield* held), before)
      })
    )
  }

  it.effect("P43 with full access are told of every table, by each method that can tell", () =>
    Effect.gen(function* () {
      const methods = yield* makeMethods
      const { now } = yield* actorNow((yield* newAccount).accountId)
      const [owner, other] = [yield* accountWith(tableNames, now), yield* accountWith([notes], now)]
      const blind = [
        "AccountDeletion.deleteAccount",
        "Keys.create",
        "Keys.list",
        "Keys.revoke",
        "Links.toQuery",
        "Writes.import",
        "Writes.undo"
      ]
      const place = { table: secret, id: liveId(secret) }
      for (const [name, { calls }] of Object.entries(methods)) {
        const differs = yield* Effect.forEach(calls, (call) =>
          Effect.gen(function* () {
            return (yield* outcomeOf(call, yield* owner, place)) !== (yield* outcomeOf(call, yield* other, place))
          })
        )
        assert.strictEqual(differs.includes(true), !blind.includes(name), name)
      }
      assert.deepStrictEqual((yield* owner).access, fullAccess)
    })
  )
})
