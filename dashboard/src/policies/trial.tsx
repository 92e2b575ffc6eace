import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { ChangedCalls, PolicyReplayResult } from '../../../src/schemas/policy.ts'
import { change, ApiError } from '../api.ts'
import { count, plural } from '../format.ts'
import { link } from '../router.ts'
import { Fact, Facts } from '../ui/facts.tsx'
import { ErrorPanel, Skeleton } from '../ui/panels.tsx'
import { Status } from '../ui/status.tsx'
import { Table } from '../ui/table.tsx'
import { TableHead } from '../ui/table-head.tsx'
import { Ago } from '../ui/time.tsx'
import { UntrustedText } from '../ui/untrusted-text.tsx'
import type { PolicyDraft } from './draft.ts'

/** Change of the policies to try: one that is added or replaced, or the name of one that is removed. */
export type PolicyChange = { readonly with: PolicyDraft } | { readonly without: string }

/** A policy that is observed changes nothing: the trial takes it as enforced. */
const bodyOf = (tried: PolicyChange) =>
  'with' in tried ? { with: [{ ...tried.with, mode: 'enforce', enabled: true }] } : { without: [tried.without] }

const MAX_ROWS = 50

const effects = {
  denied: ['err', 'Newly denied'],
  confirm: ['warn', 'Newly confirmed'],
  approve: ['warn', 'Newly approved'],
  allowed: ['ok', 'Newly allowed'],
  unknown: ['warn', 'Not known']
} as const

const Change = ({ change: tried }: { change: ChangedCalls }) => {
  const [tone, word] = effects[tried.change]
  return (
    <tr>
      <th scope="row" class="wrap">
        <Status tone={tone} word={word} />
        <span class="help blk">
          <UntrustedText text={tried.caller} /> ·{' '}
          <UntrustedText text={tried.item ?? 'an item not known to the caller'} />
          {tried.server !== undefined && (
            <>
              {' of '}
              <UntrustedText text={tried.server} />
            </>
          )}
        </span>
      </th>
      <td class="num">{count(tried.calls)}</td>
      <td>
        <a href={link('call', tried.last_id)}>
          <Ago at={tried.last_at} />
        </a>
      </td>
    </tr>
  )
}

function Result({ result }: { result: PolicyReplayResult }) {
  const {
    calls,
    denied,
    confirm,
    approve,
    allowed,
    unknown,
    callers_gone: gone,
    changes,
    complete,
    changes_cut: isCut
  } = result
  return (
    <div class="stack">
      <p role="status">
        {denied + confirm + approve + allowed + unknown === 0
          ? `None of ${plural(calls, 'call')} of the last day would be answered differently.`
          : `Of ${plural(calls, 'call')} of the last day, ${count(denied)} would be denied and ${count(allowed)} allowed that were not.`}
      </p>
      <Facts>
        <Fact label="Examined" value={count(calls)} />
        <Fact label="Newly denied" value={count(denied)} bad={denied > 0} />
        {confirm > 0 && <Fact label="Newly confirmed" value={count(confirm)} />}
        {approve > 0 && <Fact label="Newly approved" value={count(approve)} />}
        <Fact label="Newly allowed" value={count(allowed)} />
        <Fact label="Not known" value={count(unknown)} />
      </Facts>
      {unknown > 0 && (
        <p class="help">A condition decides on the calls that are not known, and their arguments were not recorded.</p>
      )}
      {gone > 0 && <p class="help">The callers of {plural(gone, 'call')} do not exist any more.</p>}
      {!complete && <p class="help">The trial ended early: older calls were not examined.</p>}
      {changes.length > 0 && (
        <Table label="Calls that would be answered differently">
          <TableHead columns={['Effect', ['Calls', 'num'], 'Newest']} />
          <tbody>
            {changes.slice(0, MAX_ROWS).map((each, at) => (
              <Change key={at} change={each} />
            ))}
          </tbody>
        </Table>
      )}
      {(isCut || changes.length > MAX_ROWS) && <p class="help">Further ones are not shown.</p>}
    </div>
  )
}

/** Decides on the calls of the last day as if they were repeated after a change. Stores nothing and calls nothing. */
export function Trial({ change: tried }: { change: PolicyChange }) {
  const result = useSignal<PolicyReplayResult | undefined>(undefined)
  const failure = useSignal<ApiError | undefined>(undefined)
  const body = JSON.stringify(bodyOf(tried))
  const run = async () => {
    result.value = undefined
    failure.value = undefined
    try {
      result.value = await change<PolicyReplayResult>('POST', '/api/v0/policies/replay', JSON.parse(body))
    } catch (error) {
      failure.value = error as ApiError
    }
  }
  useEffect(() => {
    void run()
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- once for each change
  }, [body])
  if (failure.value) return <ErrorPanel title="The trial failed." error={failure.value} onRetry={run} />
  if (!result.value) return <Skeleton rows={3} />
  return <Result result={result.value} />
}
