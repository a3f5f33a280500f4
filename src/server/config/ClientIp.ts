import { isIP } from "node:net"
import ipaddr from "ipaddr.js"
import { Option } from "effect"

/** Reads an IP address, without its zone. IPv4 in IPv6 is told apart by its prefix, whether spelled with dots or not. */
export const parseIp = (text: string): Option.Option<ipaddr.IPv4 | ipaddr.IPv6> => {
  const plain = text.replace(/%.*$/, "")
  // The library takes more for an address: octal and shortened IPv4, and `::1.2.3.4` for a mapped one.
  switch (isIP(plain)) {
    case 4:
      return Option.some(ipaddr.IPv4.parse(plain))
    case 6:
      return Option.some(ipaddr.IPv6.parse(new URL(`http://[${plain}]`).hostname.slice(1, -1)))
    default:
      return Option.none()
  }
}

/** A block of addresses: the eight parts of an IPv6 address, with IPv4 mapped into it, and the length of its prefix in bits. */
export type Network = readonly [parts: ReadonlyArray<number>, bits: number]

const parseAddress = (text: string): Option.Option<ipaddr.IPv6> =>
  Option.map(parseIp(text), (address) => (address instanceof ipaddr.IPv4 ? address.toIPv4MappedAddress() : address))

/** Reads an address or a block in CIDR notation. */
export const parseNetwork = (text: string): Option.Option<Network> => {
  const [host = "", length, ...rest] = text.split("/")
  if (rest.length > 0 || (length !== undefined && !/^\d{1,3}$/.test(length))) return Option.none()
  // 96 bits of an IPv6 address say that it holds an IPv4 address.
  const bits = length === undefined ? 128 : (isIP(host) === 4 ? 96 : 0) + Number(length)
  return bits > 128 ? Option.none() : Option.map(parseAddress(host), ({ parts }) => [parts, bits])
}

const isIn = (networks: ReadonlyArray<Network>, address: ipaddr.IPv6): boolean =>
  networks.some(([parts, bits]) => address.match(new ipaddr.IPv6([...parts]), bits))

/** Whether an address lies in one of these networks. */
export const isWithin = (networks: ReadonlyArray<Network>, text: string | undefined): boolean =>
  Option.exists(parseAddress(text ?? ""), (address) => isIn(networks, address))

// A subscriber is often given 256 networks of a /64 each: a limit for anything smaller than a /56 is no limit.
const group = (address: ipaddr.IPv6): string => {
  if (address.isIPv4MappedAddress()) return address.toIPv4Address().toString()
  const [first, second, third, fourth = 0] = address.parts
  return `${[first, second, third, fourth & 0xff00].map((part) => part?.toString(16)).join(":")}::/56`
}

const withoutPort = (hop: string): string => {
  const bracketed = /^\[([^\]]*)\](?::\d+)?$/.exec(hop)
  if (bracketed !== null) return bracketed[1] ?? ""
  return /^[\d.]+:\d+$/.test(hop) ? hop.slice(0, hop.indexOf(":")) : hop
}

/**
 * Returns the client's address for limits: the connection's peer, or behind a trusted proxy the right-most hop of
 * `X-Forwarded-For` that is not itself a trusted proxy (the client can forge everything left of it). IPv6 addresses are
 * grouped by /56.
 */
export const clientIp = (input: {
  readonly peer: string | undefined
  readonly forwardedFor: string | undefined
  readonly trustedProxies: ReadonlyArray<Network>
}): string => {
  const hops = input.forwardedFor?.split(",") ?? []
  let current = parseAddress(input.peer ?? "")
  while (Option.isSome(current)) {
    const address = current.value
    const hop = isIn(input.trustedProxies, address) ? hops.pop() : undefined
    const next = hop === undefined ? Option.none() : parseAddress(withoutPort(hop.trim()))
    if (Option.isNone(next)) return group(address)
    current = next
  }
  return "unknown"
}
