import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { connections } from "../Bench.ts"
import type { Variant } from "../Measure.ts"
import { begin, stop, usageOf } from "../Processes.ts"

interface Message {
  readonly id?: number
  readonly error?: { readonly message: string }
}

/** The reference memory server, over its own transport: lines of JSON-RPC on its input and output, and a file. */
export const startMemoryServer = async (packages: string) => {
  const folder = mkdtempSync(join(tmpdir(), "agent-memory-bench-"))
  const file = join(packages, "node_modules/@modelcontextprotocol/server-memory/dist/index.js")
  const { child } = begin([file], { MEMORY_FILE_PATH: join(folder, "memory.jsonl") })
  const waiting = new Map<number, { readonly resolve: () => void; readonly reject: (error: Error) => void }>()
  createInterface({ input: child.stdout! }).on("line", (line) => {
    const { error, id } = JSON.parse(line) as Message
    const waiter = waiting.get(id ?? -1)
    waiting.delete(id ?? -1)
    if (error === undefined) waiter?.resolve()
    else waiter?.reject(new Error(`server-memory: ${error.message}`))
  })
  let last = 0
  const request = (method: string, params: unknown): Promise<void> =>
    new Promise((resolve, reject) => {
      const id = ++last
      waiting.set(id, { resolve, reject })
      child.stdin!.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`)
    })
  await request("initialize", {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "bench", version: "1.0.0" }
  })
  child.stdin!.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
  return {
    /** Calls of one tool, as many at once as elsewhere. `argumentsOf` is given the call's number. */
    variant: (tool: string, argumentsOf: (number: number) => unknown): Variant => ({
      name: "server-memory",
      measure: async (seconds, count = Number.MAX_SAFE_INTEGER) => {
        const latencies: Array<number> = []
        const before = await usageOf(child)
        const begun = performance.now()
        let sent = 0
        const drive = async () => {
          while (performance.now() - begun < seconds * 1000 && sent < count) {
            sent++
            const sentAt = performance.now()
            await request("tools/call", { name: tool, arguments: argumentsOf(last + 1) })
            latencies.push(performance.now() - sentAt)
          }
        }
        await Promise.all(Array.from({ length: connections }, drive))
        const after = await usageOf(child)
        const sorted = latencies.toSorted((a, b) => a - b)
        return {
          perSecond: (latencies.length * 1000) / (performance.now() - begun),
          cpu: (after.cpu - before.cpu) / latencies.length,
          databaseCpu: undefined,
          p50: sorted[Math.floor((sorted.length - 1) / 2)]!,
          p99: sorted[Math.floor((sorted.length - 1) * 0.99)]!
        }
      }
    }),
    stop: async () => {
      await stop(child)
      rmSync(folder, { recursive: true, force: true })
    }
  }
}
