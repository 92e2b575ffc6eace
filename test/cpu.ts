/** What `work` costs of the processor (milliseconds): on a busy machine the time that it takes says nothing. */
export async function cpuMs(work: () => unknown): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}
