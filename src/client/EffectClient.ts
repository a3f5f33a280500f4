import { Config, Context, Duration, Effect, Layer, Redacted, Schema } from "effect"
import { HttpApiClient, HttpApiMiddleware } from "effect/http-api"
import { Api } from "../api/Api.ts"
import { Authentication } from "../api/Middleware.ts"
import { InvalidRequest } from "../domain/Problem.ts"
import type { AgentMemory as PromiseClient } from "./AgentMemory.ts"
import { AgentMemoryError } from "./AgentMemoryError.ts"
import { accountCalls, runBy, tableCalls, type Call, type RowCodec } from "./Calls.ts"
import { headersOf } from "./ContractOperations.ts"
import { jsonOf, rowReader } from "./ExactRows.ts"
import { checkApiKey, connectionOf, type ClientOptions } from "./Options.ts"
import { outcomeOfCause, outcomeOfStatus, retryAfterOf, retrying, step, type Steps, type Verdict } from "./Retries.ts"
import { FetchHttpClient, HttpClient, HttpClientError, HttpClientRequest, type HttpClientResponse } from "effect/http"
import { InvalidRow, type FailureOf, type IdempotencyOptions, type TableService } from "./TableService.ts"
import type { AnyRow, Stored } from "./RowTypes.ts"
import type * as Account from "./AccountTypes.ts"

/** Runs steps that yield effects. What they throw of their own is a defect, unless `refusalOf` makes it a failure. */
const runEffects = <A, E = never>(
  steps: Steps<A>,
  refusalOf: (error: unknown) => E | undefined = () => undefined
): Effect.Effect<A, E> => {
  const proceed = (advance: () => IteratorResult<unknown, A>, failure?: E): Effect.Effect<A, E> => {
    try {
      const next = advance()
      if (next.done === true) return Effect.succeed(next.value)
      return Effect.matchEffect(next.value as Effect.Effect<unknown, E>, {
        onFailure: (error) => proceed(() => steps.throw(error), error),
        onSuccess: (value) => proceed(() => steps.next(value))
      })
    } catch (error) {
      if (failure !== undefined && error === failure) return Effect.fail(failure)
      const refusal = refusalOf(error)
      return refusal === undefined ? Effect.die(error) : Effect.fail(refusal)
    }
  }
  return proceed(() => steps.next())
}

type Failure = HttpClientError.HttpClientError | HttpClientResponse.HttpClientResponse

const isError = (failure: Failure): failure is HttpClientError.HttpClientError =>
  HttpClientError.isHttpClientError(failure)

const verdictOn = (failure: Failure): Verdict => {
  if (!isError(failure)) {
    return { outcome: outcomeOfStatus(failure.status), retryAfter: retryAfterOf(failure.headers["retry-after"]) }
  }
  const { reason } = failure
  return { outcome: reason._tag === "TransportError" ? outcomeOfCause(reason.cause) : "final" }
}

/** Sends requests again by the rules of the Promise client, and reads each response whole within its try. */
const retryRequests = ({ maxRetries, timeout }: { readonly timeout: Duration.Duration; readonly maxRetries: number }) =>
  HttpClient.transform<HttpClientError.HttpClientError, never, HttpClientError.HttpClientError, never>(
    (response, request) => {
      const tryOnce = response.pipe(
        // The body is kept, so that reading it later cannot fail any more.
        Effect.tap((response) => response.arrayBuffer),
        Effect.timeoutOrElse({
          duration: timeout,
          orElse: () => {
            const description = `No answer within ${Duration.format(timeout)}`
            const reason = new HttpClientError.TransportError({ request, description })
            return Effect.fail(new HttpClientError.HttpClientError({ reason }))
          }
        }),
        Effect.filterOrFail(
          ({ status }) => outcomeOfStatus(status) === "final",
          (response): Failure => response
        )
      )
      const tries = retrying<HttpClientResponse.HttpClientResponse>({
        maxRetries,
        isRepeatable: ["GET", "DELETE"].includes(request.method) || request.headers["idempotency-key"] !== undefined,
        tryOnce: () => tryOnce,
        judge: (failure) => verdictOn(failure as Failure),
        sleep: (milliseconds) => Effect.sleep(milliseconds)
      })
      return Effect.catch(runEffects<HttpClientResponse.HttpClientResponse, Failure>(tries), (failure) =>
        isError(failure) ? Effect.fail(failure) : Effect.succeed(failure)
      )
    }
  )

