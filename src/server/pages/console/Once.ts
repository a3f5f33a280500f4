import { randomUUID } from "node:crypto"
import { html, type Html } from "../../doors/Html.ts"

/**
 * In a form that adds rows: a key by which it is carried out once, also if it is sent again after a lost answer or by a second
 * click. Browsers may not restore it on a reload, as they do with what was typed.
 */
export const onceField = (): Html => html`<input type="hidden" name="key" value="${randomUUID()}" autocomplete="off">`

/** The idempotency key of a form with {@link onceField}. */
export const keyOf = (sent: string | null | undefined): string | undefined => /^[0-9a-f-]{36}$/.exec(sent ?? "")?.[0]

/** What is said where a form was sent again with something else in it, or after its rows were removed for good. */
export const sentBefore = "This form was sent before, and its rows were added. Look at the table before you add more."
