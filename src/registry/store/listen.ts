import type pg from 'pg'
import { retryForever, type Backoff, type BackoffPolicy } from '../../lib/backoff.ts'

/** NOTIFY channel of changes; the payload is the new version */
export const CHANGES_CHANNEL = 'registry'

/** NOTIFY channel of ended sessions; the payload is the mark and principal of one */
export const SESSION_ENDS_CHANNEL = 'announcements'

const backoffPolicy: BackoffPolicy = { firstMs: 20, longestMs: 2_000 }

/** NOTIFY channel of decisions on requests for approval; the payload is the id of one */
export const APPROVALS_CHANNEL = 'approvals'

export interface ListenOptions {
  readonly connect: () => pg.Client
  /**
   * Called for each notification with the version, and after each (re)connect without one, because notifications may
   * have been missed
   */
  readonly onChange: (version?: string) => void
  readonly onAnnouncement: (text: string) => void
  readonly onApproval: (id: string) => void
  /** Called once per outage */
  readonly onError: (error: unknown) => void
}

export interface ChangeListener {
  /** Resolves once LISTEN is active, or the first attempt has failed */
  readonly ready: Promise<void>
  stop(): void
}

/** Keeps a LISTEN connection open, and reconnects whenever it is lost. */
export function listenForChanges({
  connect,
  onChange,
  onAnnouncement,
  onApproval,
  onError
}: ListenOptions): ChangeListener {
  const stopping = new AbortController()
  const { signal } = stopping
  let markReady: () => void
  const ready = new Promise<void>((resolve) => {
    markReady = resolve
  })
  let client: pg.Client | undefined

  /** Listens until the connection is lost. */
  const attempt = async (backoff: Backoff) => {
    const newClient = connect()
    client = newClient
    const loss = connectionLoss(newClient)
    newClient.on('notification', ({ channel, payload = '' }) => {
      if (channel === SESSION_ENDS_CHANNEL) onAnnouncement(payload)
      else if (channel === APPROVALS_CHANNEL) onApproval(payload)
      else onChange(payload)
    })
    try {
      await newClient.connect()
      await newClient.query(`listen ${CHANGES_CHANNEL}; listen ${SESSION_ENDS_CHANNEL}; listen ${APPROVALS_CHANNEL}`)
      backoff.recordOpen(0)
      markReady()
      onChange()
      throw await loss
    } catch (error) {
      disconnect(newClient)
      markReady()
      if (!signal.aborted && backoff.failures === 0) onError(error)
      return false
    }
  }

  void retryForever(attempt, { ...backoffPolicy, signal })
  const stop = () => {
    stopping.abort()
    if (client) disconnect(client)
    markReady()
  }
  return { ready, stop }
}

const connectionLoss = (client: pg.Client) =>
  new Promise<Error>((resolve) => {
    client.on('error', resolve)
    client.on('end', () => resolve(new Error('the connection that listens for changes has ended')))
  })

/**
 * Closes a client without waiting: a hung database would not answer, and an unref'd socket does not keep the process
 * alive.
 */
function disconnect(client: pg.Client & { unref?: () => void }): void {
  client.unref?.()
  void client.end().catch(() => {})
}
