import { closeSync, readdirSync, readFileSync } from 'node:fs'

const DESCRIPTORS = '/proc/self/fdinfo'
/** O_CLOEXEC of Linux, in octal as `/proc` writes it. */
const CLOSE_ON_EXEC = 0o2000000

const flagsOf = (descriptor: number): number => {
  const text = readFileSync(`${DESCRIPTORS}/${descriptor}`, 'utf8')
  return Number.parseInt(/^flags:\s*(\d+)/m.exec(text)?.[1] ?? String(CLOSE_ON_EXEC), 8)
}

/**
 * Closes what the process inherited beside its standard streams and would pass on to processes that it starts. Node opens
 * nothing without close-on-exec, so a descriptor without it came from outside; a channel to a Node parent stays. Call it
 * after settings have been read: `…_FILE` may name such a descriptor. Linux only; elsewhere it does nothing.
 */
export function closeInherited(): void {
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
      // the one that listed the folder is closed by now
    }
  }
}
