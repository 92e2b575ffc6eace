import type { Effect } from '../../../src/domain/policy/rule.ts'
import type { ObservedCalls, Policy } from '../../../src/schemas/policy.ts'
import { count, plural } from '../format.ts'
import { Ago } from '../ui/time.tsx'

const changes = {
  allow: 'allowed',
  deny: 'denied',
  confirm: 'confirmed first',
  approve: 'approved first'
} as const satisfies Record<Effect, string>

type Observed = Pick<Policy, 'effect'> & { readonly observed: ObservedCalls }

/** Returns the calls that an observed policy would have decided on, in a few words. */
export const observedText = ({ effect, observed: { calls, changed } }: Observed): string => {
  if (calls === 0) return 'no call yet'
  return changed === 0
    ? `${plural(calls, 'call')}, none changed`
    : `${plural(calls, 'call')}, ${count(changed)} would be ${changes[effect]}`
}

/** Calls that an observed policy has met, on its own page. */
export function ObservedFacts({ effect, observed }: Observed) {
  const { calls, changed, since } = observed
  if (since === undefined)
    return (
      <p class="help more">
        No call has matched this policy since it is observed. It is counted here, and has no effect.
      </p>
    )
  return (
    <p class="help more">
      Observed: {plural(calls, 'call has', 'calls have')} matched, the first <Ago at={since} />,{' '}
      {changed === 0
        ? 'and enforcing the policy would have changed none.'
        : `and ${count(changed)} would have been ${changes[effect]}.`}
    </p>
  )
}
