import { policySentence } from '../../../src/domain/policy/sentence.ts'
import type { Policy } from '../../../src/schemas/policy.ts'
import type { PageProps } from '../pages.ts'
import { link } from '../router.ts'
import { SortedTable, type Column } from '../table/sorted-table.tsx'
import { UntrustedText } from '../ui/untrusted-text.tsx'
import { observedText } from './observed.tsx'
import { EffectTag, PolicyState, stateOf } from './state.tsx'

const observedColumn: Column<Policy> = {
  key: 'observed',
  label: 'Observed calls',
  kind: 'opt2',
  value: ({ observed }) => observed?.calls,
  cell: ({ effect, observed }) => observed && <span class="muted">{observedText({ effect, observed })}</span>
}

const columns: readonly Column<Policy>[] = [
  {
    key: 'rule',
    label: 'Rule',
    kind: 'wrap',
    value: policySentence,
    cell: (policy) => (
      <>
        <a class="name" href={link('policy', policy.name)} data-row>
          <UntrustedText text={policySentence(policy)} />
        </a>
        <span class="help phone">
          <code>{policy.name}</code>
          {policy.observed && ` · ${observedText({ ...policy, observed: policy.observed })}`}
        </span>
        {policy.source === 'file' && (
          <span class="blk">
            <span class="tag">from the policy file</span>
          </span>
        )}
      </>
    )
  },
  { key: 'name', label: 'Name', kind: 'opt2', value: ({ name }) => name, cell: ({ name }) => <code>{name}</code> },
  {
    key: 'effect',
    label: 'Effect',
    kind: 'opt2',
    value: ({ effect }) => effect,
    cell: ({ effect }) => <EffectTag effect={effect} />
  },
  { key: 'state', label: 'State', value: stateOf, cell: (policy) => <PolicyState {...policy} /> }
]

/** Policies as sentences. */
export const PolicyTable = ({ policies, query }: { policies: readonly Policy[]; query: PageProps['query'] }) => (
  <SortedTable
    label="Policies"
    rows={policies}
    columns={policies.some(({ observed }) => observed) ? [...columns, observedColumn] : columns}
    keyOf={({ name }) => name}
    query={query}
    opens
  />
)
