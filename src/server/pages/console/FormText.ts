import { withLineFeeds } from "../../../domain/LineEndings.ts"

/** What is sent back for a text: browsers send every line ending as CR LF, and HTML has neither NUL nor half a surrogate. */
export const asSent = (text: string): string => withLineFeeds(text.toWellFormed().replaceAll("\0", "\ufffd"))

/** Whether a text comes back from a form as it is, but for its line endings. */
export const survivesForms = (text: string): boolean => withLineFeeds(text) === asSent(text)
