/** Whether a text is what some clients send where they have no key. As a key, it would make one write of all of theirs. */
export const isWordForNone = (key: string): boolean => /^\s*(?:null|undefined|none|nan)?\s*$/i.test(key)