export { RawNumber } from "../domain/json/JsonText.ts"
export { InvalidRow, type FailureOf, type IdempotencyOptions, type TableService } from "./TableService.ts"

export interface Options extends Pick<ClientOptions, "baseUrl" | "maxRetries" | "numbers" | "dangerouslyAllowBrowser"> {
  /** The API key, `svc_live_…`: a secret of the whole account. */
  readonly apiKey: Redacted.Redacted
  /** How long one try may take; 30 seconds when it is not said. */
  readonly timeout?: Duration.Input | undefined
}

/** The client that derives from the contract. */
export type DerivedClient = HttpApiClient.ForApi<typeof Api>

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
    readonly tables: Effect.Effect<ReadonlyArray<Account.Table>, FailureOf<"tables", "list">>
    /** The tables, each with its fields and their types. */
    readonly describedTables: Effect.Effect<ReadonlyArray<Account.Table>, FailureOf<"tables", "list">>
    /** As with the Promise client: the rows of all tables that have all of these words in their texts. */
    readonly search: (words: string) => Effect.Effect<Account.SearchAnswer, FailureOf<"tables", "search">>
    readonly export: Effect.Effect<Account.AccountRows, FailureOf<"tables", "export">>
    readonly import: (
      tables: Account.AccountRows,
      options?: IdempotencyOptions & { readonly dryRun?: boolean | undefined }
    ) => Effect.Effect<Account.ImportAnswer, FailureOf<"tables", "import">>
    readonly usage: Effect.Effect<Account.Usage, FailureOf<"tables", "usage">>
    /** As with the Promise client: newest first or, after the change that `since` names, oldest first. */
    readonly changes: (query?: Account.ChangeQuery) => Effect.Effect<Account.ChangePage, FailureOf<"changes", "list">>
    /** As with the Promise client: takes back one whole write, or with `dryRun` tells what that would do. */
    readonly undo: (
      change: number,
      options?: IdempotencyOptions & { readonly dryRun?: boolean | undefined }
    ) => Effect.Effect<Account.UndoAnswer, FailureOf<"changes", "undo">>
    /** As with the Promise client: deletes the account with everything that it holds, for good. */
    readonly deleteAccount: (email: string) => Effect.Effect<void, FailureOf<"account", "delete">>
    readonly links: {
      readonly row: (link: Account.RowLink) => Effect.Effect<Account.CreatedLink, FailureOf<"links", "row">>
      readonly textField: (
        link: Account.TextFieldLink
      ) => Effect.Effect<Account.CreatedLink, FailureOf<"links", "textField">>
      readonly query: (link: Account.QueryLink) => Effect.Effect<Account.CreatedLink, FailureOf<"links", "query">>
    }
    readonly keys: {
      /** All keys, the oldest first, and those revoked of late: a request for each 1,000. */
      readonly list: Effect.Effect<ReadonlyArray<Account.ApiKey>, FailureOf<"keys", "list">>
      /** One page of `list`. */
      readonly page: (query?: Account.KeyQuery) => Effect.Effect<Account.KeyPage, FailureOf<"keys", "list">>
      readonly create: (name: string) => Effect.Effect<Account.CreatedApiKey, FailureOf<"keys", "create">>
      readonly revoke: (id: string) => Effect.Effect<number, FailureOf<"keys", "revoke">>
    }
    readonly connections: {
      readonly list: Effect.Effect<ReadonlyArray<Account.Connection>, FailureOf<"connections", "list">>
      readonly revoke: (id: string) => Effect.Effect<number, FailureOf<"connections", "revoke">>
    }
    /** The client that derives from the contract, with every operation as it is on the wire, sign-in included. */
    readonly derived: DerivedClient
  }
