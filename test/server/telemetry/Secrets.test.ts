import { assert, describe, it } from "@effect/vitest"
import { AccountId, makeToken, tokenBytes } from "../../../src/domain/Account.ts"
import { withoutSecrets } from "../../../src/server/telemetry/Logging.ts"

describe("Text that is written down", () => {
  it("holds no local secret, whole or cut off in its address", () => {
    const secret = `svc_local_${"a".repeat(43)}`
    for (const text of [`GET /?local=${secret}`, `X-Local-Secret: ${secret}`, `read ${secret}, twice`]) {
      assert.notInclude(withoutSecrets(text), "a".repeat(43))
    }
    assert.strictEqual(withoutSecrets("GET /?a=b&local=other HTTP/1.1"), "GET /?a=b&local=[redacted] HTTP/1.1")
  })

  it("holds no token of a link, however its address is spelled", () => {
    const token = makeToken(AccountId.make("a".repeat(20)), new Uint8Array(tokenBytes).fill(7))
    for (const address of [
      `/view/${token}`,
      `/v%69ew/${token}/download`,
      `/download/${token}`,
      `opened ${token}, twice`
    ]) {
      assert.notInclude(withoutSecrets(address), token)
    }
  })
})
