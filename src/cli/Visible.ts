// All but tab and line feed, and what turns the direction of the text around it.
const unsafe = /(?![\t\n])[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu

/**
 * A text that came from elsewhere as a terminal may show it: control characters, which could move the cursor, hide lines
 * or set the window's title, become their escapes as JSON has them. Within strings of JSON they mean the same as before.
 */
export const visible = (text: string): string =>
  text.replace(unsafe, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`)