>()("agent-memory/client/EffectClient/AgentMemory") {}

const make = Effect.fnUntraced(function* (options: Options) {
  const derived = yield* makeDerivedClient(options)
  const call = callBy(derived)
  const readRow = rowReader(options.numbers)
  const account = inEffects(accountCalls(call, readRow)) as AgentMemory["Service"] & PromiseClient
  const service: unknown = {
    ...account,
    table: (name: string, schema?: RowSchema) => inEffects(tableCalls(name, call, readRow, codecOf(name, schema))),
    tables: account.tables(),
    describedTables: account.tables({ include: "fields" }),
    export: account.export(),
    usage: account.usage(),
    keys: { ...account.keys, list: account.keys.list() },
    connections: { ...account.connections, list: account.connections.list() },
    derived
  }
  return service as AgentMemory["Service"]
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

const makeDerivedClient = (options: Options) =>
  Effect.suspend(() => {
    const { baseUrl, maxRetries } = connectionOf({ ...options, timeout: undefined }, undefined)
    const timeout = Duration.fromInputUnsafe(options.timeout ?? "30 seconds")
    return HttpApiClient.make(Api, { baseUrl, transformClient: retryRequests({ maxRetries, timeout }) })
  })

const authenticationLayer = ({ apiKey }: Options) =>
  HttpApiMiddleware.layerClient(
    Authentication,
    Effect.sync(() => {
      const token = checkApiKey(Redacted.value(apiKey))
      return ({ next, request }) => next(HttpClientRequest.bearerToken(request, token))
    })
  )

const callBy = (derived: DerivedClient): Call => {
  type Endpoint = (request: object) => Effect.Effect<never, unknown>
  const groups = derived as unknown as Readonly<Record<string, Readonly<Record<string, Endpoint>>>>
  return (operation, sent, options) => {
    const [group = "", name = ""] = operation.split(".")
    const { body: payload, params, query = {} } = sent
    return step(groups[group]![name]!({ params, query, payload, headers: headersOf(operation, sent, options) }))
  }
}

const inEffects = (methods: object): object =>
  runBy((steps) => Effect.suspend(() => runEffects(steps(), refusalOf)), methods)

/** What is refused before it is sent fails as the service would refuse it. */
const refusalOf = (error: unknown): InvalidRequest | undefined => {
  if (!(error instanceof AgentMemoryError)) return undefined
  const { detail, errors } = error
  return new InvalidRequest({ detail, ...(errors && { errors }) })
}

type RowSchema = Schema.Codec<AnyRow, AnyRow>

const codecOf = (table: string, schema: RowSchema | undefined): RowCodec => {
  if (schema === undefined) {
    return {
      *write(row) {
        return jsonOf(row)
      },
      *read(rows) {
        return rows
      }
    }
  }
  const encode = Schema.encodeEffect(schema)
  const decode = Schema.decodeUnknownEffect(schema)
  const refused = (rowId: string | undefined) => (cause: Schema.SchemaError) => new InvalidRow({ table, rowId, cause })
  return {
    *write(row) {
      return jsonOf(yield* step(Effect.mapError(encode(row), refused(undefined))))
    },
    read: (rows) =>
      step(
        Effect.forEach(rows, ({ created_at, id, updated_at, ...own }) =>
          decode(own).pipe(
            Effect.map((row): Stored<AnyRow> => ({ id, created_at, updated_at, ...row })),
            Effect.mapError(refused(id))
          )
        )
      )
  }
}
