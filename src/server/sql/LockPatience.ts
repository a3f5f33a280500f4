/**
 * How long a request waits for a lock on a bucket or key; each is held for milliseconds. In a queue one waits for the lock
 * and for the turn, each this long at most, so that the answer comes in under three seconds.
 */
export const lockPatience = "1200ms"
