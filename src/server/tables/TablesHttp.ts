import { Effect, Semaphore, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { CurrentKey } from "../../api/Authentication.ts"
import { Unavailable } from "../../domain/Problem.ts"
import { answer } from "../http/Answer.ts"
import { Tables } from "./Tables.ts"

const maxExports = 6
const slotPatience = "2 seconds"

export const TablesHttp = HttpApiBuilder.group(
  Api,
  "tables",
  Effect.fnUntraced(function* (handlers) {
    const tables = yield* Tables
    const slots = yield* Semaphore.make(maxExports)
    const busy = () => new Unavailable({ detail: "Too many exports are being read at once." })

    // An export holds a database connection for as long as its reader takes; the others must stay free.
    const exportSlot = Effect.acquireRelease(
      slots.take(1).pipe(Effect.timeoutOrElse({ duration: slotPatience, orElse: () => Effect.fail(busy()) })),
      () => slots.release(1),
      { interruptible: true }
    )

    return handlers.handleAll({
      list: Effect.fnUntraced(function* () {
        return answer(yield* tables.list((yield* CurrentKey).accountId))
      }),
      export: Effect.fnUntraced(function* () {
        const { accountId } = yield* CurrentKey
        yield* exportSlot
        return HttpServerResponse.stream(Stream.encodeText(tables.exportAll(accountId)), {
          contentType: "application/json"
        })
      })
    })
  })
)
