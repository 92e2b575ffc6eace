import { policySentence } from '../../../src/domain/policy/sentence.ts'
import type { Policy } from '../../../src/schemas/policy.ts'
import { useApp, useSource } from '../app-context.ts'
import type { PageProps } from '../pages.ts'
import { Explain } from '../policies/explain.tsx'
import { PolicyTable } from '../policies/policy-table.tsx'
import { stateOf } from '../policies/state.tsx'
import { link } from '../router.ts'
import * as sources from '../sources.ts'
import { PageHead } from '../ui/page-head.tsx'
import { AsyncContent, EmptyPanel } from '../ui/panels.tsx'
import { SearchBox } from '../ui/search-box.tsx'
import { Segmented } from '../ui/segmented.tsx'
import { Tabs } from '../ui/tabs.tsx'

const views = [
  { id: 'rules', label: 'Rules' },
  { id: 'why', label: 'Why can or can’t …' }
] as const

const states = [
  { id: '', label: 'All' },
  { id: 'enforce', label: 'Enforced' },
  { id: 'observe', label: 'Observed' },
  { id: 'off', label: 'Off' }
] as const
type State = (typeof states)[number]['id']

const NewPolicy = () => (
  <a class="btn primary" href={link('new-policy')} data-new>
    New policy
  </a>
)

const NoPolicies = ({ mayChange }: { mayChange: boolean }) => (
  <EmptyPanel title="There are no policies yet">
    <p>A policy says who may use what: people by group, team or role, programs by name, tools by server and name.</p>
    {mayChange && (
      <div class="actions">
        <NewPolicy />
      </div>
    )}
  </EmptyPanel>
)

function Rules({ policies, query }: { policies: readonly Policy[]; query: PageProps['query'] }) {
  const { location, viewer } = useApp()
  const text = query.q ?? ''
  const state = states.find(({ id }) => id === query.state)?.id ?? ''
  if (policies.length === 0) return <NoPolicies mayChange={viewer.value.may.administer} />
  const shown = policies.filter(
    (policy) =>
      (state === '' || stateOf(policy) === state) &&
      `${policy.name} ${policySentence(policy)}`.toLowerCase().includes(text.toLowerCase())
  )
  return (
    <>
      <div class="bar">
        <SearchBox
          label="Filter policies"
          placeholder="Filter by words"
          value={text}
          onInput={(q) => location.setQuery({ q })}
        />
        <Segmented<State>
          label="State"
          options={states.map((each) => ({
            ...each,
            count: each.id === '' ? undefined : policies.filter((policy) => stateOf(policy) === each.id).length
          }))}
          current={state}
          onSelect={(next) => location.setQuery({ state: next })}
        />
      </div>
      {shown.length > 0 ? (
        <PolicyTable policies={shown} query={query} />
      ) : (
        <p role="status">
          No policy matches.{' '}
          <button type="button" class="btn sm" onClick={() => location.setQuery({ q: '', state: '' })}>
            Clear
          </button>
        </p>
      )}
    </>
  )
}

/** Policies as sentences, and why a caller can or cannot use something. */
export function Policies({ query }: PageProps) {
  const { location, viewer } = useApp()
  const policies = useSource(sources.policies)
  const view = query.view === 'why' ? 'why' : 'rules'
  const isEmpty = policies.data.value?.length === 0
  return (
    <>
      <PageHead title="Policies" sub="Who may use what. A denial wins over every allowance.">
        {viewer.value.may.administer && !isEmpty && <NewPolicy />}
      </PageHead>
      <Tabs
        label="Policies"
        tabs={views}
        current={view}
        onSelect={(next) => location.setQuery({ view: next === 'why' ? 'why' : undefined })}
      >
        <AsyncContent resource={policies} subject="The policies">
          {(list) =>
            view === 'why' ? <Explain query={query} policies={list} /> : <Rules policies={list} query={query} />
          }
        </AsyncContent>
      </Tabs>
    </>
  )
}
