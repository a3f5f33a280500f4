/** The time of the service, by a clock that does not jump when the device's is set. */
export class ServerClock {
  readonly #offset: number

  constructor(serverTime: string) {
    this.#offset = Date.parse(serverTime) - performance.now()
  }

  now(): number {
    return this.#offset + performance.now()
  }
}

const hourAndMinute = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" })
const dayAndTime = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit"
})

/** `14:32`, in the reader's time zone. */
export const timeOfDay = (instant: string): string => hourAndMinute.format(new Date(instant))

/** `28 Nov, 14:32`, in the reader's time zone. */
export const dateAndTime = (instant: string): string => dayAndTime.format(new Date(instant))

/** `23 min`, or `40 s` in the last minute. */
export const remaining = (milliseconds: number): string => {
  const seconds = Math.max(0, Math.ceil(milliseconds / 1000))
  return seconds > 60 ? `${Math.ceil(seconds / 60)} min` : `${seconds} s`
}
