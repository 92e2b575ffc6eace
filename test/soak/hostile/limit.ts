import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Memory limit of the Helm chart. */
export const LIMIT_MB = 1_024

/** A place where the kernel holds processes to their memory. */
export interface Limited {
  /** Command in front of a process's own that moves it there. */
  readonly launcher: readonly string[]
  /** The most memory that was ever charged, files in the page cache included. */
  peakMb(): number | undefined
  remove(): void
}

/** Of both versions of control groups: where they lie, and the files that hold the limit and the peak. */
const versions = [
  ['/sys/fs/cgroup', 'memory.max', 'memory.peak'],
  ['/sys/fs/cgroup/memory', 'memory.limit_in_bytes', 'memory.max_usage_in_bytes']
] as const

/** A control group with the limit; undefined where this user cannot make one: then resident memory is only watched. */
export function createLimit(name: string): Limited | undefined {
  for (const [root, limitFile, peakFile] of versions) {
    const folder = join(root, `towpath-soak-${process.pid}-${name}`)
    try {
      mkdirSync(folder)
      if (!existsSync(join(folder, limitFile))) {
        rmdirSync(folder)
        continue
      }
      writeFileSync(join(folder, limitFile), `${LIMIT_MB * 1_048_576}`)
      const launcher = ['/bin/sh', '-c', `echo $$ > ${join(folder, 'cgroup.procs')}; exec "$0" "$@"`]
      const peak = join(folder, peakFile)
      return {
        launcher,
        peakMb: () => (existsSync(peak) ? Number(readFileSync(peak, 'utf8')) / 1_048_576 : undefined),
        remove: () => rmdirSync(folder)
      }
    } catch {
      continue
    }
  }
  return undefined
}
