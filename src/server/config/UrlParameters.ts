import type { Fault } from "./Setting.ts"

/** A part of a password with an unescaped question mark is no name, and must not be shown. */
const isName = (text: string): boolean => /^[a-z_.]{1,40}$/i.test(text)

/**
 * Refuses an address that has a parameter twice, one of another name, or one whose value is none of those that are
 * accepted. A parameter that was passed over would leave in force what its writer meant to change. `accepted` has for
 * each name its values, or undefined for any.
 */
export const parametersFault = (
  { searchParams }: URL,
  accepted: Readonly<Record<string, ReadonlyArray<string> | undefined>>
): Fault | undefined => {
  const names = Object.keys(accepted)
  const expected =
    names.length === 0 ? "an address without parameters" : `an address with only ${names.join(", ")} as parameters`
  const seen = new Set<string>()
  for (const [name, value] of searchParams) {
    if (!names.includes(name)) {
      const told = isName(name) ? `the parameter ${name}` : "a parameter (not shown)"
      return { value: `given ${told}, which is not known`, expected }
    }
    if (seen.has(name)) return { value: `given ${name} twice`, expected: `an address with ${name} once` }
    seen.add(name)
    const values = accepted[name]
    if (values !== undefined && !values.includes(value)) {
      return {
        value: `given another ${name} than there is`,
        expected: `an address with one of ${values.map((value) => `${name}=${value}`).join(", ")}`
      }
    }
  }
  return undefined
}
