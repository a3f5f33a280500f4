import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { setClock } from "../../support/Database.ts"
import { serviceLayer } from "../../support/TestService.ts"
import { jsonOf, raw, wire } from "../wire/Wire.ts"
import { minimal, refusal, register, registered } from "./Registering.ts"

layer(serviceLayer(), { excludeTestServices: true })("Refused registrations", (it) => {
  it.effect("29 refuses redirect URIs that are missing or lead where nobody may be sent", () =>
    Effect.gen(function* () {
      for (const body of [
        {},
        { redirect_uris: [] },
        { redirect_uris: null },
        { redirect_uris: "https://c.test/cb" },
        { redirect_uris: [1] },
        { redirect_uris: Array.from({ length: 21 }, (_, index) => `https://c.test/${index}`) },
        ...["javascript:alert(1)", "data:text/html,x", "http://192.168.1.2/cb", "/cb", 'https://c.test/"\\é'].map(
          (uri) => ({ redirect_uris: ["https://c.test/cb", uri] })
        )
      ]) {
        assert.include(yield* refusal(body, "invalid_redirect_uri"), "redirect_uris cannot be registered: ")
      }
      assert.include(
        yield* refusal({ redirect_uris: ["http://192.168.1.2/cb"] }, "invalid_redirect_uri"),
        "http://192.168.1.2/cb uses http, which is only allowed for localhost, 127.0.0.1 and [::1]: use https."
      )
    })
  )

  it.effect("29 refuses members that cannot hold, by their name", () =>
    Effect.gen(function* () {
      for (const [member, values] of Object.entries({
        token_endpoint_auth_method: ["private_key_jwt", "NONE", 1, []],
        grant_types: [["implicit"], [], "authorization_code", [1, "authorization_code"]],
        response_types: [["token"], [], "code"],
        client_name: [1, ["a"]]
      })) {
        for (const value of values) {
          assert.include(yield* refusal({ ...minimal, [member]: value }, "invalid_client_metadata"), member)
        }
      }
    })
  )

  it.effect("29 refuses bodies that are not a JSON object", () =>
    Effect.gen(function* () {
      for (const body of ["", "{", "[]", "null", '"a"', "{}x", '{"redirect_uris":[],"redirect_uris":[]}']) {
        yield* refusal(body, "invalid_client_metadata")
      }
      for (const headers of [
        { "content-type": "application/x-www-form-urlencoded" },
        { "content-type": "text/plain" },
        { "content-type": "application/json; charset=iso-8859-1" },
        { "content-encoding": "gzip" }
      ]) {
        const answer = yield* register(minimal, headers)
        assert.strictEqual(answer.status, 400)
        assert.strictEqual(jsonOf(answer)["error"], "invalid_client_metadata")
      }
      const latin = yield* wire("POST", "/register", { body: Buffer.from('{"client_name":"é"}', "latin1") })
      assert.include(jsonOf<{ error_description: string }>(latin).error_description, "UTF-8")
    })
  )

  it.effect("29 takes a body of 16 KB and none larger, whether or not its head says so", () =>
    Effect.gen(function* () {
      const sized = (bytes: number) => {
        const body = { ...minimal, client_uri: "" }
        return JSON.stringify({ ...body, client_uri: "a".repeat(bytes - JSON.stringify(body).length) })
      }
      yield* registered(sized(16_384))
      assert.include(yield* refusal(sized(16_385), "invalid_client_metadata", 413), "16384 bytes")
      const chunked = yield* raw(
        `POST /register HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nconnection: close\r\n` +
          `transfer-encoding: chunked\r\n\r\n${(16_385).toString(16)}\r\n${sized(16_385)}\r\n0\r\n\r\n`
      )
      assert.match(chunked, /^HTTP\/1\.1 413 /)
      assert.include(chunked, '{"error":"invalid_client_metadata"')
    })
  )
})

layer(serviceLayer({ LIMIT_REGISTRATIONS_PER_IP_PER_HOUR: "2" }), { excludeTestServices: true })(
  "Registrations of one address",
  (it) => {
    it.effect("29 are limited by the hour; those that are refused count for nothing", () =>
      Effect.gen(function* () {
        yield* refusal({}, "invalid_redirect_uri")
        yield* refusal("{", "invalid_client_metadata")
        yield* registered(minimal)
        yield* registered(minimal)
        const answer = yield* register(minimal)
        assert.strictEqual(answer.status, 429)
        assert.strictEqual(answer.headers["cache-control"], "no-store")
        assert.strictEqual(jsonOf(answer)["error"], "temporarily_unavailable")
        const wait = Number(answer.headers["retry-after"])
        assert.isTrue(wait > 1700 && wait <= 1800, String(wait))
        yield* setClock(`${wait} seconds`)
        yield* registered(minimal)
        assert.strictEqual((yield* register(minimal)).status, 429)
      })
    )
  }
)
