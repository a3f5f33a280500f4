import { isIPv4, isIPv6 } from "node:net"
import { Option } from "effect"

/** A block of addresses: its first address in 16 bytes (IPv4 mapped into IPv6), and how many bits of it count. */
export interface Network {
  readonly address: Uint8Array
  readonly bits: number
}

const mappedBits = 96

const fromIPv4 = (text: string): Uint8Array => {
  const bytes = new Uint8Array(16)
  bytes.fill(0xff, 10, 12)
  bytes.set(text.split(".").map(Number), 12)
  return bytes
}

const groupsOf = (part: string): Array<string> => (part === "" ? [] : part.split(":"))

const fromIPv6 = (text: string): Uint8Array => {
  const tail = text.lastIndexOf(":") + 1
  const embedded = isIPv4(text.slice(tail)) ? fromIPv4(text.slice(tail)).subarray(12) : undefined
  const plain =
    embedded === undefined
      ? text
      : text.slice(0, tail) +
        [embedded.subarray(0, 2), embedded.subarray(2)]
          .map((pair) => (((pair[0] ?? 0) << 8) | (pair[1] ?? 0)).toString(16))
          .join(":")
  const [head = "", rest] = plain.split("::")
  const before = groupsOf(head)
  const after = rest === undefined ? [] : groupsOf(rest)
  const groups = [...before, ...Array.from({ length: 8 - before.length - after.length }, () => "0"), ...after]
  const bytes = new Uint8Array(16)
  groups.forEach((group, index) => {
    const value = Number.parseInt(group, 16)
    bytes[index * 2] = value >> 8
    bytes[index * 2 + 1] = value & 0xff
  })
  return bytes
}

const parseAddress = (text: string): Option.Option<Uint8Array> => {
  const plain = text.replace(/%.*$/, "")
  if (isIPv4(plain)) return Option.some(fromIPv4(plain))
  return isIPv6(plain) ? Option.some(fromIPv6(plain)) : Option.none()
}

/** Reads an address or a block in CIDR notation. */
export const parseNetwork = (text: string): Option.Option<Network> => {
  const [host = "", length, ...rest] = text.split("/")
  const offset = isIPv4(host) ? mappedBits : 0
  if (rest.length > 0 || (length !== undefined && !/^\d{1,3}$/.test(length))) return Option.none()
  const bits = length === undefined ? 128 : offset + Number(length)
  return bits > 128 ? Option.none() : Option.map(parseAddress(host), (address) => ({ address, bits }))
}

const contains = (network: Network, address: Uint8Array): boolean =>
  address.every((byte, index) => {
    const counting = Math.min(8, Math.max(0, network.bits - index * 8))
    const mask = (0xff << (8 - counting)) & 0xff
    return (byte & mask) === ((network.address[index] ?? 0) & mask)
  })

/** Whether an address lies in one of these networks. */
export const isWithin = (networks: ReadonlyArray<Network>, text: string | undefined): boolean =>
  Option.exists(parseAddress(text ?? ""), (address) => networks.some((network) => contains(network, address)))

const isMapped = (address: Uint8Array): boolean => contains({ address: fromIPv4("0.0.0.0"), bits: mappedBits }, address)

// One subscriber is given up to 256 networks of a whole /64 each, so that anything finer than their /56 is no limit at all.
const group = (address: Uint8Array): string => {
  if (isMapped(address)) return address.subarray(12).join(".")
  const network = address.with(7, 0)
  const groups = [0, 2, 4, 6].map((index) => (((network[index] ?? 0) << 8) | (network[index + 1] ?? 0)).toString(16))
  return `${groups.join(":")}::/56`
}

const withoutPort = (hop: string): string => {
  const bracketed = /^\[([^\]]*)\](?::\d+)?$/.exec(hop)
  if (bracketed !== null) return bracketed[1] ?? ""
  return /^[\d.]+:\d+$/.test(hop) ? hop.slice(0, hop.indexOf(":")) : hop
}

/**
 * Says whose request it is, for limits: the connection's peer, or behind a trusted proxy the right-most hop of
 * `X-Forwarded-For` that is no trusted proxy itself (what stands left of it is anybody's claim). IPv6 addresses are
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
    const hop = input.trustedProxies.some((network) => contains(network, address)) ? hops.pop() : undefined
    const next = hop === undefined ? Option.none() : parseAddress(withoutPort(hop.trim()))
    if (Option.isNone(next)) return group(address)
    current = next
  }
  return "unknown"
}
