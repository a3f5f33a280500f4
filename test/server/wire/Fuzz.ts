import { pick, randomString, spellJson, spellString, type Random } from "../../domain/json/RandomJson.ts"
import { operations, type Sample } from "./Operations.ts"

/** A request that is near to a right one, or far from it. */
export interface FuzzRequest {
  /** The operation that the address is of, by its name in the contract. */
  readonly operation: string
  readonly method: string
  readonly path: string
  readonly body: Uint8Array | undefined
  readonly headers: Record<string, string>
}

/** What the account has that requests name. */
export interface Known {
  readonly key: string
  readonly revoked: string
  readonly ids: ReadonlyArray<string>
}

/** Spellings of a path segment that proxies and routers read in different ways. */
const oddSegments = [
  "%2F",
  "a%2Fb",
  "a%252Fb",
  "%2e%2e",
  "..",
  "%00",
  "a%00",
  "a+b",
  "a%20b",
  "%E0%A4%A",
  "%",
  "%zz",
  "caf%C3%A9",
  "%63ount",
  "notes%2Fcount",
  "notes;x=1",
  "_table",
  "%5Ftable",
  "__proto__",
  "a".repeat(65),
  "a".repeat(3000),
  "%ED%A0%80",
  "%F0%9F%98%80"
]

const oddValues: ReadonlyArray<string> = [
  "null",
  "true",
  "0",
  "-1",
  "1e400",
  "1.5",
  "12345678901234567890",
  '""',
  '"\\u0000"',
  '"\\ud800"',
  '"__proto__"',
  "[]",
  "{}",
  "[{}]",
  '{"id":"x"}',
  '{"__proto__":1}',
  "[".repeat(101) + "]".repeat(101),
  `"${"x".repeat(70_000)}"`
]

type Mutation = (random: Random, text: string) => string | Uint8Array

/** Puts another value, or none, in the place of a member of an object's text. */
const changeMember: Mutation = (random, text) => {
  const members = [...text.matchAll(/"\w+":(?:"[^"]*"|\d+|\[[^\]]*\]|\{[^{}]*\})/g)]
  if (members.length === 0) return pick(random, oddValues)
  const { 0: found, index } = pick(random, members)
  const name = found.slice(0, found.indexOf(":"))
  const other = pick(random, [`${name}:${pick(random, oddValues)}`, `${name}:${spellJson(random, 3).text}`, '"odd":1'])
  return text.slice(0, index) + other + text.slice(index + found.length)
}

const mutations: ReadonlyArray<Mutation> = [
  changeMember,
  changeMember,
  changeMember,
  (random, text) =>
    text.replace(/\}\s*$/, `,${spellString(random, randomString(random))}:${spellJson(random, 2).text}}`),
  (random, text) => text.slice(0, random(text.length + 1)),
  (random, text) => text + pick(random, ["x", "{}", "\u0000", ",", "]"]),
  (random) => pick(random, oddValues),
  (random) => spellJson(random, 5).text,
  (random, text) => {
    const bytes = Buffer.from(text)
    if (bytes.length > 0) bytes[random(bytes.length)] = 128 + random(128)
    return bytes
  },
  () => "",
  (_, text) => `\ufeff${text}`,
  (_, text) => text.replace(/^\{("\w+":)/, "{$1 1,$1")
]

const contentTypes = [
  "application/json; charset=utf-8",
  "application/json; charset=iso-8859-1",
  "text/plain",
  "application/x-www-form-urlencoded",
  "application/json, application/json",
  ""
]

const oddHeaders = (random: Random): Record<string, string> => ({
  ...(random(4) === 0 && {
    "idempotency-key": pick(random, ["k", '"k"', "", "é", "x".repeat(256), "a b", `k${random(5)}`, "\t"])
  }),
  ...(random(12) === 0 && { accept: pick(random, ["text/html", "*/*", "application/xml;q=0.9"]) }),
  ...(random(12) === 0 && { "content-encoding": pick(random, ["gzip", "identity", "br"]) }),
  ...(random(20) === 0 && { "x-forwarded-host": "evil.test" }),
  ...(random(20) === 0 && { expect: "200-maybe" }),
  ...(random(12) === 0 && { range: "bytes=0-1", "if-none-match": "*", "if-modified-since": "x" })
})

const authorization = (random: Random, { key, revoked }: Known): Record<string, string> => {
  const kind = random(20)
  if (kind === 0) return {}
  if (kind > 3) return { authorization: `Bearer ${key}` }
  return {
    authorization: pick(random, [
      `Bearer ${revoked}`,
      `Bearer ${key.slice(0, -1)}`,
      `Bearer ${key}0`,
      `Basic ${key}`,
      "Bearer",
      `Bearer ${key}, Bearer ${key}`
    ])
  }
}

const queryOf = (random: Random): string => {
  if (random(2) === 0) return ""
  const value = () =>
    pick(random, [
      encodeURIComponent(pick(random, oddValues).slice(0, 500)),
      encodeURIComponent(spellJson(random, 2).text),
      encodeURIComponent(`{"n":${pick(random, oddValues.slice(0, 10))}}`),
      "1",
      "-n",
      "%",
      "%ff",
      ""
    ])
  const name = () => pick(random, ["filter", "sort", "limit", "id", "dry_run", "fliter", "__proto__", ""])
  return `?${Array.from({ length: 1 + random(3) }, () => `${name()}=${value()}`).join("&")}`
}

/** The next request: an operation's sample of `Operations.ts`, changed in none to several ways. */
export const fuzzRequest = (random: Random, known: Known): FuzzRequest => {
  const [operation, { refusals, success }] = pick(random, Object.entries(operations))
  const [method, path, body]: Sample = random(3) === 0 ? pick(random, Object.values(refusals)) : success[1]
  const id = random(4) === 0 ? randomString(random) : pick(random, known.ids)
  const filled = (text: string, spell: (value: string) => string) =>
    text.replaceAll("$id", spell(id)).replaceAll("$token", "unknown")
  let address = filled(path, (value) => encodeURIComponent(value.toWellFormed()))
  if (random(6) === 0) address = address.replace("/notes", `/${pick(random, oddSegments)}`)
  if (random(6) === 0) address = address.replace("/unknown", `/${pick(random, oddSegments)}`)
  if (random(4) === 0) address = address.split("?", 1)[0]! + queryOf(random)
  let text: string | Uint8Array | undefined =
    body === undefined ? undefined : filled(body, (value) => spellString(random, value).slice(1, -1))
  for (let n = random(3); n > 0; n--) {
    if (typeof text === "string") text = pick(random, mutations)(random, text)
  }
  if (text === undefined && random(10) === 0 && method !== "GET") text = "{}"
  return {
    operation,
    method,
    path: address,
    body: typeof text === "string" ? Buffer.from(text) : text,
    headers: {
      ...authorization(random, known),
      ...oddHeaders(random),
      ...(text !== undefined && random(15) === 0 && { "content-type": pick(random, contentTypes) })
    }
  }
}
