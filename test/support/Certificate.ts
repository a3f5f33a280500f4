import { generateKeyPairSync, sign } from "node:crypto"

/** A certificate that signs itself, and its private key, in PEM. */
export interface Certificate {
  readonly cert: string
  readonly key: string
}

const der = (tag: number, ...parts: ReadonlyArray<Uint8Array>): Buffer => {
  const body = Buffer.concat(parts)
  const length = body.length < 0x80 ? [body.length] : [0x82, body.length >> 8, body.length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...length]), body])
}

const sequence = (...parts: ReadonlyArray<Uint8Array>) => der(0x30, ...parts)
const oid = (hex: string) => der(0x06, Buffer.from(hex, "hex"))
const bits = (bytes: Uint8Array) => der(0x03, Buffer.from([0]), bytes)

/** UTCTime: 261128090000Z. */
const time = (date: Date) => der(0x17, Buffer.from(`${date.toISOString().replaceAll(/\D/g, "").slice(2, 14)}Z`))

const day = 86_400_000

/** Makes a certificate for a host (X.509 v3, ECDSA on P-256), good from yesterday until tomorrow. */
export const makeCertificate = (host: string): Certificate => {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const ecdsaWithSha256 = sequence(oid("2a8648ce3d040302"))
  const name = sequence(der(0x31, sequence(oid("550403"), der(0x0c, Buffer.from(host)))))
  const now = Date.now()
  const alternativeNames = sequence(oid("551d11"), der(0x04, sequence(der(0x82, Buffer.from(host)))))
  const isAuthority = sequence(oid("551d13"), der(0x04, sequence(der(0x01, Buffer.from([0xff])))))
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    ecdsaWithSha256,
    name,
    sequence(time(new Date(now - day)), time(new Date(now + day))),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(alternativeNames, isAuthority))
  )
  const signed = sequence(body, ecdsaWithSha256, bits(sign("sha256", body, privateKey)))
  const lines = signed.toString("base64").match(/.{1,64}/g) ?? []
  return {
    cert: ["-----BEGIN CERTIFICATE-----", ...lines, "-----END CERTIFICATE-----", ""].join("\n"),
    key: privateKey.export({ type: "pkcs8", format: "pem" })
  }
}
