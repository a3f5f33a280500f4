import { Effect } from "effect"
import { createClient, type AgentMemory, type ClientOptions } from "../../src/client/createClient.ts"
import { BaseUrl, newAccount } from "./TestService.ts"

/** A Promise client of a new account, for what a test does with it. */
export const withClient = <A>(
  use: (memory: AgentMemory, account: { readonly apiKey: string; readonly baseUrl: string }) => Promise<A>,
  options: Partial<ClientOptions> = {}
) =>
  Effect.gen(function* () {
    const { apiKey } = yield* newAccount
    const { url: baseUrl } = yield* BaseUrl
    return yield* Effect.promise(() => use(createClient({ apiKey, baseUrl, ...options }), { apiKey, baseUrl }))
  })

/** What a promise rejects with. */
export const rejection = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => Promise.reject(new Error("It was fulfilled.")),
    (error: unknown) => error
  )
