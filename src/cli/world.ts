import type { Readable } from 'node:stream'

/** Where output goes. */
export interface Sink {
  write(text: string): unknown
  readonly isTTY?: boolean
  /** Of a terminal. */
  readonly columns?: number
}

/** The outside world of a command. */
export interface World {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly home: string
  /** Where paths begin that a client looks for in a project. */
  readonly cwd: string
  readonly stdin: Readable & { readonly isTTY?: boolean; setRawMode?(isRaw: boolean): unknown }
  readonly stdout: Sink
  readonly stderr: Sink
  /** Aborted once nobody reads stdout any more. */
  readonly readerGone?: AbortSignal
  /** Called before a command that has nothing to tidy up: from then on an interrupt ends it. */
  readonly interruptible?: () => void
}
