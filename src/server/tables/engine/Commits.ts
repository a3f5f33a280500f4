import { PgTypes } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { ArchiveBytes } from "../../../domain/Limits.ts"
import type { Unavailable } from "../../../domain/Problem.ts"
import type { Moment } from "../../keys/Admission.ts"
import { Settings } from "../../Config.ts"
import { makeGroups } from "../../sql/Groups.ts"
import { refine } from "../../sql/SqlFailure.ts"
import type { Changes } from "../WritesRepo.ts"
import { commitLists, partsOf, type AccountChanges } from "./CommitParameters.ts"
import { commitStatement, type CommitStatement } from "./CommitStatement.ts"

/** The account moved on since it was read (another instance wrote, or an idempotency key was taken): read again. */
export type CommitOutcome = (ArchiveBytes & Pick<Moment, "incarnation">) | "stale"

// A group of accounts is as large as one turn of the database, and the answer that all of them wait for, may be.
const groupSize = 64
const groupBytes = 1_048_576
const groupsInFlight = 4

const statements = new Map<string, CommitStatement>()
const statementFor = (parts: Parameters<typeof commitStatement>[0]): CommitStatement => {
  const name = JSON.stringify(parts)
  const known = statements.get(name) ?? commitStatement(parts)
  statements.set(name, known)
  return known
}

interface Verdict {
  readonly account_id: string
  readonly verdict: "committed" | "stale" | "busy"
  readonly version_bytes: bigint | null
  readonly idempotency_bytes: bigint | null
  readonly incarnation: number
}

const outcomeOf = ({ idempotency_bytes, incarnation, verdict, version_bytes }: Verdict): CommitOutcome =>
  verdict === "committed"
    ? { versionBytes: Number(version_bytes), idempotencyBytes: Number(idempotency_bytes), incarnation }
    : "stale"

/** Stores what was computed for accounts, wholly or not at all, if an account is still at the revision it was computed from. */
export class Commits extends Context.Service<
  Commits,
  {
    /** One commit for the accounts that want one at the same moment; each has its own outcome. */
    readonly grouped: (accountId: string, changes: Changes) => Effect.Effect<CommitOutcome, Unavailable>
    /** A statement for this account alone, which waits for whoever holds it; also within a transaction. */
    readonly alone: (accountId: string, changes: Changes) => Effect.Effect<CommitOutcome, Unavailable>
  }
>()("agent-memory/server/tables/engine/Commits") {
  static readonly layer = Layer.effect(
    Commits,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { limits } = yield* Settings

      const send = Effect.fnUntraced(function* (group: ReadonlyArray<AccountChanges>, waits: boolean) {
        const { parameters, text } = statementFor({ ...partsOf(group), waits })
        const lists = commitLists(group, limits.versionsPerRow)
        const values = parameters.map((name) =>
          name === "idempotency_hours" ? PgTypes.int4(limits.idempotencyHours) : lists[name]()
        )
        return yield* sql.unsafe<Verdict>(text, values)
      }, refine)

      const alone = Effect.fn("Commits.alone")(function* (accountId: string, changes: Changes) {
        const [verdict] = yield* send([{ accountId, changes }], true)
        return outcomeOf(verdict!)
      })

      const together = Effect.fn("Commits.grouped")(function* (group: ReadonlyArray<AccountChanges>) {
        const found = yield* send(group, false)
        const verdicts = new Map(found.map((verdict) => [verdict.account_id, verdict]))
        return group.map(({ accountId, changes }) => {
          const verdict = verdicts.get(accountId)!
          return verdict.verdict === "busy" ? alone(accountId, changes) : Effect.succeed(outcomeOf(verdict))
        })
      })

      const submit = yield* makeGroups<AccountChanges, CommitOutcome, Unavailable>({
        inFlight: groupsInFlight,
        size: groupSize,
        weight: groupBytes,
        weightOf: ({ changes }) => bytesOf(changes),
        // What breaks the statement is one account's; each by itself meets only its own.
        run: (group) =>
          Effect.catchDefect(together(group), () =>
            Effect.succeed(group.map(({ accountId, changes }) => alone(accountId, changes)))
          )
      })

      return Commits.of({ alone, grouped: (accountId, changes) => submit({ accountId, changes }) })
    })
  )
}

const bytesOf = ({ archived, records, touched }: Changes): number => {
  let bytes = 0
  for (const { content } of touched) bytes += content?.data.bytes ?? 0
  for (const { content } of archived) bytes += content.data.bytes
  for (const { answer } of records) bytes += answer.text.length
  return bytes
}
