import { timeText } from "../Row.ts"

const spelling = /^(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d))?$/

/**
 * The instant of an RFC 3339 time in any offset, or of a date's midnight in UTC, in milliseconds since 1970 UTC; undefined
 * for any other text. Finer fractions lie half a millisecond behind: all that whole milliseconds are compared with.
 */
export const instantOf = (text: string): number | undefined => {
  const parts = spelling.exec(text)
  if (parts === null) return undefined
  const [, year, month, day, hour = "00", minute = "00", second = "00", fraction = "", zone = "Z"] = parts
  const whole = Date.parse(
    `${year}-${month}-${day}T${hour}:${minute}:${second}.${fraction.slice(0, 3).padEnd(3, "0")}Z`
  )
  // A day that a month does not have is another day to the engine.
  if (Number.isNaN(whole) || timeText(whole).slice(8, 10) !== day) return undefined
  const rest = /[1-9]/.test(fraction.slice(3)) ? 0.5 : 0
  if (zone === "Z" || zone === "z") return whole + rest
  const [hours, minutes] = [Number(zone.slice(1, 3)), Number(zone.slice(4))]
  if (hours > 23 || minutes > 59) return undefined
  return whole + rest - (zone[0] === "-" ? -1 : 1) * (hours * 60 + minutes) * 60_000
}
