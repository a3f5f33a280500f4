import { Effect, ManagedRuntime, Redacted } from "effect"
import { layerTest, type TestServerOptions } from "./layerTest.ts"
import { TestServer, TestServerProblem, type TestMail } from "./TestServer.ts"

/** A running Agent Memory of a test's own. */
export interface RunningTestServer extends AsyncDisposable {
  /** Where it answers, without a slash at the end. */
  readonly url: string
  /** A key of its first account. It outlives `reset`. */
  readonly apiKey: string
  /**
   * The start secret, which tests of signing in may send as `X-Local-Secret`, so that the answer holds its link; undefined
   * where `variables` make the service one for others. `signIn` and `mails` need none.
   */
  readonly localSecret: string | undefined
  /** The mails since the start or the last reset, oldest first. Those that an answered request sent are among them. */
  mails(): Promise<ReadonlyArray<TestMail>>
  /** A new key for the account of an e-mail address, which is made if there is none. No mail is sent. */
  signIn(email: string): Promise<{ readonly accountId: string; readonly apiKey: string }>
  /**
   * Moves the time of the service forward by so many milliseconds, so that links, keys, versions and limits come to their
   * end. The time of the test stays as it is.
   */
  advance(milliseconds: number): Promise<void>
  /** Makes it what it was at the start: without rows, mails and other accounts, at the real time. */
  reset(): Promise<void>
  /** Ends it and removes its data. `await using` does so by itself. */
  stop(): Promise<void>
}

/**
 * Starts an Agent Memory for tests, with an account and its key: on an embedded PostgreSQL in a temporary folder, which
 * is removed at the end, also if this process is killed. It takes a second or two; start it once for a file of tests and
 * call `reset` between them. Rejects with an error that says what to do if it cannot start.
 */
export const startTestServer = async (options: TestServerOptions = {}): Promise<RunningTestServer> => {
  const runtime = ManagedRuntime.make(layerTest(options))
  const stop = () => runtime.dispose()
  try {
    const server = await runtime.runPromise(TestServer)
    return {
      url: server.url,
      apiKey: Redacted.value(server.apiKey),
      localSecret: server.localSecret === undefined ? undefined : Redacted.value(server.localSecret),
      mails: () => runtime.runPromise(server.mails),
      signIn: (email) =>
        runtime.runPromise(
          Effect.map(server.signIn(email), ({ accountId, apiKey }) => ({ accountId, apiKey: Redacted.value(apiKey) }))
        ),
      advance: async (milliseconds) => {
        if (!(milliseconds >= 0 && Number.isFinite(milliseconds))) {
          const message = `advance takes milliseconds, 0 or more, and not ${milliseconds}; reset() goes back to the real time.`
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
