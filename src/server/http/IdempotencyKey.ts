import { Effect } from "effect"
import { InvalidRequest } from "../../domain/Problem.ts"

/** Refuses an `Idempotency-Key` where the answer, which it would have to be kept with, holds a secret. */
export const refuseIdempotencyKey = (headers: { readonly "idempotency-key"?: string }) =>
  headers["idempotency-key"] === undefined
    ? Effect.void
    : Effect.fail(
        new InvalidRequest({
          detail: "This operation takes no Idempotency-Key: its answer holds a secret, which is never stored.",
          hint: "Send the request without it. Doing it twice makes two, and either works.",
          errors: [{ parameter: "idempotency-key", message: "is not taken here" }]
        })
      )
