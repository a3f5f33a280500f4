import { Effect } from "effect"
import { createServer, type Socket } from "node:net"
import { connectTo, endTogether, listenInPlaceOf } from "./Loopback.ts"
import { Messages } from "./PgMessages.ts"

/**
 * What befalls one statement: PostgreSQL refuses it with this SQLSTATE, its connection breaks before it arrives, or
 * after it was carried out and before that is answered, as a lost answer to COMMIT.
 */
export type StatementFault = { readonly refusedWith: string } | "dropped" | "lost"

/** A network between the service and PostgreSQL that counts statements, and lets one of them meet a fault. */
export interface FaultyNetwork {
  /** The database's address through this network. */
  readonly url: string
  /** Lets the `nth` statement from now on, counted from 1, meet the fault. */
  readonly arm: (nth: number, fault: StatementFault) => void
  /** Ends the waiting for that statement; gives whether it came. */
  readonly disarm: () => boolean
}

const message = (type: string, text: string): Buffer => {
  const head = Buffer.from(`${type}\0\0\0\0`)
  head.writeInt32BE(Buffer.byteLength(text) + 4, 1)
  return Buffer.concat([head, Buffer.from(text)])
}

/** A statement that fails as told, in the place of another. */
const failing = (sqlState: string): Buffer =>
  message("Q", `DO $$BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = '${sqlState}'; END$$\0`)

/** What PostgreSQL answers when it refuses a COMMIT, which ends the transaction. */
const refusedCommit = (sqlState: string): Buffer =>
  Buffer.concat([message("E", `SERROR\0VERROR\0C${sqlState}\0Mrefused\0\0`), message("Z", "I")])

/** Puts a network that can break any statement in front of a database, until the scope closes. */
export const makeFaultyNetwork = Effect.fnUntraced(function* (databaseUrl: string) {
  const sockets = new Set<Socket>()
  let armed: { left: number; readonly fault: StatementFault } | undefined

  /** The fault of the statement that ends here, if it is the one. */
  const faultNow = (): StatementFault | undefined => {
    if (armed === undefined || armed.left === 0 || --armed.left > 0) return undefined
    return armed.fault
  }

  // Statements are small and wait for their answers: held back to be sent together, each would take 40 ms.
  const server = createServer({ noDelay: true }, (client) => {
    const upstream = connectTo(databaseUrl)
    const [fromClient, fromServer] = [new Messages(false), new Messages(true)]
    const end = endTogether(client, upstream, sockets)
    // PostgreSQL says that it is ready once after the start, and then once for each statement.
    let statements = 0
    let ready = -1
    let lost = Infinity
    let commit: { readonly statement: number; readonly refusedWith: string } | undefined
    let statement: Array<Buffer> = []
    const prepared = new Map<string, string>()
    let text = ""
    client.on("data", (chunk: Buffer) => {
      for (const { bytes, type } of fromClient.take(chunk)) {
        statement.push(bytes)
        // Parse names a statement, and Bind the portal and then the statement that it is of.
        const [first = "", second = ""] = bytes.toString("latin1", 5).split("\0", 2)
        if (type === "P") prepared.set(first, second)
        if (type === "B") text = prepared.get(second) ?? ""
        if (type === "S" || type === "Q") {
          statements++
          const fault = faultNow()
          if (fault === "dropped") return end()
          if (fault === "lost") lost = statements
          if (typeof fault === "object") {
            const isCommit = text === "COMMIT"
            if (isCommit) commit = { statement: statements, refusedWith: fault.refusedWith }
            statement = [isCommit ? message("Q", "ROLLBACK\0") : failing(fault.refusedWith)]
          }
        } else if (!["", "p", "H", "X"].includes(type)) continue
        upstream.write(Buffer.concat(statement))
        statement = []
      }
    })
    upstream.on("data", (chunk: Buffer) => {
      for (const { bytes, type } of fromServer.take(chunk)) {
        if (type === "Z" && ++ready === lost) return end()
        const isOfCommit = commit !== undefined && ready >= commit.statement - 1
        if (!isOfCommit && ready < lost - 1) client.write(bytes)
        if (isOfCommit && type === "Z") {
          client.write(refusedCommit(commit!.refusedWith))
          commit = undefined
        }
      }
    })
  })
  const through = yield* listenInPlaceOf(databaseUrl, server, sockets)
  const network: FaultyNetwork = {
    url: through,
    arm: (nth, fault) => {
      armed = { left: nth, fault }
    },
    disarm: () => {
      const came = armed?.left === 0
      armed = undefined
      return came
    }
  }
  return network
})
