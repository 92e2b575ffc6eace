import type { Approval } from '../../../src/schemas/policy.ts'
import { link } from '../router.ts'
import { SortedTable, type Column } from '../table/sorted-table.tsx'
import { Status } from '../ui/status.tsx'
import { Ago } from '../ui/time.tsx'
import { QualifiedName, UntrustedText } from '../ui/untrusted-text.tsx'
import { callerOf, statuses, toolOf } from './words.ts'

const columns: readonly Column<Approval>[] = [
  {
    key: 'tool',
    label: 'Call',
    kind: 'wrap',
    value: toolOf,
    cell: (approval) => (
      <>
        <a href={link('approval', approval.id)}>
          <QualifiedName name={toolOf(approval)} />
        </a>
        <span class="help blk phone">{callerOf(approval)}</span>
      </>
    )
  },
  { key: 'caller', label: 'Caller', kind: 'opt wrap', value: callerOf, cell: callerOf },
  {
    key: 'rule',
    label: 'Policy',
    kind: 'opt2 wrap',
    value: ({ rule }) => rule,
    cell: ({ rule }) => <UntrustedText text={rule} />
  },
  { key: 'at', label: 'Asked', kind: 'opt', value: ({ at }) => at, cell: ({ at }) => <Ago at={at} /> },
  { key: 'until', label: 'Until', value: ({ expires_at: at }) => at, cell: ({ expires_at: at }) => <Ago at={at} /> },
  {
    key: 'status',
    label: 'Status',
    kind: 'wrap',
    value: ({ status }) => statuses[status].word,
    cell: ({ status, decided_by: by }) => (
      <>
        <Status {...statuses[status]} />
        {by !== undefined && (
          <span class="help blk">
            by <UntrustedText text={by} />
          </span>
        )}
      </>
    )
  }
]

interface ApprovalTableProps {
  readonly approvals: readonly Approval[]
  readonly query: Readonly<Record<string, string>>
}

/** Calls that wait for a decision, or on which somebody decided. */
export const ApprovalTable = ({ approvals, query }: ApprovalTableProps) => (
  <SortedTable label="Approvals" rows={approvals} columns={columns} keyOf={({ id }) => id} query={query} />
)
