import { createHash, timingSafeEqual } from "node:crypto"

/** A challenge of the method S256: 32 bytes in base64url (RFC 7636 section 4.2). */
export const isChallenge = (text: string): boolean => /^[A-Za-z0-9_-]{43}$/.test(text)

/** Whether the verifier is the one that the challenge was made of. */
export const isChallengeOf = (challenge: string, verifier: string): boolean => {
  if (!/^[A-Za-z0-9._~-]{43,128}$/.test(verifier)) return false
  const made = createHash("sha256").update(verifier).digest()
  const given = Buffer.from(challenge, "base64url")
  return given.length === made.length && timingSafeEqual(given, made)
}
