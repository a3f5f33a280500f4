import { Effect } from "effect"
import { BoundedService } from "../../support/BoundedService.ts"
import { longestBlock } from "../../support/LongestTurn.ts"
import { bodyOf, request } from "../../support/TestService.ts"
import { newOwner } from "../pages/console/Person.ts"
import { listOf, manyNames, namedBy, type Shape } from "./WorstShapes.ts"

const mib = 1_048_576
/** As long as a body may be. */
const [ofUploads, ofFiles, ofRows] = [8 * mib - 2048, 2 * mib - 2048, 390_000]
const [ofMerges, ofOthers] = [2 * ofRows, 16_000]

const boundary = "b".repeat(60)

/** A form that can hold a file, of one field. */
const upload = (name: string, value: string, more = ""): string =>
  `--${boundary}\r\ncontent-disposition: form-data; name="${name}"${name === "file" ? '; filename="x"' : ""}\r\n\r\n${value}\r\n${more}--${boundary}--\r\n`

const field = (name: string, value: string): string =>
  `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`

const lines = (bytes: number, line: (index: number) => string): string => {
  const made: Array<string> = []
  for (let length = 0; length < bytes - 64; length += made.at(-1)!.length) made.push(line(made.length))
  return made.join("")
}

const deep = listOf("[".repeat(90) + "]".repeat(90))
const names = (from: number): Shape => namedBy((index) => `"n${from + index}":0`)

type Body = () => string

