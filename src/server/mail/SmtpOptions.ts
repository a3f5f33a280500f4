import { isLoopbackHost } from "../Config.ts"

/**
 * How the server of an `SMTP_URL` is spoken to. Where `smtp:` leads to another machine the connection has to be encrypted
 * (STARTTLS, RFC 3207) before anything is said: whoever is between could leave the server's offer out, and read the user,
 * the password and every sign-in link. `requireTLS=false` and `ignoreTLS=true` in the address say otherwise.
 */
export const smtpOptions = (address: string) => {
  const { hostname, protocol, searchParams } = new URL(address)
  const isWaived = searchParams.get("requireTLS") === "false" || searchParams.get("ignoreTLS") === "true"
  const isAsked = searchParams.get("requireTLS") === "true"
  return {
    url: address,
    requireTLS: protocol === "smtp:" && (isAsked || (!isWaived && !isLoopbackHost(hostname))),
    connectionTimeout: 10_000,
    greetingTimeout: 10_000,
    disableFileAccess: true,
    disableUrlAccess: true
  }
}
