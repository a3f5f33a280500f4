// C0 but for tab and line feed, DEL, C1, and what turns the direction of the text around it.
const unsafe = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

/**
 * A text that came from elsewhere as a terminal may show it: control characters, which could move the cursor, hide lines
 * or set the window's title, become their escapes as JSON has them. Within strings of JSON they mean the same as before.
 */
export const visible = (text: string): string =>
  text.replace(unsafe, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`)
