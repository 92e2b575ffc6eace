import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { until } from '../../until.ts'

/** Processes of stdio servers outlive the gateway for a moment. */
const GONE_MS = 30_000

/** Memory limit of the Helm chart. */
export const LIMIT_MB = 1_024

/** A control group in which the kernel enforces a memory limit. */
export interface MemoryLimit {
  /** Command prefix that moves a process into the group. */
  readonly launcher: readonly string[]
  /** Returns the highest memory charge so far, page cache included. */
  peakMb(): number | undefined
  /** Removes the group once the last process in it has ended. */
  remove(): Promise<void>
}

/** Both versions of control groups: their folder, and the files with the limit and the peak. */
const versions = [
  ['/sys/fs/cgroup', 'memory.max', 'memory.peak'],
  ['/sys/fs/cgroup/memory', 'memory.limit_in_bytes', 'memory.max_usage_in_bytes']
] as const

/**
 * Creates a control group with the limit; undefined without permission for one: then resident memory is only observed.
 */
export function createLimit(name: string): MemoryLimit | undefined {
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
        async remove() {
          await until('the control group to be empty', () => rmdirSync(folder) ?? true, GONE_MS)
        }
      }
    } catch {
      continue
    }
  }
  return undefined
}
