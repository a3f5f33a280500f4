import { BlockList } from "node:net"
import { Option } from "effect"
import { parseNetwork } from "../http/ClientIp.ts"

// What the registry of special-purpose addresses lists as not globally reachable, relays of 6to4, and multicast.
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
]

// Of IPv6 only 2000::/3 is given out. In it are Teredo and other protocols, examples, 6to4 and segment routing.
const global6 = "2000::/3"
const special6 = ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"]

// IPv6 forms of IPv4 addresses: mapped ones, and those that a network without IPv4 translates (NAT64).
const embedding = ["::ffff:0:0/96", "64:ff9b::/96"]

const listOf = (subnets: ReadonlyArray<string>, family: "ipv4" | "ipv6"): BlockList => {
  const list = new BlockList()
  for (const subnet of subnets) {
    const [address = "", bits] = subnet.split("/")
    list.addSubnet(address, Number(bits), family)
  }
  return list
}

const blocked4 = listOf(special4, "ipv4")
const blocked6 = listOf(special6, "ipv6")
const allowed6 = listOf([global6], "ipv6")
const embedded4 = listOf(embedding, "ipv6")

/** Whether an IP address is one of the public internet: none of this machine, its networks, or reserved for others. */
export const isPublicAddress = (address: string): boolean => {
  if (address.includes("%") || address.includes("/")) return false
  const parsed = Option.getOrUndefined(parseNetwork(address))
  if (parsed === undefined) return false
  if (!address.includes(":")) return !blocked4.check(address, "ipv4")
  if (embedded4.check(address, "ipv6")) return !blocked4.check(parsed.address.subarray(12).join("."), "ipv4")
  return allowed6.check(address, "ipv6") && !blocked6.check(address, "ipv6")
}
