import { Effect, ManagedRuntime, Redacted } from "effect"
import { layerTest, TestServer, TestServerProblem, type TestMail, type TestServerOptions } from "./layerTest.ts"

export { layerTest, TestServer, TestServerProblem, type TestMail, type TestServerOptions }

/** A running Agent Memory for tests. */
export interface RunningTestServer extends AsyncDisposable {
  /** Its URL, without a trailing slash. */
  readonly url: string
  /** A key of its first account. It stays valid after `reset`. */
  readonly apiKey: string
  /**
   * The local secret. Tests of the sign-in can send it as `X-Local-Secret` to get the link in the response. Undefined if
   * `variables` turn local mode off. `signIn` and `mails` do not need it.
   */
  readonly localSecret: string | undefined
  /** The mails since the start or the last reset, oldest first. Includes those of every request that has a response. */
  mails(): Promise<ReadonlyArray<TestMail>>
  /** Creates a key for the account of an email address, and the account if needed. Sends no mail. */
  signIn(email: string): Promise<{ readonly accountId: string; readonly apiKey: string }>
  /** Moves the service's clock forward, so that links, versions and limits expire; the test's own clock stays. */
  advance(milliseconds: number): Promise<void>
  /** Restores the state at the start: no rows, mails or other accounts, and the real time. */
  reset(): Promise<void>
  /** Stops it and removes its data. `await using` does so automatically. */
  stop(): Promise<void>
}

/**
 * Starts an Agent Memory for tests, with an account and its key, on an embedded PostgreSQL in a temporary folder. The folder
 * is removed at the end, also if this process is killed. It takes a second or two; start it once per test file and call
 * `reset` between tests. If it cannot start, it rejects with an error that says what to do.
 */
export const startTestServer = async (options: TestServerOptions = {}): Promise<RunningTestServer> => {
  const runtime = ManagedRuntime.make(layerTest(options))
  const stop = () => runtime.dispose()
  try {
    const server = await runtime.runPromise(TestServer)
    return {
      url: server.url,
      apiKey: Redacted.value(server.apiKey),
      localSecret: server.localSecret && Redacted.value(server.localSecret),
      mails: () => runtime.runPromise(server.mails),
      signIn: (email) =>
        runtime.runPromise(
          Effect.map(server.signIn(email), ({ accountId, apiKey }) => ({ accountId, apiKey: Redacted.value(apiKey) }))
        ),
      advance: async (milliseconds) => {
        if (!(milliseconds >= 0 && Number.isFinite(milliseconds))) {
          const message = `advance takes 0 or more milliseconds, not ${milliseconds}. reset() returns to the real time.`
          throw new TestServerProblem({ message })
        }
        return runtime.runPromise(server.advance(milliseconds))
      },
      reset: () => runtime.runPromise(server.reset),
      stop,
      [Symbol.asyncDispose]: stop
    }
  } catch (error) {
    await stop()
    throw error
  }
}
