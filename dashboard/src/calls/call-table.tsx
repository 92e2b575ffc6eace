import { Fragment } from 'preact'
import { withoutServerPrefix } from '../../../src/domain/server-error.ts'
import type { CallEntry } from '../../../src/schemas/call.ts'
import { Chevron } from '../ui/icons.tsx'
import { QualifiedName, UntrustedText } from '../ui/untrusted-text.tsx'
import { Outcome } from '../ui/status.tsx'
import { Table } from '../ui/table.tsx'
import { Clock } from '../ui/time.tsx'
import { count, dayOf, duration, weekdayOf } from '../format.ts'
import { useApp } from '../app-context.ts'
import { openRow } from '../ui/open-row.ts'
import { CallDetail } from './call-detail.tsx'
import { calledItem, callerText, endpointText, isFailed } from './call-text.ts'
import { TableHead } from '../ui/table-head.tsx'

const COLUMNS = 7

interface CallTableProps {
  readonly label: string
  readonly calls: readonly CallEntry[]
  /** Id of the expanded row. */
  readonly open: string | undefined
  readonly onToggle: (id: string) => void
}

const isBad = (call: CallEntry) => isFailed(call) || call.outcome === 'tool_error'

interface CallRowProps {
  readonly call: CallEntry
  readonly isOpen: boolean
  readonly onToggle: () => void
}

const CallRow = ({ call, isOpen, onToggle }: CallRowProps) => (
  <tr class={`opens ${isOpen ? `open ${isBad(call) ? '' : 'fine'}` : ''}`} onClick={openRow}>
    <td class="num l opt2">
      <Clock at={call.at} hasDay={false} />
    </td>
    <th scope="row">
      <button type="button" class="lnk" data-row aria-expanded={isOpen} onClick={onToggle}>
        <Chevron />
        <QualifiedName name={calledItem(call)} />
      </button>
      <span class="phone help">
        <Clock at={call.at} hasDay={false} />, {duration(call.total_ms)}
        {call.client && (
          <>
            , <UntrustedText text={call.client} />
          </>
        )}
      </span>
    </th>
    <td>
      <Outcome outcome={call.outcome} />
    </td>
    <td class="opt client">
      <UntrustedText text={callerText(call)} />
    </td>
    <td class="opt">
      <code class="muted">
        <UntrustedText text={endpointText(call.endpoint)} />
      </code>
    </td>
    <td class="num opt2">
      {count(Math.round(call.total_ms))}
      <span class="muted"> ms</span>
    </td>
    <td class="opt ell">{call.error && <UntrustedText text={withoutServerPrefix(call.error)} />}</td>
  </tr>
)

/** Table of calls, newest first; a row expands to show details. Each day before today has a heading. */
export function CallTable({ label, calls, open, onToggle }: CallTableProps) {
  const { now } = useApp()
  const today = dayOf(now.value)
  return (
    <Table label={label} kind="calls">
      <TableHead
        columns={[
          ['Time', 'opt2'],
          'Item',
          'Outcome',
          ['Client', 'opt'],
          ['Endpoint', 'opt'],
          ['Took', 'num opt2'],
          ['Error', 'opt']
        ]}
      />
      <tbody>
        {calls.map((call, at) => {
          const isOpen = call.id === open
          const day = dayOf(Date.parse(call.at))
          const previous = at === 0 ? today : dayOf(Date.parse(calls[at - 1]!.at))
          return (
            <Fragment key={call.id}>
              {day !== previous && (
                <tr class="day">
                  <th colSpan={COLUMNS} scope="rowgroup">
                    {weekdayOf(Date.parse(call.at))}
                  </th>
                </tr>
              )}
              <CallRow call={call} isOpen={isOpen} onToggle={() => onToggle(call.id)} />
              {isOpen && (
                <tr class={`detail ${isBad(call) ? '' : 'fine'}`}>
                  <td colSpan={COLUMNS}>
                    <CallDetail id={call.id} />
                  </td>
                </tr>
              )}
            </Fragment>
          )
        })}
      </tbody>
    </Table>
  )
}
