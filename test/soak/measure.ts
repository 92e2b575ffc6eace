import { readdirSync, readFileSync } from 'node:fs'
import { descendants } from '../e2e/process-tree.ts'

/** Resource use of a process at a moment. */
export interface Sample {
  readonly minute: number
  readonly rssMb: number
  readonly descriptors: number
  readonly threads: number
  /** Server processes, zombies included. */
  readonly children: number
}

export function sample(pid: number, minute: number): Sample {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const number = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1])
  return {
    minute,
    rssMb: number('VmRSS') / 1_024,
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
    threads: number('Threads'),
    children: descendants(pid).length
  }
}

/** Returns the lowest sample of each interval: memory left after garbage collection. */
function floors(samples: readonly Sample[], stretchMinutes: number): Sample[] {
  const lowest = new Map<number, Sample>()
  for (const each of samples) {
    const stretch = Math.floor(each.minute / stretchMinutes)
    const known = lowest.get(stretch)
    if (!known || each.rssMb < known.rssMb) lowest.set(stretch, each)
  }
  return [...lowest.values()]
}

const mean = (numbers: readonly number[]) => numbers.reduce((sum, each) => sum + each, 0) / numbers.length

/** Returns the growth of resident memory in MB per minute, by least squares over the floors of each interval. */
export function slope(samples: readonly Sample[], stretchMinutes = 0.25): number {
  const points = floors(samples, stretchMinutes)
  const x = mean(points.map(({ minute }) => minute))
  const y = mean(points.map(({ rssMb }) => rssMb))
  const spread = points.reduce((sum, { minute }) => sum + (minute - x) ** 2, 0)
  return spread === 0 ? 0 : points.reduce((sum, { minute, rssMb }) => sum + (minute - x) * (rssMb - y), 0) / spread
}
