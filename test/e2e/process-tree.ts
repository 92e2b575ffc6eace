import { readdirSync, readFileSync } from 'node:fs'

export interface Descendant {
  readonly pid: number
  readonly parent: number
  /** `Z` is a zombie. */
  readonly state: string
  /** Program and arguments; empty for a zombie. */
  readonly command: string
}

function processes(): Descendant[] {
  const found: Descendant[] = []
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
      const [state = '', parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ')
      found.push({ pid: Number(name), parent: Number(parent), state, command })
    } catch {
      // the process ended during the scan
    }
  }
  return found
}

/**
 * Returns true for the compiler of a gateway started from sources, for the watchdog shell that ends the children of a
 * killed gateway, and for the program that starts them.
 */
const isHelper = ({ command }: Descendant) =>
  command.includes('esbuild') || command.includes("trap '' HUP INT QUIT TERM") || command.includes('/launcher-program.')

/** Returns every server process that the gateway with this pid has started, zombies included. */
export function descendants(pid: number): Descendant[] {
  const all = processes()
  const found: Descendant[] = []
  const parents = [pid]
  for (const parent of parents) {
    for (const child of all.filter((candidate) => candidate.parent === parent)) {
      found.push(child)
      parents.push(child.pid)
    }
  }
  return found.filter((process) => !isHelper(process))
}

export const isAlive = (pid: number) => processes().some((one) => one.pid === pid && one.state !== 'Z')

/** Returns living processes whose command line contains this text. */
export const findProcesses = (text: string) =>
  processes().filter(({ command, state }) => state !== 'Z' && command.includes(text))
