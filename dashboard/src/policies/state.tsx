import type { Effect, Mode } from '../../../src/domain/policy/rule.ts'
import { Status } from '../ui/status.tsx'

interface StateProps {
  readonly mode?: Mode | undefined
  readonly enabled?: boolean | undefined
}

/** Returns the state of a policy: `off` if it is disabled, else its mode. */
export const stateOf = ({ mode = 'enforce', enabled = true }: StateProps): 'off' | Mode => (enabled ? mode : 'off')

const states = {
  enforce: ['ok', 'Enforced'],
  observe: ['warn', 'Observed'],
  off: ['off', 'Off']
} as const

export const PolicyState = (policy: StateProps) => {
  const [tone, word] = states[stateOf(policy)]
  return <Status tone={tone} word={word} />
}

export const EffectTag = ({ effect }: { effect: Effect }) => (
  <span class={effect === 'allow' ? 'tag ok' : 'tag err'}>{effect === 'allow' ? 'Allow' : 'Deny'}</span>
)
