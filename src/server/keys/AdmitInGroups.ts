import { Effect, Fiber } from "effect"
import type { Unavailable } from "../../domain/Problem.ts"
import type { DiskFull } from "../sql/DiskFull.ts"
import { makeGroups } from "../sql/Groups.ts"
import type { AdmissionRequest } from "./Admission.ts"
import type { RateLimiterRepo, RequestPaces, Taken } from "./RateLimiterRepo.ts"

type Settled = Exclude<Taken, { readonly _tag: "Busy" }>

const settled = (taken: Taken): Effect.Effect<Settled> =>
  taken._tag === "Busy" ? Effect.die(new Error("Whoever waits for a bucket has it.")) : Effect.succeed(taken)

/**
 * Lets in who waits at the same moment by one statement, in order of arrival. A group waits for no lock: the requests of an
 * account of which another session holds a bucket go on without it, and wait for that bucket.
 */
export const makeAdmitInGroups = Effect.fnUntraced(function* (
  repo: RateLimiterRepo["Service"],
  paces: RequestPaces,
  size = 64
) {
  const scope = yield* Effect.scope

  const waitApart = Effect.fnUntraced(function* (requests: ReadonlyArray<AdmissionRequest>) {
    const fiber = yield* Effect.forkIn(repo.admit({ requests, paces, waits: true }), scope)
    return requests.map((_, index) => Effect.flatMap(Fiber.join(fiber), (taken) => settled(taken[index]!)))
  })

  const admitInGroup = yield* makeGroups<AdmissionRequest, Settled, DiskFull | Unavailable>({
    inFlight: 2,
    size,
    run: Effect.fnUntraced(function* (requests) {
      const taken = yield* repo.admit({ requests, paces, waits: false })
      const answers: Array<Effect.Effect<Settled, DiskFull | Unavailable>> = taken.map(settled)
      const busy = [...taken.keys()].filter((index) => taken[index]!._tag === "Busy")
      for (const indexes of Map.groupBy(busy, (index) => requests[index]!.accountId).values()) {
        const apart = yield* waitApart(indexes.map((index) => requests[index]!))
        for (const [nth, index] of indexes.entries()) answers[index] = apart[nth]!
      }
      return answers
    })
  })

  // Nobody leads groups any more when the service stops; who still comes goes alone.
  let isOver = false
  yield* Effect.addFinalizer(() => Effect.sync(() => void (isOver = true)))
  const admitAlone = (request: AdmissionRequest) =>
    Effect.flatMap(repo.admit({ requests: [request], paces, waits: true }), ([taken]) => settled(taken!))

  return (request: AdmissionRequest) => (isOver ? admitAlone(request) : admitInGroup(request))
})
