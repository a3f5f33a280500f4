import { assert, describe, it, layer } from "@effect/vitest"
import { Effect } from "effect"
import { HttpApi } from "effect/http-api"
import { SqlClient } from "effect/sql"
import { Api } from "../../../src/api/Api.ts"
import { Outbox } from "../../../src/server/mail/Mailer.ts"
import { newAccount, serviceLayer } from "../../support/TestService.ts"
import { frameworkStatuses, operations, type Operation, type Sample } from "./Operations.ts"
import { assertProblem, jsonOf, wire, type WireAnswer } from "./Wire.ts"

interface Declared {
  readonly name: string
  readonly method: string
  readonly path: string
  readonly statuses: ReadonlyArray<number>
}

const declared: Array<Declared> = []
HttpApi.reflect(Api, {
  onGroup: () => undefined,
  onEndpoint: ({ endpoint, errors, group, successes }) =>
    declared.push({
      name: `${group.identifier}.${endpoint.identifier}`,
      method: endpoint.method,
      path: endpoint.path,
      statuses: [...successes.keys(), ...errors.keys()]
    })
})

const testedStatuses = ({ refusals, success }: Operation) => [success[0], ...Object.keys(refusals).map(Number)]

const isOf = ({ method, path }: Declared, [usedMethod, usedPath]: Sample): boolean =>
  method === usedMethod && new RegExp(`^${path.replaceAll(/:[a-z]+/g, "[^/]+")}$`).test(usedPath.split("?", 1)[0]!)

describe("The contract", () => {
  for (const operation of declared) {
    const tested = operations[operation.name]

    it(`P20 ${operation.name} has a request for each status that it declares`, () => {
      assert.isDefined(tested, `add ${operation.name} to Operations.ts`)
      const own = operation.statuses.filter((status) => !frameworkStatuses.includes(status) || status === 404)
      const missing = own.filter((status) => status !== 404 && !testedStatuses(tested).includes(status))
      assert.deepStrictEqual(missing, [])
      const samples = [tested.success[1], ...Object.values(tested.refusals)]
      assert.deepStrictEqual(
        samples.filter((sample) => !isOf(operation, sample)),
        []
      )
    })

    it(`${operation.name} declares the specification's statuses and the framework's only`, () => {
      assert.isDefined(tested)
      const allowed = [...testedStatuses(tested), ...frameworkStatuses]
      assert.deepStrictEqual(
        operation.statuses.filter((status) => !allowed.includes(status)),
        []
      )
      assert.deepStrictEqual(
        testedStatuses(tested).filter((status) => !operation.statuses.includes(status)),
        []
      )
    })
  }

  it("has every operation that is tested", () => {
    const names = declared.map(({ name }) => name)
    assert.deepStrictEqual(
      Object.keys(operations).filter((name) => !names.includes(name)),
      []
    )
  })
})

const settings = {
  LIMIT_WRITES_PER_MINUTE: "6",
  LIMIT_READS_PER_MINUTE: "3",
  LIMIT_MAGIC_LINKS_PER_EMAIL_PER_HOUR: "2",
  LIMIT_VERIFIES_PER_IP_PER_HOUR: "5",
  TRUSTED_PROXIES: "127.0.0.1"
}

/** An account as `Operations.ts` describes it; it has spent four writes. */
const given = Effect.gen(function* () {
  const { accountId, apiKey: key } = yield* newAccount
  const sql = yield* SqlClient.SqlClient
  const rows = ["1", "2"].map((n) => `{"action":"add","row":{"n":${n},"kind":"a"}}`)
  const added = yield* wire("POST", "/v1/notes/batch", { key, body: `{"operations":[${rows.join()}]}` })
  const { results } = jsonOf<{ results: Array<{ result: { id: string } }> }>(added)
  const { id } = results[0]!.result
  const patched = yield* wire("POST", "/v1/notes/update_row", { key, body: `{"id":"${id}","patch":{"n":1}}` })
  assert.strictEqual(patched.status, 200)
  for (const kind of ['"a"', '"a"']) {
    yield* wire("POST", "/v1/notes/update_where", { key, body: `{"filter":{"n":2},"patch":{"kind":${kind}}}` })
  }
  yield* sql`UPDATE accounts SET swept_change = 1 WHERE account_id = ${accountId}`
  const email = `${accountId}@example.com`
  yield* sql`INSERT INTO account_emails (email, account_id) VALUES (${email}, ${accountId})`
  return { key, id, email }
})

const freshToken = Effect.gen(function* () {
  yield* wire("POST", "/auth/magic-link", { body: '{"email":"grace@example.com"}' })
  const { text } = yield* Effect.flatMap(Outbox, ({ next }) => next)
  return /token=([\w-]+)/.exec(text)?.[1] ?? ""
})

const send = ([method, path, body]: Sample, values: Record<string, string>, options: Parameters<typeof wire>[2]) => {
  const filled = (text: string) => text.replaceAll(/\$(\w+)/g, (_, name: string) => values[name] ?? "")
  return wire(method, filled(path), { ...options, body: body === undefined ? undefined : filled(body) })
}

layer(serviceLayer(settings))("An operation", (it) => {
  const seen: Array<readonly [string, WireAnswer]> = []

  for (const [name, { refusals, success }] of Object.entries(operations)) {
    const isPublic = name.startsWith("auth.")
    const [successStatus, successSample] = success

    it.effect(`${name} answers ${successStatus}`, () =>
      Effect.gen(function* () {
        const { email, id, key } = yield* given
        const token = successSample[2]?.includes("$token") === true ? yield* freshToken : ""
        const answer = yield* send(successSample, { id, token, email }, isPublic ? {} : { key })
        seen.push([name, answer])
        assert.strictEqual(answer.status, successStatus, answer.text)
        assert.strictEqual(answer.headers["content-type"], "application/json")
      })
    )

    for (const [text, sample] of Object.entries(refusals)) {
      const status = Number(text)
      it.effect(`${name} answers ${status}`, () =>
        Effect.gen(function* () {
          const { email, id, key } = yield* given
          const options = isPublic
            ? { headers: { "x-forwarded-for": `203.0.113.${status % 200}` } }
            : status === 401
              ? {}
              : { key }
          let answer = yield* send(sample, { id, email }, options)
          for (let left = status === 429 ? 6 : 0; left > 0 && answer.status !== 429; left--) {
            answer = yield* send(sample, { id, email }, options)
          }
          seen.push([name, answer])
          assertProblem(answer, status, jsonOf<{ code: string }>(answer).code)
          if (status === 401) assert.strictEqual(answer.headers["www-authenticate"], "Bearer")
          if (status === 429) assert.match(answer.headers["retry-after"] ?? "", /^[1-9]\d*$/)
        })
      )
    }
  }

  it("P20 never answers with a status that it does not declare", () => {
    assert.isAbove(seen.length, declared.length)
    const undeclared = seen.filter(([name, { status }]) => {
      const statuses = declared.find((operation) => operation.name === name)?.statuses ?? []
      return !statuses.includes(status)
    })
    assert.deepStrictEqual(undeclared, [])
  })
})
