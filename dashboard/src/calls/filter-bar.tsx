import { useApp, useSource } from '../app-context.ts'
import { SearchBox } from '../ui/search-box.tsx'
import { Segmented } from '../ui/segmented.tsx'
import * as sources from '../sources.ts'

export type Outcomes = 'all' | 'failed' | 'slow'

interface ChoiceProps {
  readonly label: string
  readonly value: string | undefined
  readonly onChange: (value: string) => void
  readonly children: preact.ComponentChildren
}

const Choice = ({ label, value = '', onChange, children }: ChoiceProps) => (
  <select class="in fit" aria-label={label} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
    {children}
  </select>
)

interface FilterBarProps {
  readonly query: Readonly<Record<string, string>>
  readonly outcome: Outcomes
  readonly failed: number | undefined
}

/** Filters of the call list, kept in the URL. */
export function FilterBar({ query, outcome, failed }: FilterBarProps) {
  const { location } = useApp()
  const servers = useSource(sources.servers).data.value?.servers ?? []
  const groups = useSource(sources.groups).data.value?.tool_groups ?? []
  return (
    <div class="bar">
      <SearchBox
        label="Filter calls"
        placeholder="Filter by tool, client or error text"
        value={query.q ?? ''}
        onInput={(q) => location.setQuery({ q })}
      />
      <Segmented<Outcomes>
        label="Outcome"
        current={outcome}
        onSelect={(next) => location.setQuery({ outcome: next === 'all' ? undefined : next, cause: undefined })}
        options={[
          { id: 'all', label: 'All' },
          { id: 'failed', label: 'Failed', count: failed },
          { id: 'slow', label: 'Slow' }
        ]}
      />
      <Choice
        label="Server"
        value={query.server}
        onChange={(server) => location.setQuery({ server, cause: undefined })}
      >
        <option value="">All servers</option>
        {servers.map(({ name }) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </Choice>
      <Choice label="Endpoint" value={query.endpoint} onChange={(endpoint) => location.setQuery({ endpoint })}>
        <option value="">All endpoints</option>
        <option value="/mcp">All tools, /mcp</option>
        <option value="/api/v0">REST, /api/v0</option>
        {groups.map(({ name }) => (
          <option key={name} value={`/v0/groups/${name}/mcp`}>
            Group: {name}
          </option>
        ))}
      </Choice>
    </div>
  )
}
