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

const effectTags = {
  allow: { style: 'tag ok', label: 'Allow' },
  deny: { style: 'tag err', label: 'Deny' },
  confirm: { style: 'tag warn', label: 'Confirm' },
  approve: { style: 'tag warn', label: 'Approve' }
} as const satisfies Record<Effect, { readonly style: string; readonly label: string }>

export const EffectTag = ({ effect }: { effect: Effect }) => (
  <span class={effectTags[effect].style}>{effectTags[effect].label}</span>
)
