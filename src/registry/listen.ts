import type pg from 'pg'

/** NOTIFY channel of changes; the payload is the new version */
export const CHANNEL = 'registry'

/** NOTIFY channel of ended sessions; the payload is the mark and principal of one */
export const ANNOUNCEMENTS = 'announcements'

const FIRST_WAIT_MS = 20
const LONGEST_WAIT_MS = 2_000

export interface ListenOptions {
  readonly connect: () => pg.Client
  /**
   * Called for each notification with the version, and after each (re)connect without one, because notifications may
   * have been missed
   */
  readonly onChange: (version?: string) => void
  readonly onAnnouncement: (text: string) => void
  /** Called once per outage */
  readonly onError: (error: unknown) => void
}

export interface Listening {
  /** Resolves once LISTEN is active, or the first attempt has failed */
  readonly begun: Promise<void>
  stop(): void
}

/** Keeps a LISTEN connection open, and reconnects whenever it is lost. */
export function listenForChanges({ connect, onChange, onAnnouncement, onError }: ListenOptions): Listening {
  let stopped = false
  let begin: () => void
  const begun = new Promise<void>((resolve) => {
    begin = resolve
  })
  let client: pg.Client | undefined
  let retry: NodeJS.Timeout | undefined
  let failures = 0

  const attempt = async () => {
    const own = connect()
    client = own
    const loss = lossOf(own)
    own.on('notification', ({ channel, payload = '' }) => {
      if (channel === ANNOUNCEMENTS) onAnnouncement(payload)
      else onChange(payload)
    })
    try {
      await own.connect()
      await own.query(`listen ${CHANNEL}; listen ${ANNOUNCEMENTS}`)
      failures = 0
      begin()
      onChange()
      throw await loss
    } catch (error) {
      leave(own)
      begin()
      if (!stopped) again(error)
    }
  }
  const again = (error: unknown) => {
    if (failures === 0) onError(error)
    const wait = Math.min(FIRST_WAIT_MS * 2 ** failures++, LONGEST_WAIT_MS)
    retry = setTimeout(() => void attempt(), wait * (0.5 + Math.random() / 2)).unref()
  }

  void attempt()
  const stop = () => {
    stopped = true
    clearTimeout(retry)
    if (client) leave(client)
    begin()
  }
  return { begun, stop }
}

const lossOf = (client: pg.Client) =>
  new Promise<Error>((resolve) => {
    client.on('error', resolve)
    client.on('end', () => resolve(new Error('the connection that listens for changes has ended')))
  })

/**
 * Closes a client without waiting: a hung database would not answer, and an unref'd socket does not keep the process
 * alive.
 */
function leave(client: pg.Client & { unref?: () => void }): void {
  client.unref?.()
  void client.end().catch(() => {})
}