/** The longest bodies of each form of an account's pages, each of what took long somewhere, by its address. */
export const worstForms = Effect.gen(function* () {
  const owner = yield* newOwner
  const { id, updated_at } = yield* owner.add("notes", JSON.stringify({ n: 1, text: "a\r\nb\n".repeat(6000) }))
  const row = `/tables/notes/${id}`
  const wide = yield* owner.add("notes", `{${Array.from({ length: 100 }, (_, n) => `"f${n}":""`).join(",")}}`)
  const wideRow = `/tables/notes/${wide.id}`
  const made = yield* request("POST", "/v1/_row_links", {
    key: owner.apiKey,
    body: JSON.stringify({ table: "notes", id: wide.id })
  })
  const view = new URL(bodyOf<{ viewer_url: string }>(made).viewer_url).pathname
  const proof = `proof=${owner.proof}`
  const guard = `${proof}&updated_at=${updated_at}`
  const forms: ReadonlyArray<readonly [path: string, what: string, body: Body]> = [
    ["/tables", "many parameters", () => `${proof}&${"a=&".repeat(ofRows / 3 - 40)}`],
    ["/tables", "a first row of many names", () => `${proof}&name=t&row=${manyNames(ofRows - 200)}`],
    ["/tables", "a first row of escapes", () => `${proof}&name=t&row={"a":"${"\\u0061".repeat(ofRows / 6 - 40)}"}`],
    [
      "/tables/notes/_add",
      "many empty lines",
      () => `${proof}&${"a&".repeat(ofRows / 2 - 2200)}${lines(4000, (n) => `name_${n}=${n}&value_${n}=&`)}`
    ],
    ["/tables/notes/_add", "many suggestions", () => `${proof}&value_0=x&${lines(ofRows - 200, () => "suggested=&")}`],
    [
      "/tables/notes/_add",
      "many fields",
      () => `${proof}&${lines(ofRows - 200, (n) => `name_${n}=${n}&type_${n}=json&value_${n}=[&`)}`
    ],
    [row, "many fields", () => `${guard}&${lines(ofRows - 200, (n) => `name_${n}=${n}&value_${n}=${n}&`)}`],
    [
      wideRow,
      "a row of many fields",
      () => `proof=${owner.proof}&updated_at=${wide.updated_at}&${"a&".repeat(ofRows / 2 - 100)}`
    ],
    [view, "a link to a row of many fields", () => `updated_at=${wide.updated_at}&${"a&".repeat(ofRows / 2 - 100)}`],
    [row, "a deep value", () => `${guard}&name_2=d&type_2=json&value_2=${deep(ofRows - 300)}`],
    [`${row}/_json`, "many names", () => `${guard}&row=${manyNames(ofRows - 300)}`],
    [`${row}/_json`, "deep values", () => `${guard}&row={"a":${deep(ofRows - 300)}}`],
    [`${row}/_text`, "many lines", () => `${guard}&field=text&text=${"%0D%0Aa".repeat(ofRows / 7 - 60)}`],
    [`${row}/_text`, "other lines", () => `${guard}&field=text&text=${lines(ofRows - 300, (n) => `${n}\n`)}`],
    [`${row}/_text`, "a row of other lines", () => `${guard}&field=text&text=${lines(60_000, (n) => `${n % 10}\n`)}`],
    [
      `${row}/_merge`,
      "two rows of many names",
      () => `${guard}&base=${names(0)(ofMerges - 60_500)}&mine=${names(50_000)(60_000)}`
    ],
    [
      `${row}/_merge`,
      "many choices",
      () => `${guard}&base={}&mine=${names(0)(12_000)}&${"a&".repeat(ofMerges / 2 - 6500)}`
    ],
    [`${row}/_merge`, "more names than a row can have", () => `${guard}&base={}&mine=${names(0)(ofMerges - 300)}`],
    [`${row}/_merge`, "deep values", () => `${guard}&base={}&mine={"a":${deep(ofMerges - 400)}}`],
    [`${row}/_cell`, "a value of many names", () => `${guard}&field=x&type=json&value=${manyNames(ofRows - 300)}`],
    [`${row}/_merge`, "a deep row", () => `${guard}&base={}&mine={"a":${deep(64_000)}}`],
    ["/tables/notes/_selected", "many rows", () => `${proof}&do=delete&${"id=&".repeat(ofOthers / 4 - 40)}`],
    [
      "/tables/notes/_selected",
      "many rows to set",
      () => `${proof}&do=set-now&field=a&type=text&${"id=x&".repeat(ofOthers / 5 - 40)}`
    ],
    ["/tables/notes/_share", "a filter of lists", () => `${proof}&filter=${listOf('{"a":0}')(ofOthers - 200)}`]
  ]
  const files: Readonly<Record<string, Body>> = {
    "JSON of zeros": () => upload("text", listOf("0")(ofFiles)),
    "JSON that is longer than a file can be": () => upload("text", listOf("{}")(ofUploads)),
    "JSON of empty rows": () => upload("file", listOf("{}")(ofFiles)),
    "JSON of empty tables": () => upload("file", `{"tables":${namedBy((n) => `"t${n}":[]`)(ofFiles - 20)}}`),
    "a row of many names": () => upload("file", `[${manyNames(ofFiles)}]`),
    "an endless depth": () => upload("file", "[".repeat(ofFiles)),
    "NDJSON of small rows": () => upload("text", "{}\n".repeat(ofFiles / 3)),
    "NDJSON of rows with a table": () =>
      upload(
        "rows",
        lines(ofFiles, (n) => `{"table":"t${n}","row":{}}\n`)
      ),
    "a CSV of one column": () => upload("text", `a\n${"1\n".repeat(ofFiles / 2 - 2)}`),
    "a CSV of as many rows as there can be": () => upload("text", `a,b,c\n${"1,2,3\n".repeat(99_000)}`),
    "a CSV whose rows repeat a long name": () => upload("text", `${"x".repeat(100_000)},b\n${"1,2\n".repeat(2000)}`),
    "a CSV of many columns": () => upload("file", `a${",".repeat(ofFiles)}`),
    "a CSV of as many columns as there can be": () =>
      upload("file", `${lines(6000, (n) => `${n.toString(36)},`)}\n${`${",".repeat(900)}\n`.repeat(2000)}`),
    "a CSV of quotes": () => upload("text", '"'.repeat(ofFiles)),
    "blank lines": () => upload("text", "\n".repeat(ofFiles)),
    "ends that are almost those of a part": () => upload("file", `\r\n--${boundary.slice(1)}`.repeat(ofUploads / 64)),
    "many fields": () => upload("text", "a", field("a", "").repeat(97)),
    "a field with a long name": () => upload("x".repeat(ofUploads), "a")
  }
  const head = { cookie: owner.cookie, "sec-fetch-site": "same-origin" }
  return [
    ...forms.map(([path, what, body]) => ({
      path,
      what,
      body,
      headers: { ...head, "content-type": "application/x-www-form-urlencoded" }
    })),
    ...Object.entries(files).map(([what, body]) => ({
      path: "/tables/_import",
      what,
      body: () => field("proof", owner.proof) + field("table", "t") + body(),
      headers: { ...head, "content-type": `multipart/form-data; boundary=${boundary}` }
    }))
  ]
})

type Form = Effect.Success<typeof worstForms>[number]

/** Sends forms one after another; which of them kept the service from everything else, or were not answered for people. */
export const sendForms = Effect.fnUntraced(function* (forms: ReadonlyArray<Form>) {
  const service = yield* BoundedService
  const send = Effect.fnUntraced(function* ({ body, headers, path }: Form) {
    const answer = yield* Effect.promise(async () => {
      try {
        const response = await fetch(service.url + path, {
          method: "POST",
          headers,
          body: body(),
          redirect: "manual",
          signal: AbortSignal.timeout(20_000)
        })
        return { status: response.status, text: await response.text() }
      } catch (error) {
        return { status: 0, text: String(error) }
      }
    })
    const { blocked } = yield* service.strain
    return [
      ...(blocked > longestBlock() ? [`blocked ${Math.round(blocked)} ms`] : []),
      ...(answer.text.length > 4 * mib ? [`answers ${answer.text.length} characters`] : []),
      // A body that is not read says nothing of what is made of it.
      ...([200, 303, 400, 404, 409, 413].includes(answer.status)
        ? []
        : [`${answer.status} ${answer.text.slice(0, 2000)}`])
    ]
  })
  const faults: Array<string> = []
  yield* service.strain
  for (const form of forms) {
    // What runs for the first time is compiled.
    const first = yield* send(form)
    const found = first.length === 0 ? first : yield* send(form)
    if (found.length > 0) faults.push(`${form.path.replace(/[\w-]{36}/, ":id")} of ${form.what}: ${found.join(", ")}`)
    if (service.hasEnded()) return [...faults, service.output().slice(-2000)]
  }
  return faults
})
