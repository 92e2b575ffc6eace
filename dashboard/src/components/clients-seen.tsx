import type { SeenClient } from '../../../src/schemas/dashboard/shared.ts'
import { Shown } from './shown.tsx'
import { Ago } from './time.tsx'

/** Names that are shown; the rest is counted. */
const SHOWN = 2

interface ClientsSeenProps {
  /** The newest first. */
  readonly clients: readonly SeenClient[]
  /** When anybody came; undefined: nobody did. */
  readonly seen: string | undefined
}

export const ClientName = ({ client: { name, version } }: { client: Pick<SeenClient, 'name' | 'version'> }) => (
  <Shown text={version === undefined ? name : `${name} ${version}`} />
)

/** Who uses an endpoint, by the names that they give themselves, and when one last did. */
export function ClientsSeen({ clients, seen }: ClientsSeenProps) {
  if (seen === undefined) return <span class="muted">not yet</span>
  const each = [...new Map(clients.toReversed().map((client) => [client.name, client])).values()].toReversed()
  if (each.length === 0) return <Ago at={seen} />
  return (
    <>
      {each.slice(0, SHOWN).map((client, at) => (
        <span key={client.name}>
          {at > 0 && ', '}
          <ClientName client={client} />
        </span>
      ))}
      {each.length > SHOWN && `, ${each.length - SHOWN} more`}
      <span class="help blk">
        <Ago at={seen} />
      </span>
    </>
  )
}
