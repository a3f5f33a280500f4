/** A bucket of `burst` tokens that gains one every `interval` microseconds. */
export interface Pace {
  readonly burst: number
  readonly interval: number
}

/** The pace of `burst` requests per `seconds`. Its interval is rounded down, so that a whole burst always fits. */
export const pace = (burst: number, seconds: number): Pace => ({
  burst,
  interval: Math.max(1, Math.floor((seconds * 1_000_000) / burst))
})

// The database's clock has microseconds; less is a rounding error.
const epsilon = 1e-6

/** How many tokens are left in a bucket that is full again in `ahead` seconds. */
export const remaining = ({ burst, interval }: Pace, ahead: number): number =>
  Math.max(0, Math.floor(burst - (ahead * 1_000_000) / interval + epsilon))

/** In how many seconds the bucket has `tokens` tokens; at most 0 if it has them. */
export const wait = ({ burst, interval }: Pace, ahead: number, tokens = 1): number =>
  ahead - ((burst - Math.min(tokens, burst)) * interval) / 1_000_000 - epsilon

/** In how many whole seconds a bucket that has refused has `tokens` tokens. */
export const retryAfter = (pace: Pace, ahead: number, tokens = 1): number =>
  Math.max(1, Math.ceil(wait(pace, ahead, tokens)))

const capacity = 100_000

/** Token buckets in this process. The least recently used ones are forgotten, and count as full then. */
export const make = () => {
  const full = new Map<string, number>()
  let latest = 0

  // Results of the database may arrive out of order. Much older ones mean that the clock was set back; without a reset,
  // callers would be refused for as long as it was set back by.
  const advance = (now: number): void => {
    const isSetBack = now < latest - 10_000
    if (isSetBack) full.clear()
    if (isSetBack || now > latest) latest = now
  }

  const aheadOf = (bucket: string): number => Math.max(0, (full.get(bucket) ?? 0) - latest)

  /**
   * Takes `tokens` tokens (default 1) from every bucket, or none from any. `ahead`: in how many seconds each is full again.
   * More tokens than a bucket's burst count as its burst.
   */
  const takeAll = (
    wanted: ReadonlyArray<{ readonly bucket: string; readonly pace: Pace; readonly tokens?: number }>,
    now: Date
  ): { readonly allowed: boolean; readonly ahead: ReadonlyArray<number> } => {
    advance(now.getTime())
    const states = wanted.map(({ bucket, pace: { burst, interval }, tokens = 1 }) => {
      const step = interval / 1000
      const before = aheadOf(bucket)
      const after = before + step * Math.min(tokens, burst)
      return { bucket, before, after, fits: after <= step * burst + epsilon }
    })
    const allowed = states.every(({ fits }) => fits)
    for (const { after, before, bucket } of states) {
      full.delete(bucket)
      full.set(bucket, latest + (allowed ? after : before))
      if (full.size > capacity) full.delete(full.keys().next().value ?? bucket)
    }
    return { allowed, ahead: states.map(({ after, before }) => (allowed ? after : before) / 1000) }
  }

  return {
    /** {@link takeAll} of one bucket. */
    take: (bucket: string, pace: Pace, now: Date) => {
      const { ahead, allowed } = takeAll([{ bucket, pace }], now)
      return { allowed, ahead: ahead[0]! }
    },
    takeAll,
    /** Returns a token that was taken. */
    giveBack: (bucket: string, { interval }: Pace): void => {
      const before = full.get(bucket)
      if (before !== undefined) full.set(bucket, before - interval / 1000)
    },
    ahead: (bucket: string, now: Date): number => {
      advance(now.getTime())
      return aheadOf(bucket) / 1000
    }
  }
}
