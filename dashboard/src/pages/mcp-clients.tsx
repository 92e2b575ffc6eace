import { useSignal, type Signal } from '@preact/signals'
import type { Client } from '../../../src/schemas/principal.ts'
import { change } from '../api.ts'
import { useApp, useSource } from '../app-context.ts'
import { ALL, ClientForm, clientPath } from '../clients/client-form.tsx'
import { plural } from '../format.ts'
import type { PageProps } from '../pages.ts'
import { ShownOnce } from '../people/shown-once.tsx'
import { link } from '../router.ts'
import * as sources from '../sources.ts'
import { SortedTable, type Column } from '../table/sorted-table.tsx'
import { Confirm } from '../ui/dialog.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { AsyncContent, EmptyPanel } from '../ui/panels.tsx'
import { UntrustedText, untrustedText } from '../ui/untrusted-text.tsx'

type DialogState =
  | { readonly kind: 'new' }
  | { readonly kind: 'edit' | 'rotate' | 'delete'; readonly client: Client }
  | { readonly kind: 'token'; readonly name: string; readonly token: string }

type Open = Signal<DialogState | undefined>

/** Returns a token as the gateway makes them: the gateway takes the new token of a client from who rotates it. */
function makeToken(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32))
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
}

const serversText = ({ allowed_servers: allowed }: Client): string => {
  if (allowed.includes(ALL)) return 'all servers'
  return allowed.length === 0 ? 'none' : allowed.map((name) => untrustedText(name)).join(', ')
}

const columnsFor = (open: Open | undefined): readonly Column<Client>[] => [
  {
    key: 'name',
    label: 'Name',
    kind: 'wrap',
    value: ({ name }) => name,
    cell: (client) => (
      <>
        {open ? (
          <button type="button" class="lnk name" data-row onClick={() => (open.value = { kind: 'edit', client })}>
            {client.name}
          </button>
        ) : (
          <span class="name">{client.name}</span>
        )}
        {client.description !== undefined && (
          <span class="help blk">
            <UntrustedText text={client.description} />
          </span>
        )}
      </>
    )
  },
  { key: 'servers', label: 'Servers', kind: 'wrap', value: serversText, cell: serversText },
  {
    key: 'keys',
    label: 'Signs in with',
    kind: 'opt',
    value: (client) => (client.jwks || client.jwks_uri ? 'keys' : 'token'),
    cell: (client) => (client.jwks || client.jwks_uri ? 'Own keys' : 'Token')
  },
  {
    key: 'why',
    label: 'What it may use',
    kind: 'opt2',
    cell: ({ name }) => <a href={link('policies', '', { view: 'why', who: 'client', caller: name })}>Why can it …</a>
  }
]

function Dialogs({ open }: { open: Open }) {
  const { store, notice } = useApp()
  const state = open.value
  // a dialog that has led on to another one leaves that open
  const close = () => {
    if (open.value === state) open.value = undefined
  }
  const finish = async (text: string) => {
    notice.value = text
    await store.refresh(new Set(['people']))
  }
  if (!state) return null
  if (state.kind === 'token')
    return (
      <ShownOnce title={`Token of ${state.name}`} secret={state.token} copy="Copy token" onClose={close}>
        <p>
          <strong>Copy it now: it is not shown again.</strong> The client sends it as <code>Authorization: Bearer</code>
          .
        </p>
      </ShownOnce>
    )
  if (state.kind === 'rotate') {
    const { name } = state.client
    const rotate = async () => {
      const token = makeToken()
      await change('PUT', clientPath(name), { access_token: token })
      open.value = { kind: 'token', name, token }
      await finish(`The token of ${name} is replaced`)
    }
    return (
      <Confirm title={`Rotate the token of ${name}?`} action="Rotate token" onConfirm={rotate} onClose={close}>
        <p>The old token ends at once, with the streams and sessions of the client. The new one is shown once.</p>
      </Confirm>
    )
  }
  if (state.kind === 'delete') {
    const { name, allowed_servers: allowed } = state.client
    const remove = async () => {
      await change('DELETE', clientPath(name))
      await finish(`MCP client ${name} is deleted`)
    }
    return (
      <Confirm title={`Delete ${name}?`} action="Delete client" onConfirm={remove} onClose={close}>
        <p>
          Its token ends at once, with its streams and sessions
          {allowed.includes(ALL) ? '' : `; it may use ${plural(allowed.length, 'server')}`}.
        </p>
      </Confirm>
    )
  }
  const saved = state.kind === 'edit' ? state.client : undefined
  return (
    <ClientForm
      key={saved?.name ?? ''}
      saved={saved}
      onClose={close}
      onCreated={(name, token) => (open.value = { kind: 'token', name, token })}
      onRotate={() => saved && (open.value = { kind: 'rotate', client: saved })}
      onDelete={() => saved && (open.value = { kind: 'delete', client: saved })}
    />
  )
}

/** Programs with a static token, and the servers that each may use. */
export function McpClients({ query }: PageProps) {
  const { viewer } = useApp()
  const clients = useSource(sources.clients)
  const open = useSignal<DialogState | undefined>(undefined)
  const mayChange = viewer.value.may.administer
  const isEmpty = clients.data.value?.length === 0
  const newClient = (
    <button type="button" class="btn primary" data-new onClick={() => (open.value = { kind: 'new' })}>
      New client
    </button>
  )
  return (
    <>
      <PageHead title="MCP clients" sub="Programs that connect with a token of their own, not for a person.">
        {mayChange && !isEmpty && newClient}
      </PageHead>
      <AsyncContent resource={clients} subject="The MCP clients">
        {(list) =>
          list.length === 0 ? (
            <EmptyPanel title="There are no MCP clients yet">
              <p>People connect their programs by URL and sign in. A program that runs on its own gets a token here.</p>
              {mayChange && newClient}
            </EmptyPanel>
          ) : (
            <SortedTable
              label="MCP clients"
              rows={list}
              columns={columnsFor(mayChange ? open : undefined)}
              keyOf={({ name }) => name}
              query={query}
              opens={mayChange}
            />
          )
        }
      </AsyncContent>
      <Dialogs open={open} />
    </>
  )
}
