import { assert, describe, it } from "@effect/vitest"
import { HttpServerRequest } from "effect/http"
import { formProof, isCrossSite, isFormProof } from "../../../src/server/accounts/browser/Sessions.ts"

describe("A form's proof", () => {
  it("holds for its session and purpose, and for no other", () => {
    const proof = formProof("session", "connections")
    assert.match(proof, /^[\w-]{43}$/)
    assert.isTrue(isFormProof("session", "connections", proof))
    assert.isFalse(isFormProof("other", "connections", proof))
    assert.isFalse(isFormProof("session", "authorize?a=b", proof))
    for (const given of [null, "", "é".repeat(43), proof.slice(1), `${proof}A`, proof.toUpperCase()]) {
      assert.isFalse(isFormProof("session", "connections", given), String(given))
    }
  })

  it("does not tell the session's token", () => {
    assert.notInclude(formProof("session", "connections"), "session")
  })
})

describe("A request", () => {
  const from = (site?: string) =>
    HttpServerRequest.fromWeb(
      new Request("http://localhost/", site === undefined ? {} : { headers: { "sec-fetch-site": site } })
    )

  it("is cross-site when the browser says that neither this site nor a person made it", () => {
    assert.deepStrictEqual(["cross-site", "same-site", "", "x"].map(from).map(isCrossSite), [true, true, true, true])
    assert.deepStrictEqual(["same-origin", "none", undefined].map(from).map(isCrossSite), [false, false, false])
  })
})
