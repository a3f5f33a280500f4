/** The longest time that a timer can be set to. */
const longestTimer = 2 ** 31 - 1

/**
 * Runs one try with a signal that ends it. Rejects at once with the caller's reason when the caller's signal fires, and
 * with what `expired` makes when the time is over, whether or not the work obeys its own signal.
 */
export const abortable = <A>(
  work: (signal: AbortSignal) => Promise<A>,
  {
    expired,
    milliseconds,
    signal
  }: { readonly signal: AbortSignal | undefined; readonly milliseconds: number; readonly expired: () => Error }
): Promise<A> =>
  new Promise<A>((resolve, reject) => {
    const controller = new AbortController()
    if (signal?.aborted === true) return reject(signal.reason)
    // At the end, however it comes about: a timer that is left would keep a finished program running.
    const forget = () => {
      clearTimeout(timer)
      signal?.removeEventListener("abort", onAbort)
    }
    const end = (reason: unknown) => {
      forget()
      controller.abort(reason)
      reject(reason)
    }
    const onAbort = () => end(signal?.reason)
    const timer = milliseconds > longestTimer ? undefined : setTimeout(() => end(expired()), milliseconds)
    signal?.addEventListener("abort", onAbort, { once: true })
    work(controller.signal).then(resolve, reject).finally(forget)
  })

/** Waits; rejects at once with the signal's reason when it fires. */
export const pause = (milliseconds: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    const onAbort = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", onAbort)
      resolve()
    }, milliseconds)
    if (signal?.aborted === true) onAbort()
    else signal?.addEventListener("abort", onAbort, { once: true })
  })
