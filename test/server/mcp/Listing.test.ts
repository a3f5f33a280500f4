import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { countTokens } from "gpt-tokenizer/encoding/o200k_base"
import { expect } from "vitest"
import { limitsWith } from "../../../src/domain/Limits.ts"
import { makeTools } from "../../../src/server/mcp/Tools.ts"
import { serviceLayer } from "../../support/TestService.ts"
import { rpcOf } from "../../support/Mcp.ts"
import { callMcp } from "../../support/OAuth.ts"
import { narrowed, toolsOf, type ListedTool, type PlainSchema } from "./Listing.ts"
import { rpc } from "./Messages.ts"

const names = [
  "add",
  "query",
  "batch",
  "upsert",
  "update_row",
  "update_where",
  "list_tables",
  "search",
  "count",
  "delete",
  "versions",
  "restore",
  "remember",
  "remember_resource",
  "remember_code",
  "remember_markdown",
  "remember_command",
  "remember_config",
  "open_row",
  "open_text_field"
]

/** What clients or models stumble over: some drop the tool for it, some the whole list. */
const forbidden = ["$ref", "$defs", "definitions", "$schema", "oneOf", "allOf", "not", "if"]
const bounds = ["minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"]

interface Place {
  readonly at: string
  readonly schema: PlainSchema
}

/** Every schema within a schema, with its place. */
const within = (schema: PlainSchema, at: string): ReadonlyArray<Place> => [
  { at, schema },
  ...Object.entries(schema.properties ?? {}).flatMap(([name, member]) => within(member, `${at}/${name}`)),
  ...(schema.items === undefined ? [] : within(schema.items, `${at}/items`))
]

/** JSON with each schema that has no parts on a line of its own. */
const readable = (value: unknown, indent = "\n"): string => {
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  const isLeaf = Object.values(value).every((part) => typeof part !== "object" || part === null || Array.isArray(part))
  const isPlainArray = Array.isArray(value) && value.every((item) => typeof item !== "object")
  if (isPlainArray || (!Array.isArray(value) && isLeaf && !Object.hasOwn(value, "tools"))) return JSON.stringify(value)
  const inner = `${indent}  `
  const parts = Array.isArray(value)
    ? value.map((item) => inner + readable(item, inner))
    : Object.entries(value).map(([name, part]) => `${inner}${JSON.stringify(name)}: ${readable(part, inner)}`)
  const [open, close] = Array.isArray(value) ? "[]" : "{}"
  return `${open}${parts.join()}${indent}${close}`
}

const faultsOfPlace = ({ at, schema }: Place): ReadonlyArray<string> => {
  const { description = "", properties = {}, required = [], type } = schema
  return [
    ...forbidden.filter((keyword) => keyword in schema).map((keyword) => `has ${keyword}`),
    ...("anyOf" in schema ? ["has anyOf"] : []),
    ...(typeof type === "string" ? [] : [`has the type ${JSON.stringify(type)}`]),
    ...(at.includes("/") && !at.endsWith("/items") && description === "" ? ["has no description"] : []),
    ...required.filter((name) => !Object.hasOwn(properties, name)).map((name) => `requires ${name}, which it lacks`)
  ].map((fault) => `${at} ${fault}`)
}

/** The bounds of a schema that its description does not tell. */
const untoldBounds = ({ at, schema }: Place): ReadonlyArray<string> =>
  bounds
    .filter((bound) => {
      const value = schema[bound]
      // A single item or character as the least is told in words: at least one, non-empty.
      const told = (schema.description ?? "").replaceAll(",", "")
      return typeof value === "number" && value > 1 && !told.includes(String(value))
    })
    .map((bound) => `${at} ${bound}`)

const faultsOf = ({ annotations, description, inputSchema, name, outputSchema, title }: ListedTool) => {
  const hints = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"]
  return [
    ...(/^[a-z][a-z0-9_]{0,23}$/.test(name) ? [] : ["its name"]),
    ...(title.length > 0 ? [] : ["its title"]),
    ...(description.length >= 1 && description.length <= 1024 ? [] : [`its description of ${description.length}`]),
    ...hints.filter((hint) => typeof annotations[hint] !== "boolean"),
    ...(inputSchema.type === "object" ? [] : ["its input's root"]),
    ...(outputSchema.type === "object" ? [] : ["its output's root"]),
    ...within(inputSchema, "input").flatMap(faultsOfPlace),
    ...within(outputSchema, "output").flatMap(faultsOfPlace)
  ].map((fault) => `${name}: ${fault}`)
}

