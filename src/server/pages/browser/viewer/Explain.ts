import type { Answer, Failure } from "./Client.ts"

const seconds = (count: number): string => (count === 1 ? "1 second" : `${count} seconds`)

/** Says what happened to a request that did not get through, and what to do. */
export const explain = (failure: Exclude<Answer<unknown>, { readonly kind: "ok" }>): string => {
  switch (failure.kind) {
    case "unreachable":
      return "The service could not be reached. Check your connection, then try again."
    case "wait":
      return waiting(failure)
    case "over":
      return "This link is over."
    case "conflict":
      return "The row changed meanwhile."
    case "refused":
      return refused(failure)
  }
}

const waiting = ({ seconds: left, status }: Extract<Failure, { readonly kind: "wait" }>): string =>
  status === 429
    ? `That was quick: this link was used as often as it may be in a minute. Try again in ${seconds(left)}.`
    : `The service is busy or being restarted. Try again in ${seconds(left)}.`

const refused = ({ problem }: Extract<Failure, { readonly kind: "refused" }>): string => {
  const errors = (problem.errors ?? []).slice(0, 3).map(({ message }) => message)
  return errors.length > 0 ? errors.join(" ") : (problem.detail ?? problem.title ?? "The service refused this.")
}
