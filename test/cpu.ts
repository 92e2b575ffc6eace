/** Returns the CPU time of `work` in milliseconds: on a busy machine elapsed time is meaningless. */
export async function cpuMs(work: () => unknown): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}
