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

/** Format of log lines: `text` for people, `json` for log collectors. */
export type LogFormat = 'text' | 'json'

/** Writes log lines, which arrive as JSON, in this format. */
export const createLogOutput = (stream: { write(text: string): unknown }, format: LogFormat) => ({
  write(line: string): void {
    stream.write(format === 'text' ? formatLine(line) : line)
  }
})

const INFO = 30

/** Writes text for people; in JSON format as one log line, so that a collector gets no line of another kind. */
export const createNoticeOutput =
  (stream: { write(text: string): unknown }, format: LogFormat) =>
  (text: string): void => {
    const json = () => JSON.stringify({ level: INFO, time: Date.now(), pid: process.pid, msg: text })
    stream.write(`${format === 'text' ? text : json()}\n`)
  }

/** Formats a log line for people; control characters are escaped. */
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
