import * as Buckets from "../keys/Buckets.ts"

/**
 * Bounds what one address may send before anything is looked up for it: a token bucket that holds a minute's
 * worth of `perMinute` requests and refills evenly. Asking the database would be what a flood is after, so the buckets
 * are this process's own: several instances let through as much each.
 */
export const makeFloodLimit = (perMinute: number) => {
  const buckets = Buckets.make()
  const pace = Buckets.pace(perMinute, 60)
  return {
    /** Spends a request of an address; `retryAfter` (whole seconds) is when the next one passes. */
    spend: (
      address: string,
      now: Date
    ): { readonly _tag: "Admitted" } | { readonly _tag: "Limited"; readonly retryAfter: number } => {
      const { ahead, allowed } = buckets.take(address, pace, now)
      return allowed ? { _tag: "Admitted" } : { _tag: "Limited", retryAfter: Buckets.retryAfter(pace, ahead) }
    },
    /** Takes back that a request of an address was spent. */
    giveBack: (address: string): void => buckets.giveBack(address, pace)
  }
}
