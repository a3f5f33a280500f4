import type { Mail } from "../mail/Mailer.ts"

/** A name that others chose, as plain words: mail programs make links of what looks like an address. */
const plainName = (name: string): string => {
  const words = name
    .replaceAll(/[^\p{L}\p{N} ,()_+-]+/gu, " ")
    .replaceAll(/ +/g, " ")
    .trim()
  return words === "" ? "without a name" : `named "${[...words].slice(0, 80).join("")}"`
}

const hostOf = (baseUrl: string): string => new URL(baseUrl).host

const textOf = (...paragraphs: ReadonlyArray<string>): string => `${paragraphs.join("\n\n")}\n`

/** Tells that an API key was made with another key. */
export const keyMail = (input: {
  readonly to: string
  readonly baseUrl: string
  readonly id: string
  readonly name: string
}): Mail => ({
  to: input.to,
  subject: "A new API key for your Agent Memory",
  text: textOf(
    `An API key ${plainName(input.name)} was made for your account at ${hostOf(input.baseUrl)}. It opens the whole account.`,
    "If this was not you or one of your programs, revoke it with another key:",
    `curl -X DELETE ${input.baseUrl}/v1/_keys/${input.id} -H "Authorization: Bearer $KEY"`,
    "Then revoke the key that it was made with as well."
  )
})

/** Tells that a person let an app in. */
export const appMail = (input: { readonly to: string; readonly baseUrl: string; readonly name: string }): Mail => ({
  to: input.to,
  subject: "An app was connected to your Agent Memory",
  text: textOf(
    `An app ${plainName(input.name)} was connected to your account at ${hostOf(input.baseUrl)}. The name is the app's own.`,
    "If this was not you, disconnect it here, and sign out of all browsers:",
    `${input.baseUrl}/connections`
  )
})
