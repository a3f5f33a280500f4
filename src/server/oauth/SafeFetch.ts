import { Effect, Layer, Option } from "effect"
import ipaddr from "ipaddr.js"
import type { LookupAddress } from "node:dns"
import { Resolver } from "node:dns/promises"
import { Agent, request } from "node:https"
import { isIP } from "node:net"
import packageJson from "../../../package.json" with { type: "json" }
import { parseIp } from "../config/ClientIp.ts"
import { DocumentFetcher, FetchFailed, type FetchedDocument } from "./ClientDocuments.ts"
import { traced } from "../telemetry/Telemetry.ts"

// Not globally reachable by the IANA registry of special-purpose addresses, 6to4 relays, and multicast.
const special4 = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4"
].map((block) => ipaddr.IPv4.parseCIDR(block))

// Only 2000::/3 of IPv6 is allocated. It includes Teredo and other protocols, documentation, 6to4 and segment routing.
const global6 = ipaddr.IPv6.parseCIDR("2000::/3")
const special6 = ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"].map((block) => ipaddr.IPv6.parseCIDR(block))

// IPv6 forms of IPv4 addresses: mapped ones, and those translated by networks without IPv4 (NAT64).
const embedding = ["::ffff:0:0/96", "64:ff9b::/96"].map((block) => ipaddr.IPv6.parseCIDR(block))

const isPublic4 = (address: ipaddr.IPv4): boolean => !special4.some((block) => address.match(block))

/** Whether an IP address is on the public internet: not on this machine or its networks, and not reserved. */
export const isPublicAddress = (address: string): boolean => {
  // Only local addresses have a zone.
  const parsed = address.includes("%") ? undefined : Option.getOrUndefined(parseIp(address))
  if (parsed === undefined) return false
  if (parsed instanceof ipaddr.IPv4) return isPublic4(parsed)
  if (embedding.some((block) => parsed.match(block))) return isPublic4(new ipaddr.IPv4(parsed.toByteArray().slice(12)))
  return parsed.match(global6) && !special6.some((block) => parsed.match(block))
}

/** Overrides of {@link makeSafeFetch} for tests. */
export interface SafeFetchOptions {
  /** Resolves all addresses of a host. The signal cancels it. */
  readonly resolve?: (host: string, signal: AbortSignal) => Promise<ReadonlyArray<LookupAddress>>
  readonly isPublic?: (address: string) => boolean
  /** The only port that URLs can have. */
  readonly port?: number
  /** The certificate that is trusted instead of the system's. */
  readonly ca?: string
  /** In milliseconds: the timeout of the whole fetch. */
  readonly patience?: number
}

/**
 * Resolves a host by DNS only. The system's resolver shares a few threads with the look-ups of the database and cannot be
 * cancelled, so a host with a slow name server would block all others.
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
 * Fetches from the public internet only, because anyone can choose the URL: this machine and its networks cannot be reached.
 * It connects to the addresses that were checked, so a later DNS response changes nothing. It follows no redirects, uses no
 * proxy, and sends no credentials.
 */
export const makeSafeFetch = (options: SafeFetchOptions = {}): DocumentFetcher["Service"] => {
  const { ca, isPublic = isPublicAddress, patience = 5000, port = 443, resolve = resolveAll } = options
  const failed = (reason: string) => new FetchFailed({ reason })
  const unreachable = () => failed("its host could not be reached")

  const addressesOf = Effect.fnUntraced(function* (host: string) {
    const family = isIP(host)
    const addresses =
      family === 0
        ? yield* Effect.tryPromise({ try: (signal) => resolve(host, signal), catch: unreachable })
        : [{ address: host, family }]
    if (addresses.length === 0) return yield* unreachable()
    if (addresses.every(({ address }) => isPublic(address))) return addresses
    return yield* failed("its host is not on the public internet")
  })

  const get = (url: URL, addresses: ReadonlyArray<LookupAddress>, maxBytes: number) =>
    Effect.callback<FetchedDocument, FetchFailed>((resume) => {
      const fail = (failure: FetchFailed) => {
        sent.destroy()
        resume(Effect.fail(failure))
      }
      const tooLarge = () => failed(`it is larger than ${maxBytes} bytes`)
      const sent = request(
        url,
        {
          // The process's agent may have a proxy, or a connection made for another request.
          agent: new Agent({ keepAlive: false }),
          headers: {
            accept: "application/json",
            "accept-encoding": "identity",
            "user-agent": `agent-memory/${packageJson.version}`
          },
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
          response.on("error", () => fail(failed("the connection broke")))
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
    fetch: traced("SafeFetch.fetch")(
      function* (url: URL, maxBytes: number) {
        if (url.protocol !== "https:") return yield* failed("its URL is not https")
        if (Number(url.port || 443) !== port) return yield* failed("its URL has a port other than 443")
        if (url.username !== "" || url.password !== "") return yield* failed("its URL has a user name")
        return yield* get(url, yield* addressesOf(url.hostname.replace(/^\[(.*)\]$/, "$1")), maxBytes)
      },
      (fetched) =>
        Effect.timeoutOrElse(fetched, {
          duration: patience,
          orElse: () => Effect.fail(failed(`it did not arrive within ${patience / 1000} seconds`))
        })
    )
  }
}

/** Fetches documents from the public internet. */
export const SafeFetchLayer = Layer.sync(DocumentFetcher, () => makeSafeFetch())
