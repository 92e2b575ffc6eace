import type { Tone } from '../ui/icons.tsx'
import { useApp } from '../app-context.ts'
import { count } from '../format.ts'
import { Status } from '../ui/status.tsx'
import { Table } from '../ui/table.tsx'
import { TableHead } from '../ui/table-head.tsx'
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

/** What an entry says beyond person, action and thing. */
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

function AuditRow({ entry }: { entry: AuditLine }) {
  const { location } = useApp()
  const { at, actor, actor_kind: kind, action, target, outcome, address } = entry
  const [tone, word] = outcomes[outcome]
  return (
    <tr>
      <td class="num l opt2">
        <Clock at={at} />
      </td>
      <th scope="row">
        <span class="mono">
          <UntrustedText text={action} />
        </span>
        <span class="blk wrap">
          <FilterBy text={target} label="Only entries about" onClick={() => location.setQuery({ target })} />
        </span>
        <span class="phone help">
          <Clock at={at} />, <UntrustedText text={actor || kind} />
          <Details entry={entry} />
        </span>
      </th>
      <td class="opt wrap">
        <FilterBy text={actor} label="Only entries of" onClick={() => location.setQuery({ actor })} />
        <span class="help blk">
          {kind}
          {address && (
            <>
              , <UntrustedText text={address} />
            </>
          )}
        </span>
      </td>
      <td>
        <Status tone={tone} word={word} />
      </td>
      <td class="opt2 wrap">
        <Details entry={entry} />
      </td>
    </tr>
  )
}

/** Entries of the audit log, newest first; the names in a row filter by them. */
export const AuditTable = ({ entries }: { entries: readonly AuditLine[] }) => (
  <Table label="Audit log">
    <TableHead columns={[['Time', 'opt2'], 'What', ['Who', 'opt'], 'Outcome', ['Details', 'opt2']]} />
    <tbody>
      {entries.map((entry) => (
        <AuditRow key={entry.id} entry={entry} />
      ))}
    </tbody>
  </Table>
)
