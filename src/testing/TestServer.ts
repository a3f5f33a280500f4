import { Context, Data, type Duration, type Effect, type Redacted } from "effect"

/** A mail that the service would have sent. */
export interface TestMail {
  readonly to: string
  readonly subject: string
  readonly text: string
  /** The sign-in link in it; undefined where there is none. */
  readonly link: string | undefined
  /** The 6-digit code in it, for a sign-in that began in a browser; undefined where there is none. */
  readonly code: string | undefined
}

/** The service of a test did not start, or could not do what a test asked of it; the message says why. */
export class TestServerProblem extends Data.TaggedError("TestServerProblem")<{ readonly message: string }> {}

/** A running Agent Memory of a test's own, and what the test does with it besides calling it. */
export class TestServer extends Context.Service<
  TestServer,
  {
    /** Where it answers, without a slash at the end. */
    readonly url: string
    /** A key of its first account. It outlives `reset`. */
    readonly apiKey: Redacted.Redacted
    /**
     * The start secret, which tests of signing in may send as `X-Local-Secret`, so that the answer holds its link; undefined
     * where `variables` make the service one for others. `signIn` and `mails` need none.
     */
    readonly localSecret: Redacted.Redacted | undefined
    /** A new key for the account of an e-mail address, which is made if there is none. No mail is sent. */
    readonly signIn: (
      email: string
    ) => Effect.Effect<{ readonly accountId: string; readonly apiKey: Redacted.Redacted }, TestServerProblem>
    /** The mails since the start or the last reset, oldest first. Those that an answered request sent are among them. */
    readonly mails: Effect.Effect<ReadonlyArray<TestMail>>
    /**
     * Moves the time of the service forward, so that links, keys, versions and limits come to their end as if so much
     * time had passed. The time of the test stays as it is.
     */
    readonly advance: (duration: Duration.Input) => Effect.Effect<void>
    /** Makes it what it was at the start: without rows, mails and other accounts, at the real time. */
    readonly reset: Effect.Effect<void>
  }
>()("agent-memory/testing/TestServer") {}
