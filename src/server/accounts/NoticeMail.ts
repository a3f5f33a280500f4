import type { Mail } from "../mail/Mailer.ts"

/** A name that others chose, as plain words: mail programs make links of what looks like an address. */
const plainName = (name: string): string => {
  const words = name
    .replaceAll(/[^\p{L}\p{N} ,()_+-]+/gu, " ")
    .replaceAll(/ +/g, " ")
    .trim()
  return words === "" ? "without a name" : `named "${[...words].slice(0, 80).join("")}"`
}

/** What there may be more of than is mailed one by one. */
export type Noticed = "key" | "app"

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

const more: Readonly<Record<Noticed, (baseUrl: string) => readonly [subject: string, happened: string, look: string]>> =
  {
    key: (baseUrl) => [
      "More API keys for your Agent Memory",
      "API keys are made",
      `curl ${baseUrl}/v1/_keys -H "Authorization: Bearer $KEY"`
    ],
    app: (baseUrl) => ["More apps connected to your Agent Memory", "Apps are connected", `${baseUrl}/connections`]
  }

/** Tells that there is more than is mailed one by one, and that some of what comes will not be. */
export const moreMail = (input: { readonly to: string; readonly baseUrl: string; readonly what: Noticed }): Mail => {
  const [subject, happened, look] = more[input.what](input.baseUrl)
  return {
    to: input.to,
    subject,
    text: textOf(
      `${happened} for your account at ${hostOf(input.baseUrl)} faster than each is mailed. For an hour, you are not told of every one.`,
      "If this is not you or one of your programs, look now and once more in an hour at all that there are, and end those that you do not know:",
      look
    )
  }
}
