import { useSignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import { ApiError, send } from '../api.ts'
import { useApp, useSteadySource } from '../app-context.ts'
import type { AuditEntries } from '../audit/audit-line.ts'
import { AuditTable } from '../audit/audit-table.tsx'
import { ExportButtons } from '../audit/export-buttons.tsx'
import { auditFilterOf, auditOutcomeOf, auditOutcomes, auditRangeOf, type AuditRange } from '../audit/filter.ts'
import { useDebounced } from '../calls/use-debounced.ts'
import { plural } from '../format.ts'
import type { PageProps } from '../pages.ts'
import * as sources from '../sources.ts'
import { PageHead } from '../ui/page-head.tsx'
import { AsyncContent, EmptyPanel, ErrorPanel } from '../ui/panels.tsx'
import { SearchBox } from '../ui/search-box.tsx'
import { Segmented } from '../ui/segmented.tsx'

/** Entries of a page. */
const PAGE = 100

const rangeLabels: Readonly<Record<AuditRange, string>> = { '1h': '1 h', '24h': '24 h', '7d': '7 d', all: 'All' }
const outcomeLabels = { begun: 'Begun', ok: 'Done', refused: 'Refused', failed: 'Failed' } as const

/** Returns the filter of the address, with texts as they are once typing pauses. */
function useFilter(query: PageProps['query']) {
  const { outcome = '' } = query
  const [actor, target] = [useDebounced(query.actor ?? ''), useDebounced(query.target ?? '')]
  const range = auditRangeOf(query)
  // fixed start: a moving one would change the filter constantly
  return useMemo(() => auditFilterOf({ actor, target, outcome, range }, Date.now()), [actor, target, outcome, range])
}

function Filters({ query }: { query: PageProps['query'] }) {
  const { location } = useApp()
  return (
    <div class="bar">
      <SearchBox
        label="Person"
        placeholder="Name of a person or client"
        value={query.actor ?? ''}
        onInput={(actor) => location.setQuery({ actor })}
      />
      <input
        class="in fit"
        type="text"
        aria-label="Thing"
        placeholder="Name of a server, tool, user, …"
        autocomplete="off"
        spellcheck={false}
        value={query.target ?? ''}
        onInput={(event) => location.setQuery({ target: event.currentTarget.value })}
      />
      <select
        class="in fit"
        aria-label="Outcome"
        value={auditOutcomeOf(query) ?? ''}
        onChange={(event) => location.setQuery({ outcome: event.currentTarget.value })}
      >
        <option value="">All outcomes</option>
        {auditOutcomes.map((outcome) => (
          <option key={outcome} value={outcome}>
            {outcomeLabels[outcome]}
          </option>
        ))}
      </select>
      <Segmented
        label="Time"
        current={auditRangeOf(query)}
        onSelect={(range) => location.setQuery({ range: range === '7d' ? undefined : range })}
        options={(Object.keys(rangeLabels) as AuditRange[]).map((id) => ({ id, label: rangeLabels[id] }))}
      />
    </div>
  )
}

/** Entries that match, kept up to date; older ones load on demand. */
function Entries({ filter }: { filter: ReturnType<typeof useFilter> }) {
  const { location } = useApp()
  const { path } = sources.audit({ ...filter, limit: PAGE })
  const resource = useSteadySource(sources.audit({ ...filter, limit: PAGE }))
  const loaded = useSignal<(AuditEntries & { readonly of: string }) | undefined>(undefined)
  const failure = useSignal<ApiError | undefined>(undefined)
  const older = loaded.value?.of === path ? loaded.value : undefined
  const more = async (before: string) => {
    try {
      const { body } = await send<AuditEntries>('GET', sources.audit({ ...filter, limit: PAGE, before }).path)
      loaded.value = { ...body, entries: [...(older?.entries ?? []), ...body.entries], of: path }
      failure.value = undefined
    } catch (error) {
      failure.value = error as ApiError
    }
  }
  const list = (newest: AuditEntries) => {
    const known = new Set(newest.entries.map(({ id }) => id))
    const all = [...newest.entries, ...(older?.entries ?? []).filter(({ id }) => !known.has(id))]
    const before = older ? older.next_before : newest.next_before
    if (all.length === 0) {
      return (
        <EmptyPanel title="No entry matches">
          <button
            type="button"
            class="btn"
            onClick={() =>
              location.setQuery({ actor: undefined, target: undefined, outcome: undefined, range: undefined })
            }
          >
            Clear filters
          </button>
        </EmptyPanel>
      )
    }
    return (
      <>
        <AuditTable entries={all} isCut={before !== undefined} />
        {failure.value && <ErrorPanel title="Older entries could not be loaded." error={failure.value} />}
        <div class="row more">
          <span class="muted" role="status">
            {plural(all.length, 'entry', 'entries')}
            {before && location.route.value.query.sort && ' loaded, sorted among themselves'}
          </span>
          {before && (
            <button type="button" class="btn" onClick={() => void more(before)}>
              Load older
            </button>
          )}
        </div>
      </>
    )
  }
  return (
    <AsyncContent resource={resource} subject="The audit log">
      {list}
    </AsyncContent>
  )
}

/** Changes and refusals, each with its person. */
export function Audit({ query }: PageProps) {
  const filter = useFilter(query)
  return (
    <>
      <PageHead title="Audit" sub="Changes, contacts with servers, and what was refused. Nothing here can be changed.">
        <ExportButtons filter={filter} />
      </PageHead>
      <Filters query={query} />
      <Entries filter={filter} />
    </>
  )
}
