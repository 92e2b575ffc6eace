import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Memory limit of the Helm chart. */
export const LIMIT_MB = 1_024

/** A place where the kernel holds a process to its memory. */
export interface Limited {
  /** Command in front of the process's own that moves it there. */
  readonly launcher: readonly string[]
  remove(): void
}

/** Of both versions of control groups: where they lie, and the file that holds the limit. */
const versions = [
  ['/sys/fs/cgroup', 'memory.max'],
  ['/sys/fs/cgroup/memory', 'memory.limit_in_bytes']
] as const

/** A control group with the limit; undefined where this user cannot make one: then its resident memory is only watched. */
export function createLimit(): Limited | undefined {
  for (const [root, file] of versions) {
    const folder = join(root, `towpath-soak-${process.pid}`)
    try {
      mkdirSync(folder)
      if (!existsSync(join(folder, file))) {
        rmdirSync(folder)
        continue
      }
      writeFileSync(join(folder, file), `${LIMIT_MB * 1_048_576}`)
      const launcher = ['/bin/sh', '-c', `echo $$ > ${join(folder, 'cgroup.procs')}; exec "$0" "$@"`]
      return { launcher, remove: () => rmdirSync(folder) }
    } catch {
      continue
    }
  }
  return undefined
}
