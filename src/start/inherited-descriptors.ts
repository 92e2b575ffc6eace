import { closeSync, readdirSync, readFileSync } from 'node:fs'

const DESCRIPTORS = '/proc/self/fdinfo'
/** Linux `O_CLOEXEC`, in octal as in `/proc`. */
const CLOSE_ON_EXEC = 0o2000000

const flagsOf = (descriptor: number): number => {
  const text = readFileSync(`${DESCRIPTORS}/${descriptor}`, 'utf8')
  return Number.parseInt(/^flags:\s*(\d+)/m.exec(text)?.[1] ?? String(CLOSE_ON_EXEC), 8)
}

/**
 * Closes inherited descriptors other than the standard streams, which child processes would inherit in turn. Node sets
 * close-on-exec on every descriptor it opens, so one without the flag came from outside; the IPC channel to a Node
 * parent stays open. Call after reading settings: a `…_FILE` variable may name such a descriptor. Linux only; elsewhere
 * a no-op.
 */
export function closeInheritedDescriptors(): void {
  const channel = (process.channel as { fd?: number } | undefined)?.fd
  let names: string[] = []
  try {
    names = readdirSync(DESCRIPTORS)
  } catch {
    return
  }
  for (const descriptor of names.map(Number)) {
    if (descriptor <= 2 || descriptor === channel) continue
    try {
      if ((flagsOf(descriptor) & CLOSE_ON_EXEC) === 0) closeSync(descriptor)
    } catch {
      // the descriptor that listed the folder is already closed
    }
  }
}
