import type { Endpoint } from './endpoint.ts'
import type { MessageOutput } from './message-output.ts'

/** State shared by the parts of the bridge. */
export interface BridgeContext {
  readonly endpoint: Endpoint
  readonly output: MessageOutput
  /** Writes a line for people. */
  readonly log: (text: string) => void
  /** Aborts when the bridge stops. */
  readonly stopped: AbortSignal
}

/** Identity of a session. A session that is opened again gets another object. */
export interface SessionKey {
  /** Undefined before `initialize`, and of a server without sessions. */
  readonly id: string | undefined
  readonly version: string | undefined
}

export const sessionHeaders = ({ id, version }: SessionKey): Record<string, string> => ({
  ...(id === undefined ? {} : { 'mcp-session-id': id }),
  ...(version === undefined ? {} : { 'mcp-protocol-version': version })
})

/** Returns the delay before a stream is opened again, within bounds. `retryMs`: what the gateway asked for. */
export const retryDelayMs = (retryMs: number | null): number => Math.min(30_000, Math.max(100, retryMs ?? 500))
