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
