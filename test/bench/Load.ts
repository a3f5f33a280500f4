import { once } from "node:events"
import { fork, type ChildProcess } from "node:child_process"
import { fileURLToPath } from "node:url"
import { pinned } from "./Machine.ts"

/**
 * Requests of one kind. In the path, the headers and the body `{name}` stands for a value of `values`, of which each
 * request takes the next; `{n}` for the request's number, `{pass}` for how often the values were gone through (from 1 on),
 * and `{run}` for a text that no other load has.
 */
export interface LoadPlan {
  /** The connections are spread over these. */
  readonly ports: ReadonlyArray<number>
  readonly host: string
  readonly connections: number
  readonly seconds: number
  /** Ends sooner, after so many requests. */
  readonly count: number
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  readonly values: ReadonlyArray<Readonly<Record<string, string>>>
  /** Each port takes values that no other takes. */
  readonly isApart?: boolean
  /** The first request's number: where the load before this one stopped. */
  readonly from: number
}

/** Latencies are in milliseconds, the generator's own CPU time in microseconds. */
export interface LoadResult {
  readonly requests: number
  readonly seconds: number
  readonly bytes: number
  readonly p50: number
  readonly p95: number
  readonly p99: number
  readonly cpu: number
  readonly next: number
}

/** A process that makes load, pinned beside what is measured. */
export class LoadGenerator {
  private readonly child: ChildProcess

  constructor() {
    const { file, before } = pinned("load")
    this.child = fork(fileURLToPath(new URL("programs/Load.ts", import.meta.url)), {
      execPath: file,
      execArgv: before,
      stdio: ["ignore", "inherit", "inherit", "ipc"]
    })
  }

  /** Fails with the answer if one is none of success. */
  async run(plan: LoadPlan): Promise<LoadResult> {
    const answered = once(this.child, "message")
    this.child.send(plan)
    const [message] = (await answered) as [{ readonly result?: LoadResult; readonly fault?: string }]
    if (message.result === undefined) throw new Error(message.fault)
    return message.result
  }

  stop(): void {
    this.child.disconnect()
  }
}
