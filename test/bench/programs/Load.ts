import { randomUUID } from "node:crypto"
import { connect, type Socket } from "node:net"
import type { LoadPlan, LoadResult } from "../Load.ts"

// Sends requests as fast as they are answered, over connections that each carry one at a time. The bytes are written and
// read as they are: an HTTP client of the usual kind would cost more than the server it measures.

type Fill = (values: Readonly<Record<string, string>>) => string

/** A text with `{name}` in it, taken apart once. */
const template = (text: string): Fill => {
  const parts = text.split(/\{(\w+)\}/)
  if (parts.length === 1) return () => text
  return (values) => {
    let filled = parts[0]!
    for (let index = 1; index < parts.length; index += 2) {
      filled += (values[parts[index]!] ?? `{${parts[index]}}`) + parts[index + 1]!
    }
    return filled
  }
}

const requestsOf = ({ body, headers, host, isApart, method, path, ports, values }: LoadPlan, from: number) => {
  const run = randomUUID().slice(0, 8)
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const head = template(`${method} ${path} HTTP/1.1\r\nhost: ${host}\r\n${lines.join("")}`)
  const content = body === undefined ? undefined : template(body)
  const shares = isApart === true ? ports.length : 1
  const shareOf = (first: number) => values.filter((_, index) => index % shares === first)
  const parts = Array.from({ length: shares }, (_, first) => shareOf(first))
  let next = from
  return {
    next: () => next,
    take: (port: number) => {
      const index = next++
      const part = parts[port % shares]!
      const filled = {
        ...part[index % part.length],
        n: String(index),
        pass: String(Math.floor(index / values.length) + 1),
        run
      }
      if (content === undefined) return `${head(filled)}\r\n`
      const text = content(filled)
      return `${head(filled)}content-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
    }
  }
}

interface Answered {
  readonly status: number
  /** What came of the answer's body with its head: enough to tell a fault by. */
  readonly beginning: string
  readonly bytes: number
}

/** Reads one answer after another from a connection. */
const reader = (onAnswer: (answer: Answered) => void) => {
  let pending: Buffer = Buffer.alloc(0)
  let head: { readonly status: number; readonly beginning: string; readonly isChunked: boolean } | undefined
  let rest = 0
  let bytes = 0
  const end = () => {
    const { beginning, status } = head!
    head = undefined
    pending = Buffer.alloc(0)
    onAnswer({ status, beginning, bytes })
  }
  return (chunk: Buffer) => {
    if (head !== undefined) {
      bytes += chunk.length
      rest -= chunk.length
      if (head.isChunked ? chunk.subarray(-5).toString("latin1") === "0\r\n\r\n" : rest <= 0) end()
      return
    }
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk])
    const length = pending.indexOf("\r\n\r\n")
    if (length === -1) return
    const text = pending.toString("latin1", 0, length)
    const body = pending.subarray(length + 4)
    const announced = /\r\ncontent-length: *(\d+)/i.exec(text)?.[1]
    const status = Number(text.slice(9, 12))
    const beginning = status < 300 ? "" : pending.toString("utf8", 0, 1000)
    head = { status, beginning, isChunked: announced === undefined }
    bytes = pending.length
    rest = Number(announced ?? 0) - body.length
    if (announced === undefined ? body.subarray(-5).toString("latin1") === "0\r\n\r\n" : rest <= 0) end()
  }
}

const percentile = (sorted: Float64Array, share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? 0

const run = (plan: LoadPlan): Promise<LoadResult> =>
  new Promise((resolve, reject) => {
    const requests = requestsOf(plan, plan.from)
    const sockets: Array<Socket> = []
    const latencies: Array<number> = []
    let bytes = 0
    let open = 0
    let busy = 0
    let sent = 0
    let begun = 0
    let deadline = 0
    let cpu = process.cpuUsage()
    let isOver = false
    const fail = (error: Error) => {
      isOver = true
      for (const socket of sockets) socket.destroy()
      reject(error)
    }
    const finish = () => {
      isOver = true
      const seconds = (performance.now() - begun) / 1000
      const used = process.cpuUsage(cpu)
      for (const socket of sockets) socket.destroy()
      const sorted = Float64Array.from(latencies).toSorted()
      resolve({
        requests: latencies.length,
        seconds,
        bytes,
        p50: percentile(sorted, 0.5),
        p95: percentile(sorted, 0.95),
        p99: percentile(sorted, 0.99),
        cpu: used.system + used.user,
        next: requests.next()
      })
    }
    const drive = (socket: Socket, port: number) => {
      let sentAt = 0
      const send = () => {
        sentAt = performance.now()
        // Those that are on their way at the end are waited for, so that none is half done.
        if (sentAt >= deadline || sent >= plan.count) {
          if (--busy === 0) finish()
          return
        }
        sent++
        socket.write(requests.take(port))
      }
      socket.on(
        "data",
        reader((answer) => {
          if (answer.status >= 300) return fail(new Error(`${plan.method} ${plan.path}: ${answer.beginning}`))
          latencies.push(performance.now() - sentAt)
          bytes += answer.bytes
          send()
        })
      )
      busy++
      send()
    }
    for (let index = 0; index < plan.connections; index++) {
      const socket = connect({ host: "127.0.0.1", port: plan.ports[index % plan.ports.length]!, noDelay: true })
      sockets.push(socket)
      socket.once("connect", () => {
        if (++open < plan.connections) return
        begun = performance.now()
        deadline = begun + plan.seconds * 1000
        cpu = process.cpuUsage()
        for (const [index, socket] of sockets.entries()) drive(socket, index % plan.ports.length)
      })
      socket.once("error", fail)
      socket.once("close", () => {
        if (!isOver) fail(new Error(`${plan.method} ${plan.path}: the connection was closed`))
      })
    }
  })

process.on("message", (plan: LoadPlan) => {
  run(plan).then(
    (result) => process.send?.({ result }),
    (error: Error) => process.send?.({ fault: error.message })
  )
})
process.once("disconnect", () => process.exit())
