/** Estimates of what values take of V8's heap on 64 bits. */

const word = 8

/** Of an object with so many fields. */
export const objectBytes = (fields: number): number => (3 + fields) * word

/** Of an array that grew to so many items, which has room for a few from its first on. */
export const arrayBytes = (items: number): number => 6 * word + Math.max(items, 17) * word

/** Of a map, whose capacity is a power of two. */
export const mapBytes = (entries: number): number => {
  const capacity = 2 ** Math.max(2, Math.ceil(Math.log2(Math.max(entries, 1))))
  return 7 * word + capacity * 3.5 * word
}

/** Of a field that holds a time: numbers of more than 31 bits are objects of their own. */
export const numberBytes = 2 * word

// V8 knows without a scan that this finds nothing in text of one byte per character.
const wide = /[^\0-\xff]/

/** Of a text that is not a slice: one byte per character, or two when any character needs it. */
export const textBytes = (text: string): number =>
  2 * word + Math.ceil((text.length * (wide.test(text) ? 2 : 1)) / word) * word

/** Shorter texts are never slices, nor chains of pieces. */
const shortest = 13

/** A flat copy of a well-formed text, which keeps no request or larger text in memory. */
export const ownText = <Text extends string>(text: Text): Text =>
  text.length < shortest ? text : (Buffer.from(text).toString() as Text)
