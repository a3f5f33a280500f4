/** What a number measures, where it is not a plain count. */
export type Measure = "bytes" | "minutes" | "hours" | "days"

export const isMeasure = (unit: string): unit is Measure => ["bytes", "minutes", "hours", "days"].includes(unit)

const kib = 1024

/** A whole number with commas. */
export const numberText = (value: number): string => value.toLocaleString("en-US")

/** A count with its noun: `1 day`, `30 days`. */
export const plural = (count: number, noun: string): string => `${numberText(count)} ${noun}${count === 1 ? "" : "s"}`

/** Bytes in the largest unit that is exact, in powers of 1,024: `64 KB`, `25 MB`, `1,500 bytes`. */
export const sizeText = (bytes: number): string =>
  bytes % (kib * kib) === 0
    ? `${numberText(bytes / kib / kib)} MB`
    : bytes % kib === 0
      ? `${numberText(bytes / kib)} KB`
      : plural(bytes, "byte")

/** A value as people read it: `64 KB`, `30 days`. */
export const amountText = (value: number, measure: Measure): string =>
  measure === "bytes" ? sizeText(value) : plural(value, measure.slice(0, -1))
