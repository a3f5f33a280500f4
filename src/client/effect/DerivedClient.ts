import { Duration, Effect, Redacted } from "effect"
import { HttpClientRequest } from "effect/http"
import { HttpApiClient, HttpApiMiddleware } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { Authentication } from "../../api/Authentication.ts"
import { checkApiKey, connectionOf, type Numbers } from "../Options.ts"
import { retryRequests } from "./RetryRequests.ts"

export interface Options {
  /** The API key, `svc_live_…`: a secret of the whole account. */
  readonly apiKey: Redacted.Redacted
  /** Where the service answers, without `/v1`. `http://localhost:3000` when it is not said. */
  readonly baseUrl?: string | undefined
  /** How long one try may take; 30 seconds when it is not said. */
  readonly timeout?: Duration.Input | undefined
  /** How often a failed request is tried again, 4 times when it is not said. */
  readonly maxRetries?: number | undefined
  /** What the numbers of rows become, as with the Promise client; `number` when it is not said. */
  readonly numbers?: Numbers | undefined
  /** Lets the client run in a browser's page, where everybody who opens it can read the key. */
  readonly dangerouslyAllowBrowser?: boolean | undefined
}

/** The client that derives from the contract. */
export type DerivedClient = HttpApiClient.ForApi<typeof Api>

/** Makes it for one account. Dies with an `AgentMemoryError` (`invalid_options`) when the options cannot be used. */
export const makeDerivedClient = (options: Options) =>
  Effect.suspend(() => {
    const { baseUrl, dangerouslyAllowBrowser } = options
    const connection = connectionOf({ baseUrl, dangerouslyAllowBrowser, maxRetries: options.maxRetries }, undefined)
    const timeout = Duration.fromInputUnsafe(options.timeout ?? "30 seconds")
    return HttpApiClient.make(Api, {
      baseUrl: connection.baseUrl,
      transformClient: retryRequests({ maxRetries: connection.maxRetries, timeout })
    })
  })

/** Sends the account's key with each request. Dies like {@link makeDerivedClient}. */
export const authenticationLayer = ({ apiKey }: Options) =>
  HttpApiMiddleware.layerClient(
    Authentication,
    Effect.sync(() => {
      const token = checkApiKey(Redacted.value(apiKey))
      return ({ next, request }) => next(HttpClientRequest.bearerToken(request, token))
    })
  )
