import { useApp, useRights } from '../app-context.ts'
import { SearchBox } from '../ui/search-box.tsx'
import { Segmented } from '../ui/segmented.tsx'
import { filterQuery, type ToolFilter } from './filter.ts'

interface FilterBarProps {
  readonly filter: ToolFilter
  /** Label of the search box: `Search tools`. */
  readonly label: string
  readonly placeholder: string
  readonly servers: readonly string[]
  /** Number of flagged items; 0 hides that choice. */
  readonly flagged: number
  readonly children?: preact.ComponentChildren
}

/** Filter by text, server and state, kept in the URL so that a view can be shared. */
export function FilterBar({ filter, label, placeholder, servers, flagged, children }: FilterBarProps) {
  const { location } = useApp()
  const set = (changes: Partial<ToolFilter>) => {
    const { q, server, state } = filterQuery({ ...filter, ...changes })
    location.setQuery({ q, server, state })
  }
  const { audit } = useRights()
  const isFlaggedShown = flagged > 0 || filter.state === 'flagged'
  // users are shown what is enabled only
  const states = [
    { id: 'all' as const, label: 'All' },
    ...(audit ? [{ id: 'enabled' as const, label: 'Enabled' }] : []),
    ...(audit ? [{ id: 'disabled' as const, label: 'Disabled' }] : []),
    ...(isFlaggedShown ? [{ id: 'flagged' as const, label: 'Flagged', count: flagged }] : [])
  ]
  return (
    <div class="bar">
      <SearchBox label={label} placeholder={placeholder} value={filter.q} onInput={(q) => set({ q })} />
      <div class="field">
        <select
          class="in"
          aria-label="Server"
          value={filter.server}
          onChange={(event) => set({ server: event.currentTarget.value })}
        >
          <option value="">All servers</option>
          {servers.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </div>
      {states.length > 1 && (
        <Segmented label="State filter" options={states} current={filter.state} onSelect={(state) => set({ state })} />
      )}
      {children}
    </div>
  )
}

/** Message of a list without matches. */
export function NoMatch({ filter, itemsName }: { filter: ToolFilter; itemsName: string }) {
  const { location } = useApp()
  const clear = () => location.setQuery({ q: undefined, server: undefined, state: undefined })
  return (
    <div class="nomatch">
      <p role="status">
        No {itemsName} matches {filter.q.trim() ? `“${filter.q.trim()}”` : 'the filter'}.
      </p>
      <button type="button" class="btn sm" onClick={clear}>
        Clear
      </button>
    </div>
  )
}
