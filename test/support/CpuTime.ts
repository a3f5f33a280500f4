/**
 * Milliseconds of processor time that this process has used: what is measured with it does not grow when other programs
 * use the machine, as a clock's time does.
 */
export const cpuTime = (): number => {
  const { system, user } = process.cpuUsage()
  return (user + system) / 1000
}
