import { Effect, Scope } from "effect"
import { makeProxy, type DatabaseProxy } from "../support/DatabaseProxy.ts"
import { freePort, startService, type ServiceProcess } from "../support/ServiceProcess.ts"

/** A process of the service that comes back after each end, behind a network of its own. */
export interface Instance {
  readonly url: string
  readonly network: DatabaseProxy
  readonly process: () => ServiceProcess
  /** Ends the process with a signal and starts it again; gives how many milliseconds it was away. */
  readonly restart: (signal: NodeJS.Signals) => Effect.Effect<number, unknown>
}

export const makeInstance = Effect.fnUntraced(function* (databaseUrl: string, variables: Record<string, string>) {
  const scope = yield* Effect.scope
  const network = yield* makeProxy(databaseUrl)
  const port = yield* freePort
  const collector = new URL("CollectOnSignal.ts", import.meta.url).href
  const all = { ...variables, DATABASE_URL: network.url, NODE_OPTIONS: `--import ${collector}` }
  const start = startService(all, port).pipe(Scope.provide(scope))
  let service = yield* start
  const instance: Instance = {
    url: `http://127.0.0.1:${port}`,
    network,
    process: () => service,
    restart: Effect.fnUntraced(function* (signal) {
      const since = performance.now()
      yield* service.signal(signal)
      yield* service.ended
      service = yield* start
      return performance.now() - since
    }) as Instance["restart"]
  }
  return instance
})
