import type { Flag } from '../../../src/schemas/dashboard/shared.ts'
import { change, path } from '../api.ts'
import { useApp } from '../app-context.ts'
import { SortedTable, type Column } from '../table/sorted-table.tsx'
import { EmptyPanel } from '../ui/panels.tsx'
import { Breakable, UntrustedText } from '../ui/untrusted-text.tsx'
import { Switch } from '../ui/switch.tsx'

/** Row of a server's tool, prompt, resource, template or skill. */
export interface ItemRow {
  readonly name: string
  /** Name or URI in routes; absent if the item has no switch. */
  readonly key: string
  readonly href?: string
  readonly description?: string | undefined
  readonly enabled: boolean
  readonly tokens?: number
  readonly flags: readonly Flag[]
}

interface ItemTableProps {
  readonly label: string
  readonly kind: 'tools' | 'prompts' | 'resources' | 'skills'
  readonly items: readonly ItemRow[]
  /** Text shown if there are no items. */
  readonly empty: string
}

const itemNames: Readonly<Record<Flag, readonly [tone: string, word: string]>> = {
  hidden_characters: ['err', 'hidden characters'],
  changed: ['warn', 'changed'],
  unusable: ['warn', 'unusable']
}

export const Flags = ({ flags }: { flags: readonly Flag[] }) => (
  <>
    {flags.map((flag) => (
      <span key={flag} class={`tag ${itemNames[flag][0]}`}>
        {itemNames[flag][1]}
      </span>
    ))}
  </>
)

const nameColumn: Column<ItemRow> = {
  key: 'name',
  label: 'Name',
  value: ({ name }) => name,
  cell: ({ name, href, flags }) => (
    <>
      {href ? (
        <a class="name mono" data-row href={href}>
          <Breakable text={name} />
        </a>
      ) : (
        <span class="name mono">
          <Breakable text={name} />
        </span>
      )}{' '}
      <Flags flags={flags} />
    </>
  )
}

const tokensColumn: Column<ItemRow> = {
  key: 'tokens',
  label: 'Tokens',
  kind: 'num opt2',
  value: ({ tokens }) => tokens,
  cell: ({ tokens }) => `~${tokens}`
}

/** Items of one kind that a server offers; those that need a look come first. */
export function ItemTable({ label, kind, items, empty }: ItemTableProps) {
  const { store } = useApp()
  if (items.length === 0) return <EmptyPanel title={empty} />
  const onSwitch = async (key: string, enabled: boolean) => {
    await change('PATCH', path(kind, key, 'enabled'), { enabled })
    await store.refresh(new Set([kind === 'skills' ? 'servers' : kind]))
  }
  const columns: readonly Column<ItemRow>[] = [
    nameColumn,
    {
      key: 'description',
      label: 'Description',
      kind: 'opt wrap',
      value: ({ description }) => description,
      cell: ({ description = '' }) => (
        <span class="blk clip">
          <UntrustedText text={description} />
        </span>
      )
    },
    ...(kind === 'tools' ? [tokensColumn] : []),
    {
      key: 'enabled',
      label: 'Enabled',
      value: ({ enabled }) => Number(enabled),
      cell: ({ name, key, enabled }) => (
        <Switch name={name} checked={enabled} onSwitch={(next) => onSwitch(key, next)} />
      )
    }
  ]
  return (
    <SortedTable
      label={label}
      rows={items.toSorted((a, b) => Number(b.flags.length > 0) - Number(a.flags.length > 0))}
      columns={columns}
      keyOf={({ key }) => key}
      opens
    />
  )
}
