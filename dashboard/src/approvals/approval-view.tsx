import type { Approval } from '../../../src/schemas/policy.ts'
import { useApp, useSource } from '../app-context.ts'
import type { Json } from '../form/json.ts'
import { JsonTree } from '../results/json-tree.tsx'
import { link } from '../router.ts'
import * as sources from '../sources.ts'
import { Fact, Facts } from '../ui/facts.tsx'
import { AsyncContent } from '../ui/panels.tsx'
import { Outcome, Status } from '../ui/status.tsx'
import { Ago, Clock } from '../ui/time.tsx'
import { TableHead } from '../ui/table-head.tsx'
import { QualifiedName, UntrustedText } from '../ui/untrusted-text.tsx'
import { Decision } from './decision.tsx'
import { callerOf, statuses, toolOf } from './words.ts'

function PolicyName({ rule }: { rule: string }) {
  const { role, may } = useApp().viewer.value
  const name = <UntrustedText text={rule} />
  return role !== 'development' && may.audit ? <a href={link('policy', rule)}>{name}</a> : name
}

const ApprovalFacts = ({ approval }: { approval: Approval }) => (
  <Facts>
    <Fact label="Caller" value={callerOf(approval)} note={<code>{approval.endpoint}</code>} />
    <Fact label="Policy" value={<PolicyName rule={approval.rule} />} />
    <Fact label="Asked" value={<Ago at={approval.at} />} />
    <Fact label="Until" value={<Clock at={approval.expires_at} />} />
    <Fact
      label="Status"
      value={<Status {...statuses[approval.status]} />}
      note={
        approval.decided_by !== undefined && (
          <>
            by <UntrustedText text={approval.decided_by} />
          </>
        )
      }
    />
  </Facts>
)

/** The tool, with its server's description. */
function Definition({ approval }: { approval: Approval }) {
  const name = toolOf(approval)
  const all = useSource(sources.tools)
  const tool = all.data.value?.tools.find(({ canonical_name: each }) => each === name)
  return (
    <section aria-labelledby="approval-tool">
      <h2 id="approval-tool">Tool</h2>
      <p>
        {tool ? (
          <a href={link('tool', name)}>
            <QualifiedName name={name} />
          </a>
        ) : (
          <QualifiedName name={name} />
        )}
      </p>
      {tool?.description && (
        <p class="desc">
          <UntrustedText text={tool.description} />
        </p>
      )}
      <p class="help wrap">
        Definition <code>{approval.definition}</code>
      </p>
    </section>
  )
}

/** Last calls of the caller, to judge this one by. */
function CallerCalls({ caller }: { caller: string }) {
  const calls = useSource(sources.calls({ caller, limit: 5 }))
  return (
    <section aria-labelledby="approval-calls">
      <h2 id="approval-calls">Recent calls of this caller</h2>
      <AsyncContent resource={calls} subject="The calls" rows={3}>
        {({ calls: rows }) =>
          rows.length === 0 ? (
            <p class="muted">No calls yet.</p>
          ) : (
            <table class="slim">
              <TableHead columns={['When', 'Call', 'Outcome']} />
              <tbody>
                {rows.map((call) => (
                  <tr key={call.id}>
                    <th scope="row">
                      <a href={link('call', call.id)}>
                        <Ago at={call.at} />
                      </a>
                    </th>
                    <td class="wrap">
                      <QualifiedName name={call.server ? `${call.server}__${call.item ?? ''}` : (call.item ?? '')} />
                    </td>
                    <td>
                      <Outcome outcome={call.outcome} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          )
        }
      </AsyncContent>
    </section>
  )
}

/** One call with everything that a decision needs. */
export function ApprovalView({ approval }: { approval: Approval }) {
  const { viewer } = useApp()
  const { arguments: args, reason, fingerprint } = approval
  return (
    <div class="stack">
      <ApprovalFacts approval={approval} />
      {reason !== undefined && (
        <p>
          Reason: <UntrustedText text={reason} />
        </p>
      )}
      <section aria-labelledby="approval-arguments">
        <h2 id="approval-arguments">Arguments</h2>
        {args === undefined ? (
          <p class="muted">Auditors do not see the arguments of calls.</p>
        ) : (
          <JsonTree value={args as Json} label="Arguments" />
        )}
        <p class="help wrap">
          Fingerprint of the call <code>{fingerprint}</code>
        </p>
      </section>
      {approval.can_decide && <Decision approval={approval} />}
      <Definition approval={approval} />
      {viewer.value.may.audit && <CallerCalls caller={approval.caller} />}
    </div>
  )
}
