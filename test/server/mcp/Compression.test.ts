import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { newConnection } from "../../support/Mcp.ts"
import { serviceLayer } from "../../support/TestService.ts"
import { rpc, send, sendModern } from "./Messages.ts"

layer(serviceLayer(), { excludeTestServices: true })("Long answers of /mcp", (it) => {
  it.effect("are compressed where the client accepts it, in both eras, and say the same", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const list = (accepted: string) => send(token, rpc("tools/list"), { "accept-encoding": accepted })
      const plain = yield* list("identity")
      assert.strictEqual(plain.headers.get("content-encoding"), null)
      for (const accepted of ["gzip", "br, gzip;q=0.5"]) {
        const zipped = yield* list(accepted)
        assert.strictEqual(zipped.headers.get("content-encoding"), "gzip", accepted)
        assert.isBelow(Number(zipped.headers.get("content-length")), plain.text.length / 2)
        assert.strictEqual(zipped.text, plain.text)
      }
      for (const refusing of ["gzip;q=0", "br"]) {
        assert.strictEqual((yield* list(refusing)).headers.get("content-encoding"), null, refusing)
      }
      const modern = yield* sendModern(token, "tools/list", {}, { "accept-encoding": "gzip" })
      assert.strictEqual(modern.headers.get("content-encoding"), "gzip")
      const short = yield* send(token, rpc("ping"), { "accept-encoding": "gzip" })
      assert.strictEqual(short.headers.get("content-encoding"), null)
    })
  )
})
