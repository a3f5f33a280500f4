import { assert, describe, it } from "@effect/vitest"
import { Option } from "effect"
import { clientIp, parseNetwork } from "../../../src/server/config/ClientIp.ts"

const trusted = ["10.0.0.0/8", "192.0.2.7", "fd00::/8"].flatMap((text) => Option.toArray(parseNetwork(text)))

const cases: ReadonlyArray<readonly [string, string | undefined, string | undefined, string]> = [
  ["takes the peer without a proxy", "203.0.113.9", undefined, "203.0.113.9"],
  ["ignores the claim of a peer that is no proxy", "203.0.113.9", "198.51.100.1", "203.0.113.9"],
  ["believes a proxy", "10.1.2.3", "198.51.100.1", "198.51.100.1"],
  ["takes the right-most hop, not what the client wrote", "10.1.2.3", "1.1.1.1, 198.51.100.1", "198.51.100.1"],
  ["walks through several proxies", "10.1.2.3", "1.1.1.1, 198.51.100.1, 192.0.2.7,10.9.9.9", "198.51.100.1"],
  ["stops at what is no address", "10.1.2.3", "198.51.100.1, unknown", "10.1.2.3"],
  ["stops at an empty hop", "10.1.2.3", "", "10.1.2.3"],
  ["takes the left-most when all are proxies", "10.1.2.3", "10.0.0.1, 10.0.0.2", "10.0.0.1"],
  ["reads ports", "10.1.2.3", "198.51.100.1:4711", "198.51.100.1"],
  ["reads bracketed IPv6", "10.1.2.3", "[2001:db8:1:2:3::4]:4711", "2001:db8:1:0::/56"],
  ["groups IPv6 by /56", "2001:db8:1:ff:ffff::1", undefined, "2001:db8:1:0::/56"],
  ["tells one /56 from the next", "2001:db8:1:100::1", undefined, "2001:db8:1:100::/56"],
  ["reads IPv4 in IPv6", "::ffff:203.0.113.9", undefined, "203.0.113.9"],
  ["reads hexadecimal IPv4 in IPv6", "::ffff:cb00:7109", undefined, "203.0.113.9"],
  ["trusts a proxy seen as IPv4 in IPv6", "::ffff:10.1.2.3", "198.51.100.1", "198.51.100.1"],
  ["trusts an IPv6 block", "fd12::1", "2001:db8::1", "2001:db8:0:0::/56"],
  ["leaves out the zone", "fe80::1%eth0", undefined, "fe80:0:0:0::/56"],
  ["has one name for those without an address", undefined, "198.51.100.1", "unknown"]
]

describe("Client address", () => {
  for (const [name, peer, forwardedFor, expected] of cases) {
    it(name, () => {
      assert.strictEqual(clientIp({ peer, forwardedFor, trustedProxies: trusted }), expected)
    })
  }

  it("reads addresses and blocks, and nothing else", () => {
    for (const text of ["10.0.0.0/0", "10.0.0.1", "::/0", "2001:db8::/32", "::ffff:10.0.0.0/104"]) {
      assert.isTrue(Option.isSome(parseNetwork(text)), text)
    }
    for (const text of ["", "10.0.0.0/33", "::/129", "10.0.0/8", "10.0.0.0/8/8", "10.0.0.0/", "10.0.0.0/-1", "host"]) {
      assert.isTrue(Option.isNone(parseNetwork(text)), text)
    }
  })
})
