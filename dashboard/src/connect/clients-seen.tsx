import type { SeenClient } from '../../../src/schemas/dashboard/shared.ts'
import { UntrustedText } from '../ui/untrusted-text.tsx'
import { Ago } from '../ui/time.tsx'

/** Client names shown; the others are counted. */
const MAX_NAMES = 2

interface ClientsSeenProps {
  /** Clients, newest first. */
  readonly clients: readonly SeenClient[]
  /** Time of the last request; undefined if there was none. */
  readonly seen: string | undefined
}

export const ClientName = ({ client: { name, version } }: { client: Pick<SeenClient, 'name' | 'version'> }) => (
  <UntrustedText text={version === undefined ? name : `${name} ${version}`} />
)

/** Clients of an endpoint, by the names they declared, and the time of the last request. */
export function ClientsSeen({ clients, seen }: ClientsSeenProps) {
  if (seen === undefined) return <span class="muted">not yet</span>
  const each = [...new Map(clients.toReversed().map((client) => [client.name, client])).values()].toReversed()
  if (each.length === 0) return <Ago at={seen} />
  return (
    <>
      {each.slice(0, MAX_NAMES).map((client, at) => (
        <span key={client.name}>
          {at > 0 && ', '}
          <ClientName client={client} />
        </span>
      ))}
      {each.length > MAX_NAMES && `, ${each.length - MAX_NAMES} more`}
      <span class="help blk">
        <Ago at={seen} />
      </span>
    </>
  )
}
