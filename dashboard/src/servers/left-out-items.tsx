import type { ServerDetails } from '../../../src/schemas/dashboard/servers.ts'
import { count } from '../format.ts'
import { UntrustedText } from '../ui/untrusted-text.tsx'
import { TableHead } from '../ui/table-head.tsx'

/** Items that the server lists and the gateway does not serve, each with the reason. */
export function LeftOutItems({ server }: { server: ServerDetails }) {
  const { left_out: items, left_out_count: total } = server
  if (total === 0) return null
  return (
    <section class="panel flush below" aria-label="Left out">
      <h2 class="phead">Left out: {count(total)}</h2>
      <table class="slim">
        <TableHead columns={['Item', 'Kind', 'Reason']} />
        <tbody>
          {items.map(({ kind, name, reason }, at) => (
            <tr key={at}>
              <th scope="row">
                {name === undefined ? (
                  <span class="muted">no name</span>
                ) : (
                  <code class="wrap">
                    <UntrustedText text={name} />
                  </code>
                )}
              </th>
              <td>{kind}</td>
              <td>
                <UntrustedText text={reason} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {total > items.length && <p class="pad muted">{count(total - items.length)} more</p>}
    </section>
  )
}
