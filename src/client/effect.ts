import { Config, Context, Effect, Layer, type Schema } from "effect"
import { FetchHttpClient, type HttpClient } from "effect/http"
import type { JsonText } from "../domain/json/JsonText.ts"
import { readTree } from "../domain/json/ReadTree.ts"
import { KeyId } from "../domain/Key.ts"
import { authenticationLayer, makeDerivedClient, type DerivedClient, type Options } from "./effect/DerivedClient.ts"
import type { FailureOf } from "./effect/Failures.ts"
import { filterOf, jsonOf, makeRowCodec, type RowSchema } from "./effect/RowCodec.ts"
import { headersOf, makeTable } from "./effect/TableCalls.ts"
import type { IdempotencyOptions, TableService } from "./effect/TableService.ts"
import { numberReader } from "./Numbers.ts"
import type {
  AccountRows,
  AnyRow,
  ApiKey,
  Connection,
  CreatedApiKey,
  CreatedLink,
  ImportAnswer,
  KeyPage,
  KeyQuery,
  QueryLink,
  RowLink,
  Stored,
  Table,
  TextFieldLink,
  Usage
} from "./Types.ts"

export { RawNumber } from "../domain/json/RawNumber.ts"
export { InvalidRow, type FailureOf } from "./effect/Failures.ts"
export type { DerivedClient, IdempotencyOptions, Options, TableService }

/**
 * An account of Agent Memory, as its API key opens it. Failures are the contract's problems by tag (`RowNotFound`,
 * `RateLimited` …), `HttpClientError`, `SchemaError` for an answer that is none, and `InvalidRow`.
 *
 * What fails by 429, 502, 503, 504, the network or a timeout is tried again like with the Promise client: up to
 * `maxRetries` times, after a random time that doubles from 250 ms to at most 8 s, and after a `Retry-After` of at most 60
 * seconds. Writes carry an idempotency key, so that a repeat is safe; links and keys are only made again when certainly
 * none was made.
 */
export class AgentMemory extends Context.Service<
  AgentMemory,
  {
    /** One table, its rows as they are stored or, with a schema, as the schema has them. */
    readonly table: {
      (name: string): TableService<AnyRow>
      <Row extends object, Encoded extends object>(
        name: string,
        schema: Schema.Codec<Row, Encoded>
      ): TableService<Row, Encoded>
    }
    readonly tables: Effect.Effect<ReadonlyArray<Table>, FailureOf<"tables", "list">>
    readonly export: Effect.Effect<AccountRows, FailureOf<"tables", "export">>
    readonly import: (
      tables: AccountRows,
      options?: IdempotencyOptions & { readonly dryRun?: boolean | undefined }
    ) => Effect.Effect<ImportAnswer, FailureOf<"tables", "import">>
    readonly usage: Effect.Effect<Usage, FailureOf<"tables", "usage">>
    readonly links: {
      readonly row: (link: RowLink) => Effect.Effect<CreatedLink, FailureOf<"links", "row">>
      readonly textField: (link: TextFieldLink) => Effect.Effect<CreatedLink, FailureOf<"links", "textField">>
      readonly query: (link: QueryLink) => Effect.Effect<CreatedLink, FailureOf<"links", "query">>
    }
    readonly keys: {
      /** All keys, the oldest first, and those revoked of late: a request for each 1,000. */
      readonly list: Effect.Effect<ReadonlyArray<ApiKey>, FailureOf<"keys", "list">>
      /** One page of `list`. */
      readonly page: (query?: KeyQuery) => Effect.Effect<KeyPage, FailureOf<"keys", "list">>
      readonly create: (name: string) => Effect.Effect<CreatedApiKey, FailureOf<"keys", "create">>
      readonly revoke: (id: string) => Effect.Effect<number, FailureOf<"keys", "revoke">>
    }
    readonly connections: {
      readonly list: Effect.Effect<ReadonlyArray<Connection>, FailureOf<"connections", "list">>
      readonly revoke: (id: string) => Effect.Effect<number, FailureOf<"connections", "revoke">>
    }
    /** The client that derives from the contract, with every operation as it is on the wire, sign-in included. */
    readonly derived: DerivedClient
  }
>()("agent-memory/client/effect/AgentMemory") {}

const make = Effect.fnUntraced(function* (options: Options) {
  const derived = yield* makeDerivedClient(options)
  const { connections, keys, links, tables } = derived
  const readNumber = numberReader(options.numbers ?? "number")
  const table = (name: string, schema?: RowSchema) => makeTable(name, derived, makeRowCodec(name, readNumber, schema))
  const page = (query: KeyQuery = {}) => keys.list({ query })
  return AgentMemory.of({
    table: table as AgentMemory["Service"]["table"],
    tables: Effect.map(tables.list(), ({ tables }) => tables),
    export: Effect.map(tables.export(), ({ tables }) =>
      Object.fromEntries(
        Object.entries(tables).map(([name, rows]) => [
          name,
          rows.map(({ text }: JsonText) => readTree(text, readNumber) as Stored<AnyRow>)
        ])
      )
    ),
    import: Effect.fnUntraced(function* (account, options = {}) {
      const exact = yield* Effect.forEach(Object.entries(account), ([name, rows]) =>
        Effect.map(Effect.forEach(rows, jsonOf), (rows) => [name, rows] as const)
      )
      return yield* tables.import({
        headers: headersOf(options),
        query: options.dryRun === true ? { dry_run: true } : {},
        payload: { tables: Object.fromEntries(exact) }
      })
    }),
    usage: tables.usage(),
    links: {
      row: (payload) => links.row({ headers: {}, payload }),
      textField: (payload) => links.textField({ headers: {}, payload }),
      query: Effect.fnUntraced(function* ({ filter, ...link }) {
        const exact = filter === undefined ? {} : { filter: yield* filterOf(filter) }
        return yield* links.query({ headers: {}, payload: { ...link, ...exact } })
      })
    },
    keys: {
      list: Effect.gen(function* () {
        const all: Array<ApiKey> = []
        for (let cursor: string | undefined; ;) {
          const { keys, next_cursor } = yield* page(cursor === undefined ? {} : { cursor })
          all.push(...keys)
          cursor = next_cursor
          if (cursor === undefined) return all
        }
      }),
      page,
      create: (name) => keys.create({ headers: {}, payload: { name } }),
      revoke: (id) => Effect.map(keys.revoke({ params: { id: KeyId.make(id) } }), ({ revoked }) => revoked)
    },
    connections: {
      list: Effect.map(connections.list(), ({ connections }) => connections),
      revoke: (id) => Effect.map(connections.revoke({ params: { id } }), ({ revoked }) => revoked)
    },
    derived
  })
})

/** {@link layer} on an `HttpClient` of the caller's. */
export const layerNoDeps = (options: Options): Layer.Layer<AgentMemory, never, HttpClient.HttpClient> =>
  Layer.provide(Layer.effect(AgentMemory, make(options)), authenticationLayer(options))

/**
 * An account, over `fetch`: `layer({ baseUrl, apiKey: Redacted.make(…) })`. Dies with an `AgentMemoryError`
 * (`invalid_options`) when the options cannot be used.
 */
export const layer = (options: Options): Layer.Layer<AgentMemory> =>
  Layer.provide(layerNoDeps(options), FetchHttpClient.layer)

/** {@link layer} with options from configuration: `layerConfig({ apiKey: Config.Redacted("AGENT_MEMORY_API_KEY") })`. */
export const layerConfig = (options: Config.Wrap<Options>): Layer.Layer<AgentMemory, Config.ConfigError> =>
  Layer.unwrap(Effect.map(Config.unwrap(options), layer))
