/** The nonce with which the page's Content-Security-Policy allows style elements that scripts make. */
export const styleNonce = (): string => document.querySelector<HTMLScriptElement>("script[nonce]")?.nonce ?? ""
