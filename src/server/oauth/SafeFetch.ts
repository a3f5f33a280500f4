import type { LookupAddress } from "node:dns"
import { Resolver } from "node:dns/promises"
import { Agent, request } from "node:https"
import { isIP } from "node:net"
import { Effect, Layer } from "effect"
import { DocumentFetcher, FetchFailed, type FetchedDocument } from "./DocumentFetcher.ts"
import { isPublicAddress } from "./PublicAddress.ts"

/** What {@link makeSafeFetch} does otherwise in tests. */
export interface SafeFetchOptions {
  /** All addresses of a host, asked for until the signal says that nobody waits for them. */
  readonly resolve?: (host: string, signal: AbortSignal) => Promise<ReadonlyArray<LookupAddress>>
  readonly isPublic?: (address: string) => boolean
  /** The one port that addresses may name. */
  readonly port?: number
  /** The certificate that is trusted instead of those of the system. */
  readonly ca?: string
  /** In milliseconds: how long all of it may take. */
  readonly patience?: number
}

const hostPart = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, "$1")

/**
 * Asks the name servers, and no file of this machine. The system's own look-ups would share few threads with those of the
 * database, and could not be broken off: a host whose name server is slow would keep all others waiting.
 */
const resolveAll = async (host: string, signal: AbortSignal): Promise<ReadonlyArray<LookupAddress>> => {
  const resolver = new Resolver()
  signal.addEventListener("abort", () => resolver.cancel())
  const found = await Promise.allSettled([
    resolver.resolve4(host).then((addresses) => addresses.map((address) => ({ address, family: 4 }))),
    resolver.resolve6(host).then((addresses) => addresses.map((address) => ({ address, family: 6 })))
  ])
  return found.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []))
}

/**
 * Fetches from the public internet alone, since the address is anybody's wish: nothing of this machine or its networks
 * can be reached. The connection goes to the addresses that were checked, so a second answer of the host's name server
 * changes nothing. Follows no redirect, uses no proxy, and sends nothing of ours.
 */
export const makeSafeFetch = (options: SafeFetchOptions = {}): DocumentFetcher["Service"] => {
  const { ca, isPublic = isPublicAddress, patience = 5000, port = 443, resolve = resolveAll } = options
  const unreachable = () => new FetchFailed({ reason: "its host could not be reached" })

  const addressesOf = Effect.fnUntraced(function* (host: string) {
    const family = isIP(host)
    const addresses =
      family === 0
        ? yield* Effect.tryPromise({ try: (signal) => resolve(host, signal), catch: unreachable })
        : [{ address: host, family }]
    if (addresses.length === 0) return yield* unreachable()
    if (!addresses.every(({ address }) => isPublic(address))) {
      return yield* new FetchFailed({ reason: "its host is not on the public internet" })
    }
    return addresses
  })

  const get = (url: URL, addresses: ReadonlyArray<LookupAddress>, maxBytes: number) =>
    Effect.callback<FetchedDocument, FetchFailed>((resume) => {
      const fail = (failure: FetchFailed) => {
        sent.destroy()
        resume(Effect.fail(failure))
      }
      const tooLarge = () => new FetchFailed({ reason: `it is larger than ${maxBytes} bytes` })
      const sent = request(
        url,
        {
          // An agent of its own: the process's may have a proxy or a connection that was made for somebody else.
          agent: new Agent({ keepAlive: false }),
          headers: { accept: "application/json", "accept-encoding": "identity", "user-agent": "agent-memory" },
          lookup: (_host, { all }, found) => {
            if (all === true) found(null, [...addresses])
            else found(null, addresses[0]!.address, addresses[0]!.family)
          },
          ...(ca === undefined ? {} : { ca })
        },
        (response) => {
          const chunks: Array<Buffer> = []
          let bytes = 0
          if (Number(response.headers["content-length"] ?? 0) > maxBytes) return fail(tooLarge())
          response.on("data", (chunk: Buffer) => {
            bytes += chunk.length
            if (bytes > maxBytes) fail(tooLarge())
            else chunks.push(chunk)
          })
          response.on("error", () => fail(new FetchFailed({ reason: "the connection broke" })))
          response.on("end", () =>
            resume(
              Effect.succeed({
                status: response.statusCode ?? 0,
                contentType: response.headers["content-type"] ?? "",
                cacheControl: response.headers["cache-control"] ?? "",
                body: Buffer.concat(chunks)
              })
            )
          )
        }
      )
      sent.on("error", () => fail(unreachable()))
      sent.end()
      return Effect.sync(() => sent.destroy())
    })

  return {
    fetch: Effect.fn("SafeFetch.fetch")(
      function* (url: URL, maxBytes: number) {
        if (url.protocol !== "https:") return yield* new FetchFailed({ reason: "its address is not https" })
        if (Number(url.port || 443) !== port) {
          return yield* new FetchFailed({ reason: "its address names another port than 443" })
        }
        if (url.username !== "" || url.password !== "") {
          return yield* new FetchFailed({ reason: "its address holds a user name" })
        }
        return yield* get(url, yield* addressesOf(hostPart(url)), maxBytes)
      },
      (fetched) =>
        Effect.timeoutOrElse(fetched, {
          duration: patience,
          orElse: () => Effect.fail(new FetchFailed({ reason: `it did not come within ${patience / 1000} seconds` }))
        })
    )
  }
}

/** Fetches documents from the public internet. */
export const SafeFetchLayer = Layer.sync(DocumentFetcher, () => makeSafeFetch())
