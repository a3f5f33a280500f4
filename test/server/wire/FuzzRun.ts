import { assert } from "@effect/vitest"
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js"
import { Config, Effect } from "effect"
import { HttpApi } from "effect/http-api"
import { Api } from "../../../src/api/Api.ts"
import { randomFrom } from "../../domain/json/RandomJson.ts"
import { within } from "../../support/OwnTime.ts"
import { newAccount } from "../../support/TestService.ts"
import { fuzzRequest, type FuzzRequest } from "./Fuzz.ts"
import { frameworkStatuses } from "./Operations.ts"
import { assertProblem, jsonOf, wire, type ProblemBody, type WireAnswer } from "./Wire.ts"

interface Document {
  readonly paths: Record<
    string,
    Record<string, { readonly responses: Record<string, { readonly content?: Record<string, { schema: object }> }> }>
  >
  readonly components: object
}

const paths = new Map<string, string>()
HttpApi.reflect(Api, {
  onGroup: () => undefined,
  onEndpoint: ({ endpoint, group }) =>
    paths.set(`${group.identifier}.${endpoint.identifier}`, endpoint.path.replaceAll(/:([a-z]+)/g, "{$1}"))
})

/** Checks of an answer's body by operation and status, as the OpenAPI document describes it. */
const describedBodies = Effect.gen(function* () {
  const { components, paths: described } = jsonOf<Document>(yield* wire("GET", "/openapi.json"))
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  const checks = new Map<string, ReadonlyMap<number, ValidateFunction>>()
  return (operation: string, method: string): ReadonlyMap<number, ValidateFunction> => {
    const known = checks.get(operation)
    if (known !== undefined) return known
    const { responses } = described[paths.get(operation)!]![method.toLowerCase()]!
    const made = new Map(
      Object.entries(responses).flatMap(([status, { content = {} }]) =>
        Object.values(content).map(({ schema }) => [Number(status), ajv.compile({ ...schema, components })] as const)
      )
    )
    checks.set(operation, made)
    return made
  }
})

const told = ({ body, headers, method, path }: FuzzRequest, { status, text }: WireAnswer): string =>
  `${method} ${path.slice(0, 300)} ${JSON.stringify(headers)}\n${Buffer.from(body ?? "")
    .toString()
    .slice(0, 300)}\n${status} ${text.slice(0, 500)}`

/** No request is so odd that the service itself may fail, or answer where it leads to. */
const checkAnswer = (
  which: string,
  request: FuzzRequest,
  answer: WireAnswer,
  bodies: ReadonlyMap<number, ValidateFunction>
) => {
  const { headers, status, text } = answer
  const where = `${which}\n${told(request, answer)}`
  assert.isFalse(status >= 500 || (status >= 300 && status < 400), where)
  const check = bodies.get(status)
  assert.isTrue(check !== undefined || frameworkStatuses.includes(status), `an undeclared status: ${where}`)
  if (status >= 400) assertProblem(answer, status, jsonOf<ProblemBody>(answer).code)
  else assert.strictEqual(headers["content-type"], "application/json", where)
  if (check !== undefined && !check(JSON.parse(text))) {
    assert.fail(`the body is not as described: ${JSON.stringify(check.errors)}\n${where}`)
  }
  const table = /^\/v1\/([^/?]*)/.exec(request.path)?.[1] ?? "a"
  const isOdd = !request.path.startsWith("/v1/_") && !/^[A-Za-z][\w-]{0,63}$/.test(table.replaceAll("%63", "c"))
  if (isOdd) assert.isAtLeast(status, 400, `an odd name got an answer: ${where}`)
}

/** Sends the random requests of a seed and checks each answer; `FUZZ_SEED` plays the ones that a failure named. */
export const fuzz = Effect.fnUntraced(function* (requests: number, ownSeed: number) {
  const seed = yield* Config.withDefault(Config.Int("FUZZ_SEED"), ownSeed)
  const random = randomFrom(seed)
  const checks = yield* describedBodies
  const { apiKey: key } = yield* newAccount
  const made = jsonOf<{ id: string; api_key: string }>(
    yield* wire("POST", "/v1/_keys", { key, body: '{"name":"revoked"}' })
  )
  yield* wire("DELETE", `/v1/_keys/${made.id}`, { key })
  const ids: Array<string> = []
  for (let n = 1; n < 4; n++) {
    const added = yield* wire("POST", "/v1/notes", { key, body: `{"n":${n},"kind":"a"}` })
    ids.push(jsonOf<{ id: string }>(added).id)
  }
  const statuses = new Map<number, number>()
  for (let n = 0; n < requests; n++) {
    const request = fuzzRequest(random, { key, revoked: made.api_key, ids })
    const { body, headers, method, path } = request
    const answer = yield* wire(method, path, { body, headers }).pipe(within(5000))
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
    checkAnswer(`FUZZ_SEED=${seed}, request ${n}`, request, answer, checks(request.operation, method))
  }
  const shown = [...statuses].toSorted(([a], [b]) => a - b).map(([status, count]) => `${count} × ${status}`)
  yield* Effect.sync(() => process.stdout.write(`FUZZ_SEED ${seed}: ${shown.join(", ")}\n`))
  return statuses
})
