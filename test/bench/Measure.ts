import type { LoadGenerator, LoadPlan } from "./Load.ts"
import type { Measured } from "./Processes.ts"

/** What one load of one variant came to. CPU times are in microseconds a request, latencies in milliseconds. */
export interface Sample {
  readonly requests?: number
  readonly perSecond: number
  /** Of the measured processes; undefined where there is none but the database. */
  readonly cpu: number | undefined
  /** Of all the database server's processes, other people's work included. */
  readonly databaseCpu: number | undefined
  readonly p50: number
  readonly p95?: number
  readonly p99: number | undefined
  /** Bytes of answers a second. */
  readonly bytesPerSecond?: number
  /** Which part of its one core the load generator used: near 1, it is what limits. */
  readonly loadShare?: number
}

/** One way to do a work, that can be measured for some seconds. */
export interface Variant {
  readonly name: string
  /** Ends sooner after so many requests. */
  readonly measure: (seconds: number, count?: number) => Promise<Sample>
}

/** How long and how often each variant is measured. */
export interface Effort {
  readonly rounds: number
  readonly seconds: number
  /** What is done first and not counted, so that the code is compiled and the caches are full. */
  readonly warmUp: { readonly requests: number; readonly seconds: number }
}

/** The middle of the rounds, and their spread. */
export interface Figure {
  readonly median: number
  readonly least: number
  readonly most: number
}

export interface Outcome {
  readonly variant: string
  readonly figures: Readonly<Partial<Record<keyof Sample, Figure>>>
}

/** The figure that several values make. */
export const figureOf = (values: ReadonlyArray<number>): Figure => {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = (sorted.length - 1) / 2
  const median = (sorted[Math.floor(middle)]! + sorted[Math.ceil(middle)]!) / 2
  return { median, least: sorted[0]!, most: sorted.at(-1)! }
}

const figuresOf = (samples: ReadonlyArray<Sample>): Outcome["figures"] => {
  const names = ["perSecond", "cpu", "databaseCpu", "p50", "p95", "p99", "bytesPerSecond", "loadShare"] as const
  return Object.fromEntries(
    names.flatMap((name) => {
      const values = samples.flatMap((sample) => sample[name] ?? [])
      return values.length === 0 ? [] : [[name, figureOf(values)]]
    })
  )
}

/**
 * Measures variants one after another, round by round, so that what else the machine does falls on all of them. They are
 * warmed up first, and `settle` lets the database do what it does between loads.
 */
export const measure = async (
  variants: ReadonlyArray<Variant>,
  { rounds, seconds, warmUp }: Effort,
  settle: () => Promise<void>
): Promise<ReadonlyArray<Outcome>> => {
  const samples = new Map(variants.map(({ name }) => [name, [] as Array<Sample>]))
  for (const variant of variants) await variant.measure(warmUp.seconds, warmUp.requests)
  await settle()
  for (const variant of variants) await variant.measure(warmUp.seconds, warmUp.requests / 3)
  for (let round = 0; round < rounds; round++) {
    for (const variant of variants) samples.get(variant.name)!.push(await variant.measure(seconds))
  }
  return variants.map(({ name }) => ({ variant: name, figures: figuresOf(samples.get(name)!) }))
}

/** A variant that is a server under load. */
export const underLoad = (
  name: string,
  servers: ReadonlyArray<Measured>,
  load: LoadGenerator,
  databaseCpu: () => number | undefined,
  plan: Omit<LoadPlan, "seconds" | "count" | "from" | "ports">
): Variant => {
  let from = 0
  const used = async () => {
    const usages = await Promise.all(servers.map(({ usage }) => usage()))
    return usages.reduce((sum, { cpu }) => sum + cpu, 0)
  }
  return {
    name,
    measure: async (seconds, count = Number.MAX_SAFE_INTEGER) => {
      const [before, databaseBefore] = [await used(), databaseCpu()]
      const result = await load.run({ ...plan, ports: servers.map(({ port }) => port), seconds, count, from })
      const [after, databaseAfter] = [await used(), databaseCpu()]
      from = result.next
      return {
        requests: result.requests,
        perSecond: result.requests / result.seconds,
        cpu: (after - before) / result.requests,
        databaseCpu:
          databaseBefore === undefined || databaseAfter === undefined
            ? undefined
            : (databaseAfter - databaseBefore) / result.requests,
        p50: result.p50,
        p95: result.p95,
        p99: result.p99,
        bytesPerSecond: result.bytes / result.seconds,
        loadShare: result.cpu / 1_000_000 / result.seconds
      }
    }
  }
}
