/** A value made as long as there is room: what a sender who means harm puts in the place of a good one. */
export type Shape = (bytes: number) => string

const repeated = (open: string, part: string, close: string): Shape => {
  return (bytes) =>
    open + part.repeat(Math.max(0, Math.floor((bytes - open.length - close.length) / part.length))) + close
}

/** An array without its last comma. */
export const listOf = (item: string): Shape => {
  const fill = repeated("[", `${item},`, "")
  return (bytes) => `${fill(bytes - 1).replace(/,$/, "")}]`
}

/** An object of as many members as there is room for, at most so many. */
export const namedBy =
  (member: (index: number) => string, most = Number.POSITIVE_INFINITY): Shape =>
  (bytes) => {
    const parts: Array<string> = []
    for (let length = 2; length < bytes - 16 && parts.length < most; length += parts.at(-1)!.length + 1) {
      parts.push(member(parts.length))
    }
    return `{${parts.join()}}`
  }

/** An object of as many members as there is room for. */
export const manyNames = namedBy((index) => `"n${index}":0`)

/** JSON values, and what begins as one. */
export const jsonShapes: Readonly<Record<string, Shape>> = {
  "a long list": listOf("0"),
  "a list of objects": listOf('{"a":0}'),
  "a list of names": listOf('"n"'),
  "many names": manyNames,
  "deep values": listOf("[".repeat(90) + "]".repeat(90)),
  "an endless depth": repeated("", "[", ""),
  "a huge number": repeated("1", "0", ""),
  "many large numbers": listOf(`${"9".repeat(500)}e${"9".repeat(20)}`),
  escapes: repeated('"', "\\u0000", '"'),
  "a long text": repeated('"', "x", '"')
}

/** Forms, and the queries of addresses; `name` is a parameter that is known. */
export const formShapes: Readonly<Record<string, (name: string) => Shape>> = {
  "many parameters": (name) => repeated(`${name}=1`, "&a=", ""),
  "one parameter again and again": (name) => repeated(`${name}=`, `&${name}=`, ""),
  "empty parameters": (name) => repeated(`${name}=1`, "&", ""),
  escapes: (name) => repeated(`${name}=`, "%00", ""),
  "a list": (name) => repeated(`${name}=[`, "0,", ""),
  "an object": (name) => repeated(`${name}=%7B`, "%22a%22:0,", ""),
  depth: (name) => repeated(`${name}=`, "[", ""),
  "blanks, bars and commas": (name) => repeated(`${name}=`, "+|,", ""),
  "a long text": (name) => repeated(`${name}=`, "x", "")
}

const mark = "the worst comes here"

/** A sample in which a value takes the place of a good one. */
export interface Place {
  readonly place: string
  readonly fill: (value: string) => string
}

/** A JSON text with each of its values replaced, down to the third level, and with one unknown member more. */
export const placesOf = (sample: string): ReadonlyArray<Place> => {
  const root: unknown = JSON.parse(sample)
  const places: Array<Place> = []
  const add = (place: string, value: unknown) => {
    const [before = "", after = ""] = JSON.stringify(value).split(JSON.stringify(mark))
    places.push({ place, fill: (worst) => before + worst + after })
  }
  const visit = (value: unknown, path: ReadonlyArray<string>, rebuild: (value: unknown) => unknown) => {
    add(`/${path.join("/")}`, rebuild(mark))
    if (typeof value !== "object" || value === null || path.length === 3) return
    for (const [name, inner] of Object.entries(value)) {
      const copy = (changed: unknown) =>
        rebuild(Array.isArray(value) ? value.with(Number(name), changed) : { ...value, [name]: changed })
      visit(inner, [...path, name], copy)
    }
  }
  visit(root, [], (value) => value)
  if (typeof root === "object" && !Array.isArray(root)) add("/unknown", { ...root, unknown: mark })
  return places
}
