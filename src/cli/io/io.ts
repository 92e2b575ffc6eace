import type { Readable } from 'node:stream'

/** Output stream. */
export interface OutputStream {
  /** Returns false if the stream is full; it then emits `drain`. */
  write(data: string | Uint8Array): unknown
  once?(event: 'drain', listener: () => void): unknown
  readonly isTTY?: boolean
  /** Width of a terminal. */
  readonly columns?: number
}

/** Environment of a command: variables, folders and streams. */
export interface CliIo {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly home: string
  readonly platform: NodeJS.Platform
  /** Base of a client's project-relative paths. */
  readonly cwd: string
  /** Path of this program, as Node.js was started with it. */
  readonly program: string
  readonly stdin: Readable & { readonly isTTY?: boolean; setRawMode?(isRaw: boolean): unknown }
  readonly stdout: OutputStream
  readonly stderr: OutputStream
  /** Aborted when stdout is closed by its reader. */
  readonly stdoutClosed?: AbortSignal
  /** Called before a command without clean-up, which an interrupt may then exit directly. */
  readonly exitOnInterrupt?: () => void
  /** Calls `stop` when the process is asked to end; it exits at the latest seconds after. */
  readonly onTerminate?: (stop: () => void) => void
}
