const kib = 1024

/** Bytes in the largest unit that says them exactly: `64 KB`, `25 MB`, `1,500 bytes`. */
export const sizeText = (bytes: number): string =>
  bytes % (kib * kib) === 0
    ? `${numberText(bytes / kib / kib)} MB`
    : bytes % kib === 0
      ? `${numberText(bytes / kib)} KB`
      : `${numberText(bytes)} bytes`

/** A whole number with commas. */
export const numberText = (value: number): string => value.toLocaleString("en-US")

/** So many of something: `1 day`, `30 days`. */
export const plural = (count: number, noun: string): string => `${numberText(count)} ${noun}${count === 1 ? "" : "s"}`
