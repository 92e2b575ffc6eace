import { useSignal } from '@preact/signals'
import type { AccessToken } from '../../../src/schemas/access-token.ts'
import { change } from '../api.ts'
import { useApp } from '../app-context.ts'
import { Confirm } from '../ui/dialog.tsx'
import { SortedTable, type Column } from '../table/sorted-table.tsx'
import { Ago } from '../ui/time.tsx'
import { UntrustedText } from '../ui/untrusted-text.tsx'

/** Returns the name of a token: static ones have none. */
const titleOf = ({ name, kind }: AccessToken): string => name ?? (kind === 'static' ? 'Static token' : 'Token')

const scopesOf = ({ scopes }: AccessToken): string => scopes?.join(', ') ?? 'all rights of the role'

const Expiry = ({ token: { expires_at: at } }: { token: AccessToken }) =>
  at === undefined ? <>never</> : <Ago at={at} />

const columns: readonly Column<AccessToken>[] = [
  {
    key: 'name',
    label: 'Token',
    kind: 'wrap',
    value: titleOf,
    cell: (token) => (
      <>
        <span class="name">
          <UntrustedText text={titleOf(token)} />
        </span>
        <span class="help blk phone">
          <UntrustedText text={scopesOf(token)} />
        </span>
      </>
    )
  },
  {
    key: 'scopes',
    label: 'Scopes',
    kind: 'opt2 wrap',
    value: scopesOf,
    cell: (token) => <UntrustedText text={scopesOf(token)} />
  },
  {
    key: 'created',
    label: 'Created',
    kind: 'opt',
    value: (token) => token.created_at,
    cell: (token) => <Ago at={token.created_at} />
  },
  { key: 'expires', label: 'Expires', value: (token) => token.expires_at, cell: (token) => <Expiry token={token} /> },
  {
    key: 'used',
    label: 'Last used',
    kind: 'opt2',
    value: (token) => token.last_used_on,
    cell: ({ last_used_on: day }) => day ?? 'never'
  }
]

interface TokenTableProps {
  readonly tokens: readonly AccessToken[]
  readonly query: Readonly<Record<string, string>>
  /** Path of the tokens in the REST interface; undefined: the viewer may not revoke them. */
  readonly path: string | undefined
}

/** Access tokens of a person. */
export function TokenTable({ tokens, query, path }: TokenTableProps) {
  const { store, notice } = useApp()
  const asked = useSignal<AccessToken | undefined>(undefined)
  if (tokens.length === 0) return <p class="muted">There are no access tokens.</p>
  const actions: Column<AccessToken> = {
    key: 'actions',
    label: 'Actions',
    cell: (token) => (
      <div class="actions right">
        <button
          type="button"
          class="btn quiet sm"
          aria-label={`Revoke ${titleOf(token)}`}
          onClick={() => (asked.value = token)}
        >
          Revoke
        </button>
      </div>
    )
  }
  const revoke = async (token: AccessToken) => {
    await change('DELETE', `${path}/${encodeURIComponent(token.id)}`)
    notice.value = `${titleOf(token)} is revoked`
    await store.refresh(new Set(['people']))
  }
  return (
    <>
      <SortedTable
        label="Access tokens"
        rows={tokens}
        columns={path === undefined ? columns : [...columns, actions]}
        keyOf={({ id }) => id}
        query={query}
        member="tokens"
      />
      {asked.value && (
        <Confirm
          title={`Revoke ${titleOf(asked.value)}?`}
          action="Revoke token"
          onConfirm={() => revoke(asked.value!)}
          onClose={() => (asked.value = undefined)}
        >
          <p>What uses this token is refused at once; its sessions, streams and calls end.</p>
        </Confirm>
      )}
    </>
  )
}
