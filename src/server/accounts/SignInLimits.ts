import type { ServiceLimits } from "../Config.ts"
import type { HourlyLimit } from "./SignInThrottle.ts"

/** What asking for a mail spends, of whoever it goes to and of whoever asks. */
export const mailLimits = (
  limits: ServiceLimits,
  { email, ip }: { readonly email: string; readonly ip: string }
): ReadonlyArray<HourlyLimit> => [
  { bucket: `link:email:${email}`, perHour: limits.magicLinksPerEmailPerHour },
  { bucket: `link:ip:${ip}`, perHour: limits.magicLinksPerIpPerHour }
]

/** What trying a link's token or a code spends. */
export const tryLimits = (limits: ServiceLimits, ip: string): ReadonlyArray<HourlyLimit> => [
  { bucket: `verify:ip:${ip}`, perHour: limits.verifiesPerIpPerHour }
]
