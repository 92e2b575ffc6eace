import { policySentence } from '../../../src/domain/policy/sentence.ts'
import type { Policy, PolicyDecision } from '../../../src/schemas/policy.ts'
import { sentence } from '../format.ts'
import { link } from '../router.ts'
import { Status } from '../ui/status.tsx'
import { UntrustedText } from '../ui/untrusted-text.tsx'

const hidden = {
  server: 'No server offers it.',
  switch: 'It is disabled.',
  group: 'The endpoint of this tool group does not serve it.',
  policy: 'A policy denies it.',
  default: 'No policy allows it.'
} as const

const words = { allow: 'Allowed', deny: 'Denied', confirm: 'Needs confirmation', approve: 'Needs approval' } as const
const tones = { allow: 'ok', deny: 'err', confirm: 'warn', approve: 'warn' } as const

/** Returns why a call is allowed or denied, without the policy that decided. */
function reasonOf({ decision, hidden_by: cause, policy }: PolicyDecision): string {
  if (decision === 'deny') return cause === undefined ? 'It is denied.' : hidden[cause]
  if (decision === 'confirm') return 'A policy lets the call run once the person at the client has confirmed it.'
  if (decision === 'approve') return 'A policy lets the call run once an approver has said yes.'
  return policy === undefined ? 'No policy denies it, and without policies it is allowed.' : 'A policy allows it.'
}

const conditions = {
  true: 'its condition holds',
  false: 'its condition does not hold',
  error: 'its condition fails, which counts against the caller'
} as const

type Match = PolicyDecision['matched'][number]

function MatchedPolicy({
  match,
  policy,
  isDeciding
}: {
  match: Match
  policy: Policy | undefined
  isDeciding: boolean
}) {
  const notes = [
    ...(isDeciding ? ['it decided'] : []),
    ...(match.mode === 'observe' ? ['observed, without effect'] : []),
    ...(match.condition === undefined ? [] : [conditions[match.condition]]),
    ...(match.missing_scopes?.length ? [`the token lacks ${match.missing_scopes.join(' ')}`] : [])
  ]
  return (
    <li class="stack">
      <span>
        <a href={link('policy', match.policy)}>
          <UntrustedText text={policy ? policySentence(policy) : match.policy} />
        </a>{' '}
        <span class="help">
          <code>
            <UntrustedText text={match.policy} />
          </code>
          {notes.length > 0 && (
            <>
              {' · '}
              <UntrustedText text={notes.join('; ')} />
            </>
          )}
        </span>
      </span>
    </li>
  )
}

interface DecisionProps {
  readonly caller: string
  readonly item: string
  readonly decision: PolicyDecision
  readonly policies: readonly Policy[]
}

/** Answer to "why can or can't … call …", with every policy that matches. */
export function Decision({ caller, item, decision, policies }: DecisionProps) {
  const { matched, policy: deciding, arguments_refused: refused, scopes } = decision
  const isAllowed = decision.decision !== 'deny'
  return (
    <section class="panel stack" role="status" aria-label="Decision">
      <h2>
        <UntrustedText text={caller} /> {isAllowed ? 'can' : 'cannot'} use <UntrustedText text={item} />
      </h2>
      <p>
        <Status tone={tones[decision.decision]} word={words[decision.decision]} /> {reasonOf(decision)}
      </p>
      {refused !== undefined && (
        <p>
          <UntrustedText text={sentence(refused)} />
        </p>
      )}
      {scopes !== undefined && scopes.length > 0 && (
        <p>
          A token with these scopes would be allowed: <code>{scopes.join(' ')}</code>
        </p>
      )}
      {matched.length > 0 && (
        <>
          <h3>Policies for this caller and item</h3>
          <ul class="stack">
            {matched.map((match) => (
              <MatchedPolicy
                key={match.policy}
                match={match}
                policy={policies.find(({ name }) => name === match.policy)}
                isDeciding={match.policy === deciding}
              />
            ))}
          </ul>
        </>
      )}
    </section>
  )
}
