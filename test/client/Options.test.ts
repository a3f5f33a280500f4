import { inspect } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import { AgentMemoryError, createClient, createSignIn, type ClientOptions } from "../../src/client/createClient.ts"
import { rejection } from "../support/Client.ts"
import { nobodysUrl, withFaults } from "../support/FaultyServer.ts"

const apiKey = "svc_live_abcdefghijklmnopqrst_0123456789012345678901234567890123456789abc"

const refusal = (make: () => unknown): AgentMemoryError => {
  try {
    make()
  } catch (error) {
    assert.instanceOf(error, AgentMemoryError)
    assert.strictEqual(error.code, "invalid_options")
    return error
  }
  return assert.fail("accepted")
}

const refused = (options: object) => refusal(() => createClient(options as ClientOptions))

/** Lets the code run as in a page that has these globals. */
const inPage = (globals: Record<string, unknown>, run: () => void): void => {
  for (const [name, value] of Object.entries(globals)) {
    Object.defineProperty(globalThis, name, { value, configurable: true })
  }
  try {
    run()
  } finally {
    for (const name of Object.keys(globals)) delete (globalThis as Record<string, unknown>)[name]
  }
}

describe("createClient", () => {
  it("says what to do without a key", () => {
    for (const key of [undefined, "", null]) {
      assert.match(refused({ apiKey: key }).message, /^There is no API key\. Pass it as createClient\(\{ apiKey \}\)/)
    }
  })

  it("refuses a key that no header can hold, without showing it", () => {
    for (const key of [`${apiKey}\n`, ` ${apiKey}`, `${apiKey}é`]) {
      const error = refused({ apiKey: key })
      assert.include(error.message, "contains white space")
      assert.notInclude(inspect(error), "0123456789")
    }
  })

  it("says what is wrong with an address", () => {
    for (const [baseUrl, reason] of [
      ["memory.example.com", "is not an http(s) address"],
      ["", "is not an http(s) address"],
      ["ftp://memory.example.com", "is not an http(s) address"],
      [apiKey, "is not an http(s) address"],
      ["https://memory.example.com/v1", "ends with /v1"],
      ["https://memory.example.com/agents/mcp/", "ends with /mcp"],
      ["https://memory.example.com/?key=1", "is not a plain address"],
      ["https://ada:secret@memory.example.com/", "is not a plain address"]
    ] as const) {
      const error = refused({ apiKey, baseUrl })
      assert.include(error.message, reason)
      assert.notInclude(error.message, "secret")
      assert.notInclude(error.message, apiKey)
    }
  })

  it("refuses a local secret that can't be sent, and does not show it", () => {
    for (const localSecret of ["", "svc_local_abc\n", "svc_local abc"]) {
      const error = refusal(() => createSignIn({ localSecret }))
      assert.match(error.message, /^localSecret is empty, or contains white space/)
      assert.notInclude(error.message, "abc")
    }
  })

  it("refuses times and numbers of tries that are none, for the client and for a call", () =>
    withFaults({ faults: [] }, async (url, seen) => {
      const memory = createClient({ apiKey, baseUrl: url })
      for (const wrong of [Number.NaN, -1, "30", null]) {
        for (const name of ["timeout", "maxRetries"]) {
          assert.match(refused({ apiKey, [name]: wrong }).message, new RegExp(`^${name} is not a `))
          const error = (await rejection(memory.tables({ [name]: wrong }))) as AgentMemoryError
          assert.strictEqual(error.code, "invalid_options")
        }
      }
      assert.match(refused({ apiKey, timeout: 0 }).message, /^timeout is not a time/)
      assert.lengthOf(seen, 0)
    }))

  it("refuses a reading of numbers that there is not", () => {
    assert.include(
      refused({ apiKey, numbers: "exact" }).message,
      'numbers is "exact". Pass "number", "bigint" or "text".'
    )
  })

  it("keeps the path of an address, for services behind a proxy", () =>
    withFaults({ faults: [{ kind: "answer", status: 200, body: '{"tables":[]}' }] }, async (url, seen) => {
      await createClient({ apiKey, baseUrl: `${url}/memory/` }).tables()
      assert.strictEqual(seen[0]?.path, "/memory/v1/_tables")
    }))

  it("never shows the key, whatever prints the client or its errors", () =>
    withFaults({ faults: [{ kind: "cut before" }, { kind: "answer", status: 500 }] }, async (url) => {
      const memory = createClient({ apiKey, baseUrl: url, maxRetries: 0 })
      const errors = [await rejection(memory.tables()), await rejection(memory.tables())]
      for (const value of [memory, memory.table("tasks"), memory.keys, ...errors]) {
        const printed = [inspect(value, { depth: 9, showHidden: true }), JSON.stringify(value), String(value)].join()
        assert.notInclude(printed, "svc_live_")
      }
    }))

  it("refuses to run in a browser's page unless it is told to", () => {
    const page = { window: globalThis, document: {} }
    inPage(page, () => {
      assert.match(refused({ apiKey }).message, /^This is a browser's page: .*Call Agent Memory from your server\./)
      assert.isFunction(createClient({ apiKey, dangerouslyAllowBrowser: true }).tables)
      assert.throws(() => createSignIn(), /browser's page/)
    })
    // Workers have no document, and some of them call their global object window.
    inPage({ window: globalThis }, () => assert.isFunction(createClient({ apiKey }).tables))
  })
})

describe("A call", () => {
  it("says which address did not answer, and why", async () => {
    const nobody = nobodysUrl
    const error = (await rejection(
      createClient({ apiKey, baseUrl: nobody, maxRetries: 0 }).tables()
    )) as AgentMemoryError
    assert.strictEqual(error.code, "network_error")
    assert.match(error.message, new RegExp(`^No answer came from ${nobody}: connect ECONNREFUSED`))
    assert.include(error.message, "Check that Agent Memory runs there")
    assert.instanceOf(error.cause, TypeError)
  })

  it("says so when something else than Agent Memory answers", () =>
    withFaults(
      {
        faults: [
          { kind: "answer", status: 200, headers: { "content-type": "text/html" }, body: "<h1>Hello" },
          { kind: "answer", status: 200, body: '{"hello":"world"}' },
          { kind: "answer", status: 404, headers: { "content-type": "text/html" }, body: "<h1>Not found" },
          { kind: "answer", status: 301, headers: { location: "https://memory.example.com/v1/_tables" }, body: "" }
        ]
      },
      async (url) => {
        const memory = createClient({ apiKey, baseUrl: url })
        for (const [status, words] of [
          [200, "The response is not one of Agent Memory. Check baseUrl"],
          [200, "The response is not one of Agent Memory. Check baseUrl"],
          [404, `${url} answered with status 404, but not as Agent Memory does. Check baseUrl`],
          [301, "It redirects to https://memory.example.com/v1/_tables: pass the address behind it as baseUrl."]
        ] as const) {
          const error = (await rejection(memory.tables())) as AgentMemoryError
          assert.strictEqual(error.code, "invalid_response")
          assert.strictEqual(error.status, status)
          assert.include(error.message, words)
        }
      }
    ))

  it("sends nothing that would lead to another operation", () =>
    withFaults({ faults: [] }, async (url, seen) => {
      const memory = createClient({ apiKey, baseUrl: url })
      for (const name of ["_keys", "", ".", "..", "../auth", "%2e"]) {
        assert.throws(() => memory.table(name), /No table can have the name/)
      }
      for (const id of ["", ".", ".."]) {
        assert.deepInclude({ ...((await rejection(memory.keys.revoke(id))) as object) }, { code: "invalid_request" })
      }
      assert.lengthOf(seen, 0)
    }))

  it("sends no filter with a field that is undefined, which would match too much", () =>
    withFaults({ faults: [] }, async (url, seen) => {
      const tasks = createClient({ apiKey, baseUrl: url }).table<{ owner?: string; done: boolean }>("tasks")
      const filter = { owner: undefined, done: true } as unknown as { done: boolean }
      for (const call of [
        tasks.delete(filter),
        tasks.count(filter),
        tasks.query({ filter }),
        tasks.updateWhere({ filter, patch: { done: false } }),
        tasks.batch((b) => [b.delete(filter)])
      ]) {
        const error = (await rejection(call)) as AgentMemoryError
        assert.deepInclude({ ...error }, { code: "invalid_request" })
        assert.strictEqual(error.errors?.[0]?.path, "/filter/owner")
      }
      assert.lengthOf(seen, 0)
    }))

  it("sends no idempotency key that no header can hold", () =>
    withFaults({ faults: [] }, async (url, seen) => {
      const tasks = createClient({ apiKey, baseUrl: url }).table("tasks")
      for (const idempotencyKey of ["", "two\nlines", "é", "k".repeat(256)]) {
        const error = (await rejection(tasks.add({}, { idempotencyKey }))) as AgentMemoryError
        assert.deepInclude({ ...error }, { code: "invalid_request" })
        assert.include(error.message, "idempotencyKey must be 1 to 255 printable ASCII characters")
      }
      assert.lengthOf(seen, 0)
    }))

  it("says to JavaScript what its types say to TypeScript: filters and batches are not left out", async () => {
    const tasks = createClient({ apiKey }).table("tasks")
    const said = async (call: Promise<unknown>) => ((await rejection(call)) as AgentMemoryError).message
    assert.include(await said(tasks.delete(undefined as never)), "There is no filter. Pass an object")
    assert.include(await said(tasks.updateWhere({ patch: {} } as never)), "There is no filter. Pass an object")
    const forgetful = (b: { add: (row: object) => unknown }) => void b.add({})
    assert.include(await said(tasks.batch(forgetful as never)), "Return them in an array")
  })

  it("shows its error under the error's own name", async () => {
    const error = await rejection(createClient({ apiKey }).table("tasks").add({ rank: Number.NaN }))
    assert.match(inspect(error), /^AgentMemoryError: What was passed/)
  })

  it("says what cannot be sent as JSON", async () => {
    const tasks = createClient({ apiKey }).table("tasks")
    for (const [row, words] of [
      [{ due: new Date(0) }, /Date.* a Date as its toISOString\(\)/],
      [{ rank: Number.NaN }, /NaN/]
    ] as const) {
      const error = (await rejection(tasks.add(row))) as AgentMemoryError
      assert.strictEqual(error.code, "invalid_request")
      assert.match(error.message, words)
    }
  })
})
