import { assert, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { Reactivity } from "effect/reactivity"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { openExternal } from "../../../src/server/sql/Database.ts"
import { makeCertificate } from "../../support/Certificate.ts"
import { DatabaseLayer, DatabaseUrl } from "../../support/Database.ts"
import { makeFolder } from "../../support/ServiceProcess.ts"
import { makeTlsFront } from "../../support/TlsFront.ts"

/** Opens the database at an address and asks it something; the reason where that fails. */
const tell = (url: URL) =>
  openExternal(Redacted.make(url.href)).pipe(
    Effect.flatMap(({ client }) => client<{ one: number }>`SELECT 1 AS one`),
    Effect.map(([row]) => String(row?.one)),
    Effect.catch(({ message }) => Effect.succeed(message.split("\n")[0]!)),
    Effect.scoped,
    Effect.provideServiceEffect(Reactivity.Reactivity, Reactivity.make)
  )

/** The same server under another name, with parameters. */
const addressOf = (url: string, host: string, parameters: Record<string, string> = {}) => {
  const address = new URL(url)
  address.hostname = host
  for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, value)
  return address
}

/** This machine by an address that is not taken for its own. */
const elsewhere = "0.0.0.0"

layer(DatabaseLayer, { excludeTestServices: true })("A connection to DATABASE_URL", (it) => {
  it.effect("is encrypted as sslmode says where the server speaks TLS", () =>
    Effect.gen(function* () {
      const certificate = makeCertificate("localhost")
      const { seen, url } = yield* makeTlsFront((yield* DatabaseUrl).url, certificate)
      const file = join(yield* makeFolder, "root.crt")
      writeFileSync(file, certificate.cert)
      const modes: ReadonlyArray<readonly [host: string, parameters: Record<string, string>, isEncrypted: boolean]> = [
        ["localhost", {}, false],
        ["localhost", { sslmode: "disable" }, false],
        ["localhost", { sslmode: "prefer" }, true],
        ["localhost", { sslmode: "require" }, true],
        ["localhost", { sslmode: "verify-full", sslrootcert: file }, true],
        // Its certificate is for another name.
        ["127.0.0.1", { sslmode: "require", sslrootcert: file }, true],
        ["127.0.0.1", { sslmode: "verify-ca", sslrootcert: file }, true],
        [elsewhere, {}, true],
        [elsewhere, { sslmode: "disable" }, false]
      ]
      for (const [host, parameters, isEncrypted] of modes) {
        const told = `${host} ${JSON.stringify(parameters)}`
        Object.assign(seen, { encrypted: 0, plain: 0 })
        assert.strictEqual(yield* tell(addressOf(url, host, parameters)), "1", told)
        assert.strictEqual(seen.encrypted > 0, isEncrypted, told)
        assert.strictEqual(seen.plain > 0, !isEncrypted, told)
      }
    })
  )

  it.effect("is refused where the certificate is not what sslmode asks for", () =>
    Effect.gen(function* () {
      const { url } = yield* makeTlsFront((yield* DatabaseUrl).url, makeCertificate("localhost"))
      const folder = yield* makeFolder
      const other = join(folder, "other.crt")
      writeFileSync(other, makeCertificate("localhost").cert)
      for (const [host, sslmode, sslrootcert, reason] of [
        ["localhost", "verify-ca", undefined, /self-signed certificate/],
        ["localhost", "verify-full", other, /signature|self-signed|unable to verify/],
        ["localhost", "require", other, /signature|self-signed|unable to verify/],
        ["localhost", "verify-full", join(folder, "none"), /The sslrootcert of DATABASE_URL cannot be read: ENOENT/]
      ] as const) {
        const parameters = { sslmode, ...(sslrootcert !== undefined && { sslrootcert }) }
        assert.match(yield* tell(addressOf(url, host, parameters)), reason, `${sslmode} ${sslrootcert}`)
      }
    })
  )

  it.effect("is refused for a name that the certificate does not have, with verify-full alone", () =>
    Effect.gen(function* () {
      const certificate = makeCertificate("db.example.com")
      const { url } = yield* makeTlsFront((yield* DatabaseUrl).url, certificate)
      const sslrootcert = join(yield* makeFolder, "root.crt")
      writeFileSync(sslrootcert, certificate.cert)
      const opened = (sslmode: string) => tell(addressOf(url, "localhost", { sslmode, sslrootcert }))
      assert.strictEqual(yield* opened("verify-ca"), "1")
      assert.include(yield* opened("verify-full"), "does not match certificate's altnames")
    })
  )

  it.effect("is made in the clear to a server without TLS only where sslmode lets it", () =>
    Effect.gen(function* () {
      const { seen, url } = yield* makeTlsFront((yield* DatabaseUrl).url)
      for (const parameters of [{}, { sslmode: "prefer" }, { sslmode: "disable" }]) {
        assert.strictEqual(yield* tell(addressOf(url, elsewhere, parameters)), "1")
      }
      seen.plain = 0
      for (const sslmode of ["require", "verify-ca", "verify-full"]) {
        assert.include(yield* tell(addressOf(url, elsewhere, { sslmode })), "The server does not support TLS", sslmode)
      }
      assert.strictEqual(seen.plain, 0)
    })
  )
})
