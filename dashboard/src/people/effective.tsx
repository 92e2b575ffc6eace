import type { EffectiveItem } from '../../../src/schemas/policy.ts'
import { useApp, useSource } from '../app-context.ts'
import { plural } from '../format.ts'
import { PolicyLink } from '../policies/policy-link.tsx'
import * as sources from '../sources.ts'
import { SortedTable, type Column } from '../table/sorted-table.tsx'
import { matches, wordsOf } from '../tools/filter.ts'
import { AsyncContent } from '../ui/panels.tsx'
import { SearchBox } from '../ui/search-box.tsx'
import { Segmented } from '../ui/segmented.tsx'
import { Status } from '../ui/status.tsx'
import { QualifiedName } from '../ui/untrusted-text.tsx'

/** Rows shown; a search finds the others. */
const MAX_ROWS = 200

const words = {
  allow: ['ok', 'Allowed'],
  conditional: ['warn', 'Arguments decide'],
  confirm: ['warn', 'Needs confirmation'],
  approve: ['warn', 'Needs approval'],
  deny: ['off', 'Denied']
} as const

/** Items that the person can use come first. */
const ranks: Readonly<Record<EffectiveItem['decision'], number>> = {
  allow: 0,
  confirm: 1,
  approve: 1,
  conditional: 1,
  deny: 2
}

const kinds = { tool: 'Tool', prompt: 'Prompt', resource: 'Resource', template: 'Template', skill: 'Skill' } as const

const ruleOf = ({ policy }: EffectiveItem): string => policy ?? 'the default'

const columns: readonly Column<EffectiveItem>[] = [
  {
    key: 'name',
    label: 'Name',
    kind: 'wrap',
    value: ({ name }) => name,
    cell: ({ name }) => <QualifiedName name={name} />
  },
  { key: 'kind', label: 'Kind', kind: 'opt2', value: ({ kind }) => kind, cell: ({ kind }) => kinds[kind] },
  {
    key: 'decision',
    label: 'Decision',
    value: ({ decision }) => decision,
    cell: ({ decision }) => <Status tone={words[decision][0]} word={words[decision][1]} />
  },
  {
    key: 'rule',
    label: 'Rule',
    kind: 'wrap',
    value: ruleOf,
    cell: ({ policy }) => (policy === undefined ? 'the default' : <PolicyLink name={policy} />)
  }
]

type Query = Readonly<Record<string, string>>

function Items({ items, query }: { items: readonly EffectiveItem[]; query: Query }) {
  const { location } = useApp()
  const { q = '', decision = 'all' } = query
  const found = items.filter(
    (item) =>
      (decision === 'all' || item.decision === decision) && matches(`${item.name} ${item.policy ?? ''}`, wordsOf(q))
  )
  const countOf = (wanted: EffectiveItem['decision']) => items.filter((item) => item.decision === wanted).length
  return (
    <>
      <div class="bar">
        <SearchBox
          label="Filter permissions"
          placeholder="Filter by name or rule"
          value={q}
          onInput={(text) => location.setQuery({ q: text })}
        />
        <Segmented
          label="Decision"
          current={decision}
          onSelect={(next) => location.setQuery({ decision: next === 'all' ? undefined : next })}
          options={[
            { id: 'all', label: 'All' },
            { id: 'allow', label: 'Allowed', count: countOf('allow') },
            { id: 'conditional', label: 'Depends', count: countOf('conditional') },
            { id: 'deny', label: 'Denied', count: countOf('deny') }
          ]}
        />
      </div>
      {found.length === 0 ? (
        <p class="muted">Nothing matches.</p>
      ) : (
        <SortedTable
          label="Permissions"
          rows={found.toSorted((a, b) => ranks[a.decision] - ranks[b.decision]).slice(0, MAX_ROWS)}
          columns={columns}
          keyOf={({ kind, name }) => `${kind} ${name}`}
          query={query}
          opens
        />
      )}
      {found.length > MAX_ROWS && (
        <p class="muted">{plural(found.length - MAX_ROWS, 'more item')} match; narrow the search.</p>
      )}
    </>
  )
}

/** Permissions of a person, with the rule behind each item. */
export function Effective({ name, query }: { name: string; query: Query }) {
  const items = useSource(sources.effective(name))
  return (
    <section class="below stack">
      <h2>Effective permissions</h2>
      <AsyncContent resource={items} subject="The permissions">
        {(list) => <Items items={list} query={query} />}
      </AsyncContent>
    </section>
  )
}
