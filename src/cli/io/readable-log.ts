import { escapeText } from '../../domain/text/text.ts'

const levels: Readonly<Record<number, string>> = {
  10: 'TRACE',
  20: 'DEBUG',
  30: 'INFO',
  40: 'WARN',
  50: 'ERROR',
  60: 'FATAL'
}
const MAX_TEXT = 4_000

/** Members of a log line; process id and host name are not shown on a terminal. */
interface Line {
  readonly level: number
  readonly time: number
  readonly msg?: string
  readonly pid?: number
  readonly hostname?: string
  readonly err?: { readonly message?: string; readonly stack?: string }
}

const formatFact = (value: unknown) => escapeText(typeof value === 'string' ? value : JSON.stringify(value), MAX_TEXT)

/** Writes log lines: unchanged to a pipe, formatted to a terminal. */
export const createLogOutput = (stream: { readonly isTTY?: boolean; write(text: string): unknown }) => ({
  write(line: string): void {
    stream.write(stream.isTTY ? formatLine(line) : line)
  }
})

/** Formats a log line for a terminal; control characters are escaped. */
export function formatLine(json: string): string {
  let line: Line
  try {
    line = JSON.parse(json) as Line
  } catch {
    return json
  }
  const { level, time, msg = '', pid: _pid, hostname: _hostname, err, ...rest } = line
  const facts = Object.entries(rest).map(([name, value]) => ` ${name}=${formatFact(value)}`)
  const cause = (err?.stack ?? err?.message ?? '').split('\n').filter((text) => text.trim() !== '')
  const head = `${new Date(time).toISOString().slice(11, 23)} ${(levels[level] ?? String(level)).padEnd(5)} ${formatFact(msg)}`
  return [`${head}${facts.join('')}`, ...cause.map((text) => `    ${formatFact(text.trim())}`), ''].join('\n')
}
