import { useSignal } from '@preact/signals'
import type { ConnectedClient } from '../../../src/schemas/oauth-client.ts'
import { change } from '../api.ts'
import { useApp } from '../app-context.ts'
import { Confirm } from '../ui/dialog.tsx'
import { SortedTable, type Column } from '../table/sorted-table.tsx'
import { Ago } from '../ui/time.tsx'
import { UntrustedText, untrustedText } from '../ui/untrusted-text.tsx'

const titleOf = ({ name, client_id: id }: ConnectedClient): string => name ?? id

const Endpoints = ({ client: { endpoints } }: { client: ConnectedClient }) => (
  <>
    {endpoints.map(({ url, scopes }) => (
      <span key={url} class="blk">
        <code class="wrap">
          <UntrustedText text={url} />
        </code>{' '}
        <span class="muted">
          <UntrustedText text={scopes.join(', ')} />
        </span>
      </span>
    ))}
  </>
)

const columns: readonly Column<ConnectedClient>[] = [
  {
    key: 'name',
    label: 'Client',
    kind: 'wrap',
    value: titleOf,
    cell: (client) => (
      <>
        <span class="name">
          <UntrustedText text={titleOf(client)} />
        </span>
        {client.name !== undefined && (
          <span class="help blk wrap">
            <UntrustedText text={client.client_id} />
          </span>
        )}
      </>
    )
  },
  {
    key: 'endpoints',
    label: 'Endpoints and scopes',
    kind: 'opt2 wrap',
    value: ({ endpoints }) => endpoints.map(({ url }) => url).join(' '),
    cell: (client) => <Endpoints client={client} />
  },
  {
    key: 'connected',
    label: 'Connected',
    kind: 'opt',
    value: (client) => client.connected_at,
    cell: (client) => <Ago at={client.connected_at} />
  },
  {
    key: 'renewed',
    label: 'Renewed',
    value: (client) => client.renewed_at,
    cell: ({ renewed_at: at }) => (at === undefined ? '—' : <Ago at={at} />)
  }
]

interface ClientTableProps {
  readonly clients: readonly ConnectedClient[]
  readonly query: Readonly<Record<string, string>>
  /** Path of the clients in the REST interface; undefined: the viewer may not disconnect them. */
  readonly path: string | undefined
}

/** OAuth clients that act for a person. Their names are what they say of themselves. */
export function ClientTable({ clients, query, path }: ClientTableProps) {
  const { store, notice } = useApp()
  const asked = useSignal<ConnectedClient | undefined>(undefined)
  if (clients.length === 0) return <p class="muted">No client is connected.</p>
  const actions: Column<ConnectedClient> = {
    key: 'actions',
    label: 'Actions',
    cell: (client) => (
      <div class="actions right">
        <button
          type="button"
          class="btn quiet sm"
          aria-label={`Disconnect ${untrustedText(titleOf(client))}`}
          onClick={() => (asked.value = client)}
        >
          Disconnect
        </button>
      </div>
    )
  }
  const disconnect = async (client: ConnectedClient) => {
    await change('DELETE', `${path}/${encodeURIComponent(client.id)}`)
    notice.value = `${untrustedText(titleOf(client))} is disconnected`
    await store.refresh(new Set(['people']))
  }
  return (
    <>
      <SortedTable
        label="Connected clients"
        rows={clients}
        columns={path === undefined ? columns : [...columns, actions]}
        keyOf={({ id }) => id}
        query={query}
        member="clients"
      />
      {asked.value && (
        <Confirm
          title="Disconnect this client?"
          action="Disconnect"
          onConfirm={() => disconnect(asked.value!)}
          onClose={() => (asked.value = undefined)}
        >
          <p>
            <strong>
              <UntrustedText text={titleOf(asked.value)} />
            </strong>{' '}
            loses its access at once. It has to be let in again.
          </p>
        </Confirm>
      )}
    </>
  )
}
