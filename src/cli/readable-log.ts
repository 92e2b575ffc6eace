import { escapeText } from '../domain/text.ts'

const levels: Readonly<Record<number, string>> = {
  10: 'TRACE',
  20: 'DEBUG',
  30: 'INFO',
  40: 'WARN',
  50: 'ERROR',
  60: 'FATAL'
}
const MAX_TEXT = 4_000

/** What every line has, and what nobody reads on a terminal. */
interface Line {
  readonly level: number
  readonly time: number
  readonly msg?: string
  readonly pid?: number
  readonly hostname?: string
  readonly err?: { readonly message?: string; readonly stack?: string }
}

const shown = (value: unknown) => escapeText(typeof value === 'string' ? value : JSON.stringify(value), MAX_TEXT)

/** Takes lines of the log: as they are for collectors, readable where a person looks on. */
export const createLogOutput = (stream: { readonly isTTY?: boolean; write(text: string): unknown }) => ({
  write(line: string): void {
    stream.write(stream.isTTY ? readable(line) : line)
  }
})

/** A line of the log for a person at a terminal; nothing that it holds can steer the terminal. */
export function readable(json: string): string {
  let line: Line
  try {
    line = JSON.parse(json) as Line
  } catch {
    return json
  }
  const { level, time, msg = '', pid: _pid, hostname: _hostname, err, ...rest } = line
  const facts = Object.entries(rest).map(([name, value]) => ` ${name}=${shown(value)}`)
  const cause = (err?.stack ?? err?.message ?? '').split('\n').filter((text) => text.trim() !== '')
  const head = `${new Date(time).toISOString().slice(11, 23)} ${(levels[level] ?? String(level)).padEnd(5)} ${shown(msg)}`
  return [`${head}${facts.join('')}`, ...cause.map((text) => `    ${shown(text.trim())}`), ''].join('\n')
}
