import type { Tone } from '../ui/icons.tsx'
import { useApp } from '../app-context.ts'
import { count } from '../format.ts'
import { SortedTable, type Column } from '../table/sorted-table.tsx'
import { Status } from '../ui/status.tsx'
import { Clock } from '../ui/time.tsx'
import { UntrustedText } from '../ui/untrusted-text.tsx'
import type { AuditLine } from './audit-line.ts'
import { changeText } from './change-text.ts'

const outcomes: Readonly<Record<AuditLine['outcome'], readonly [tone: Tone, word: string]>> = {
  begun: ['off', 'Begun'],
  ok: ['ok', 'Done'],
  refused: ['warn', 'Refused'],
  failed: ['err', 'Failed']
}

/** Name in a row that filters by it. */
const FilterBy = ({ text, label, onClick }: { text: string; label: string; onClick: () => void }) => (
  <button type="button" class="lnk link" aria-label={`${label} ${text}`} onClick={onClick}>
    <UntrustedText text={text} />
  </button>
)

/** Details of an entry beyond person, action and thing. */
const Details = ({ entry }: { entry: AuditLine }) => (
  <>
    {changeText(entry).map((text) => (
      <span key={text} class="blk">
        <UntrustedText text={text} />
      </span>
    ))}
    {entry.reason && (
      <span class="blk">
        <UntrustedText text={entry.reason} />
      </span>
    )}
    {entry.policy && (
      <span class="help blk">
        policy <UntrustedText text={entry.policy} />
      </span>
    )}
    {entry.count > 1 && <span class="help blk">{count(entry.count)} times</span>}
  </>
)

/** Rank of an outcome: failures come first. */
const severity: Readonly<Record<AuditLine['outcome'], number>> = { failed: 0, refused: 1, begun: 2, ok: 3 }

type SetFilter = (filter: { readonly target?: string; readonly actor?: string }) => void

const columnsFor = (filterBy: SetFilter): readonly Column<AuditLine>[] => [
  { key: 'time', label: 'Time', kind: 'num l opt2', value: ({ at }) => at, cell: ({ at }) => <Clock at={at} /> },
  {
    key: 'what',
    label: 'What',
    kind: 'wrap',
    isName: true,
    value: ({ action, target }) => `${action} ${target}`,
    cell: (entry) => (
      <>
        <span class="mono">
          <UntrustedText text={entry.action} />
        </span>
        <span class="blk wrap">
          <FilterBy text={entry.target} label="Only entries about" onClick={() => filterBy({ target: entry.target })} />
        </span>
        <span class="phone help">
          <Clock at={entry.at} />, <UntrustedText text={entry.actor || entry.actor_kind} />
          <Details entry={entry} />
        </span>
      </>
    )
  },
  {
    key: 'who',
    label: 'Who',
    kind: 'opt wrap',
    value: ({ actor }) => actor,
    cell: ({ actor, actor_kind: kind, address }) => (
      <>
        <FilterBy text={actor} label="Only entries of" onClick={() => filterBy({ actor })} />
        <span class="help blk">
          {kind}
          {address && (
            <>
              , <UntrustedText text={address} />
            </>
          )}
        </span>
      </>
    )
  },
  {
    key: 'outcome',
    label: 'Outcome',
    value: ({ outcome }) => severity[outcome],
    cell: ({ outcome }) => <Status tone={outcomes[outcome][0]} word={outcomes[outcome][1]} />
  },
  {
    key: 'details',
    label: 'Details',
    kind: 'opt2 wrap',
    value: (entry) => [...changeText(entry), entry.reason, entry.policy].filter(Boolean).join(' ') || undefined,
    cell: (entry) => <Details entry={entry} />
  }
]

interface AuditTableProps {
  readonly entries: readonly AuditLine[]
  /** True if there are older entries that are not loaded. */
  readonly isCut: boolean
}

/** Entries of the audit log, newest first unless sorted; the names in a row filter by them. */
export function AuditTable({ entries, isCut }: AuditTableProps) {
  const { location } = useApp()
  return (
    <SortedTable
      label="Audit log"
      rows={entries}
      columns={columnsFor((filter) => location.setQuery(filter))}
      keyOf={({ id }) => id}
      sortTip={isCut ? `Sorts the ${count(entries.length)} entries that are loaded` : undefined}
    />
  )
}
