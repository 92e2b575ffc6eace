import { hostname } from 'node:os'
import type { Config } from '../config/config.ts'

const levels = { trace: 10, debug: 20, info: 30, warn: 40, error: 50, fatal: 60, silent: Infinity } as const

export interface PrimaryLog {
  info(details: object, text: string): void
  warn(details: object, text: string): void
  fatal(details: object, text: string): void
}

/** Creates the log of a process without an app, with lines as those of the workers. */
export function createPrimaryLog(
  log: { write(line: string): void },
  { logLevel }: Pick<Config, 'logLevel'>
): PrimaryLog {
  const host = hostname()
  const write = (level: 'info' | 'warn' | 'fatal') => (details: object, msg: string) => {
    if (levels[level] < levels[logLevel]) return
    const line = { level: levels[level], time: Date.now(), pid: process.pid, hostname: host, ...details, msg }
    log.write(`${JSON.stringify(line)}\n`)
  }
  return { info: write('info'), warn: write('warn'), fatal: write('fatal') }
}
