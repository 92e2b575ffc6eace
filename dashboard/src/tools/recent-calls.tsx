import { useSource } from '../app-context.ts'
import { AsyncContent } from '../ui/panels.tsx'
import { UntrustedText } from '../ui/untrusted-text.tsx'
import { Outcome } from '../ui/status.tsx'
import { Ago } from '../ui/time.tsx'
import { bytes, duration } from '../format.ts'
import { link } from '../router.ts'
import * as sources from '../sources.ts'
import { TableHead } from '../ui/table-head.tsx'

/** Last calls of one tool, from all endpoints. */
export function RecentCalls({ tool }: { tool: string }) {
  const calls = useSource(sources.calls({ tool, limit: 20 }))
  return (
    <AsyncContent resource={calls} subject="The calls" rows={3}>
      {({ calls: rows }) =>
        rows.length === 0 ? (
          <p class="muted">No calls yet.</p>
        ) : (
          <table class="slim">
            <TableHead columns={['When', 'Outcome', 'Endpoint', ['Result', 'num'], ['Time', 'num']]} />
            <tbody>
              {rows.map((call) => (
                <tr key={call.id}>
                  <th scope="row">
                    <a href={link('call', call.id)}>
                      <Ago at={call.at} />
                    </a>
                  </th>
                  <td>
                    <Outcome outcome={call.outcome} />
                    {call.error && (
                      <span class="help blk">
                        <UntrustedText text={call.error} />
                      </span>
                    )}
                  </td>
                  <td>
                    <code>{call.endpoint}</code>
                  </td>
                  <td class="num">{bytes(call.response_bytes)}</td>
                  <td class="num">{duration(call.total_ms)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )
      }
    </AsyncContent>
  )
}
