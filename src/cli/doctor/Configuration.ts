import { isLoopbackHost, type ConfigProblem, type Settings } from "../../server/Config.ts"
import { failed, ok, warning, type Finding } from "./Finding.ts"

const check = "configuration"

/** The variables that cannot be used. */
export const unusable = ({ issues }: ConfigProblem): ReadonlyArray<Finding> =>
  issues.map(({ expected, value, variable }) =>
    failed(check, `${variable} is ${value}`, `Set ${variable} to ${expected}.`)
  )

/** What the settings mean together, where that is seldom meant. */
export const configuration = (settings: Settings["Service"]): ReadonlyArray<Finding> => {
  const { baseUrl, host, isBaseUrlAssumed, loopback, port, trustedProxies } = settings
  const findings: Array<Finding> = []
  if (isBaseUrlAssumed && !isLoopbackHost(host)) {
    findings.push(
      warning(
        check,
        `HOST is ${host}, so other machines can reach the service, but its links lead to ${baseUrl}`,
        "Set BASE_URL to the service's public address, or HOST to 127.0.0.1."
      )
    )
  }
  if (!loopback && baseUrl.startsWith("http:")) {
    findings.push(
      warning(
        check,
        `BASE_URL is ${baseUrl}, so keys and codes travel readable`,
        "Put a proxy that speaks TLS in front, and set BASE_URL to the https address."
      )
    )
  }
  if (!loopback && isLoopbackHost(host) && trustedProxies.length === 0) {
    findings.push(
      warning(
        check,
        "TRUSTED_PROXIES is unset, so everybody behind the proxy of BASE_URL counts as one client",
        "Set TRUSTED_PROXIES to the proxy's address, for example 127.0.0.1."
      )
    )
  }
  return findings.length > 0 ? findings : [ok(check, `BASE_URL is ${baseUrl}, listening on ${host} port ${port}`)]
}