layer(serviceLayer(), { excludeTestServices: true })("The list of tools", (it) => {
  it.effect("39 has every tool of the specification once, in one order", () =>
    Effect.gen(function* () {
      const { token } = yield* narrowed("full")
      const listed = (yield* toolsOf(token)).map(({ name }) => name)
      assert.deepStrictEqual(listed.toSorted(), names.toSorted())
      assert.deepStrictEqual(
        (yield* toolsOf(token)).map(({ name }) => name),
        listed
      )
    })
  )

  it.effect("39 describes every tool in a way that all clients and models can read", () =>
    Effect.gen(function* () {
      const { token } = yield* narrowed("full")
      assert.deepStrictEqual((yield* toolsOf(token)).flatMap(faultsOf), [])
    })
  )

  it("39 tells every bound of an argument in words, as some clients drop it", () => {
    const { described } = makeTools(limitsWith({}))
    const untold = described.flatMap(({ inputSchema, name }) => within(inputSchema, name).flatMap(untoldBounds))
    assert.deepStrictEqual(untold, [])
  })

  it.effect("costs a model less than 3,600 tokens, and a client that reads results' schemas half as much", () =>
    Effect.gen(function* () {
      const tools = yield* toolsOf((yield* narrowed("full")).token)
      const tokens = (shown: (tool: ListedTool) => unknown) => countTokens(JSON.stringify(tools.map(shown)))
      const read = tokens(({ description, inputSchema, name }) => ({ name, description, inputSchema }))
      assert.isBelow(read, 3600)
      assert.isBelow(
        tokens(({ outputSchema }) => outputSchema),
        1850
      )
    })
  )

  it.effect("leaves out aliases for an address that ends with ?tools=core, and they can be called nevertheless", () =>
    Effect.gen(function* () {
      const { token } = yield* narrowed("full")
      const call = (method: string, params?: object) =>
        callMcp(token, { path: "/mcp?tools=core", body: JSON.stringify(rpc(method, params)) })
      const { tools } = rpcOf<{ result: { tools: ReadonlyArray<ListedTool> } }>(yield* call("tools/list")).result
      assert.deepStrictEqual(
        tools.map(({ name }) => name).toSorted(),
        names.filter((name) => !name.startsWith("remember_")).toSorted()
      )
      const memory = { title: "a", content: "b", language: "sql", tags: ["c"] }
      const saved = yield* call("tools/call", { name: "remember_code", arguments: memory })
      assert.include(saved.text, '"created":true')
    })
  )

  it.effect("39 hints at what may be lost", () =>
    Effect.gen(function* () {
      const { token } = yield* narrowed("full")
      const having = (hint: string) => (tools: ReadonlyArray<ListedTool>) =>
        tools.filter(({ annotations }) => annotations[hint] === true).map(({ name }) => name)
      const tools = yield* toolsOf(token)
      assert.deepStrictEqual(having("readOnlyHint")(tools), ["list_tables", "query", "search", "count", "versions"])
      assert.deepStrictEqual(having("destructiveHint")(tools), [
        "upsert",
        "update_row",
        "update_where",
        "batch",
        "delete",
        "restore",
        // With a key they replace what was remembered before.
        "remember",
        "remember_resource",
        "remember_code",
        "remember_markdown",
        "remember_command",
        "remember_config"
      ])
      assert.deepStrictEqual(having("openWorldHint")(tools), [])
    })
  )

  it.effect("39 takes an idempotencyKey wherever rows are changed, and dryRun where many can be", () =>
    Effect.gen(function* () {
      const { token } = yield* narrowed("full")
      const taking = (name: string) => (tools: ReadonlyArray<ListedTool>) =>
        tools.filter(({ inputSchema }) => Object.hasOwn(inputSchema.properties ?? {}, name)).map((tool) => tool.name)
      const tools = yield* toolsOf(token)
      const changing = names.filter(
        (name) => !/^(query|search|count|list_tables|versions|open_.*|remember_.*)$/.test(name)
      )
      assert.deepStrictEqual(taking("idempotencyKey")(tools).toSorted(), changing.toSorted())
      assert.deepStrictEqual(taking("dryRun")(tools), ["update_where", "batch", "delete", "restore"])
    })
  )

  it.effect(
    "39 asks for short arguments before long ones, and for required ones first, as some clients drop what follows a long one",
    () =>
      Effect.gen(function* () {
        const texts = ["old", "new", "text", "value", "tags", "source", "notes", "content"]
        const long = [
          "sort",
          "fields",
          "cursor",
          "search",
          "filter",
          "edits",
          "patch",
          "row",
          "rows",
          "operations",
          ...texts
        ]
        const { token } = yield* narrowed("full")
        const misplaced = (yield* toolsOf(token)).flatMap(({ inputSchema, name }) =>
          within(inputSchema, name).flatMap(({ at, schema }) => {
            const names = Object.keys(schema.properties ?? {})
            const firstLong = names.findIndex((argument) => long.includes(argument))
            const short = firstLong === -1 ? names : names.slice(0, firstLong)
            const late = names.slice(short.length).filter((argument) => !long.includes(argument))
            const firstOptional = short.findIndex((argument) => schema.required?.includes(argument) !== true)
            const lateRequired =
              firstOptional === -1
                ? []
                : short.slice(firstOptional).filter((argument) => schema.required?.includes(argument))
            return [...late, ...lateRequired].map((argument) => `${at}/${argument}`)
          })
        )
        assert.deepStrictEqual(misplaced, [])
      })
  )

  for (const access of ["full", "read"] as const) {
    it.effect(`39 is what was agreed on, for the access ${access}`, () =>
      Effect.gen(function* () {
        const { token } = yield* narrowed(access)
        const listed = readable({ tools: yield* toolsOf(token) })
        yield* Effect.promise(() => expect(`${listed}\n`).toMatchFileSnapshot(`tools.${access}.json`))
      })
    )
  }

  it.effect("39 is the same for some tables as for all of them", () =>
    Effect.gen(function* () {
      const tools = yield* toolsOf((yield* narrowed("tables")).token)
      assert.deepStrictEqual(tools, yield* toolsOf((yield* narrowed("full")).token))
    })
  )
})
