import type { Flag } from '../../../src/schemas/dashboard/shared.ts'
import { change, path } from '../api.ts'
import { useApp } from '../app-context.ts'
import { openRow } from '../ui/open-row.ts'
import { EmptyPanel } from '../ui/panels.tsx'
import { Breakable, UntrustedText } from '../ui/untrusted-text.tsx'
import { Switch } from '../ui/switch.tsx'
import { Table } from '../ui/table.tsx'

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

/** Items of one kind that a server offers. */
export function ItemTable({ label, kind, items, empty }: ItemTableProps) {
  const { store } = useApp()
  if (items.length === 0) return <EmptyPanel title={empty} />
  const onSwitch = async (key: string, enabled: boolean) => {
    await change('PATCH', path(kind, key, 'enabled'), { enabled })
    await store.refresh(new Set([kind === 'skills' ? 'servers' : kind]))
  }
  return (
    <Table label={label}>
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col" class="opt">
            Description
          </th>
          {kind === 'tools' && (
            <th scope="col" class="num opt2">
              Tokens
            </th>
          )}
          <th scope="col">Enabled</th>
        </tr>
      </thead>
      <tbody>
        {items.map(({ name, key, href, description = '', enabled, tokens, flags }) => (
          <tr key={key} {...(href && { class: 'opens', onClick: openRow })}>
            <th scope="row">
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
            </th>
            <td class="opt wrap clip">
              <UntrustedText text={description} />
            </td>
            {kind === 'tools' && <td class="num opt2">~{tokens}</td>}
            <td>
              <Switch name={name} checked={enabled} onSwitch={(next) => onSwitch(key, next)} />
            </td>
          </tr>
        ))}
      </tbody>
    </Table>
  )
}
