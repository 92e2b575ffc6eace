import type { CallEntry } from '../../../src/schemas/call.ts'
import type { Check } from '../../../src/schemas/check.ts'
import type { ServerStatus } from '../../../src/schemas/server-status.ts'
import { Shape, type Tone } from './icons.tsx'

/** State as shape, word and colour. */
export const Status = ({ tone, word }: { tone: Tone; word: string }) => (
  <span class={`st ${tone}`}>
    <Shape tone={tone} />
    {word}
  </span>
)

const serverStates: Readonly<Record<ServerStatus, readonly [Tone, string]>> = {
  connected: ['ok', 'Connected'],
  connecting: ['warn', 'Connecting'],
  sign_in_needed: ['warn', 'Sign-in needed'],
  failing: ['err', 'Failing'],
  disabled: ['off', 'Disabled'],
  unknown: ['off', 'Not contacted yet']
}

export const ServerState = ({ status }: { status: ServerStatus }) => {
  const [tone, word] = serverStates[status]
  return <Status tone={tone} word={word} />
}

export const outcomes: Readonly<Record<CallEntry['outcome'], readonly [Tone, string]>> = {
  ok: ['ok', 'OK'],
  task: ['ok', 'Task started'],
  tool_error: ['warn', 'Tool error'],
  failed: ['err', 'Failed'],
  timeout: ['err', 'Timed out'],
  cancelled: ['off', 'Cancelled'],
  refused: ['off', 'Refused']
}

export const Outcome = ({ outcome }: { outcome: CallEntry['outcome'] }) => {
  const [tone, word] = outcomes[outcome]
  return <Status tone={tone} word={word} />
}

const checks: Readonly<Record<Check['status'], readonly [Tone, string]>> = {
  pass: ['ok', 'Pass'],
  warn: ['warn', 'Warning'],
  fail: ['err', 'Fail']
}

export const CheckState = ({ status }: { status: Check['status'] }) => {
  const [tone, word] = checks[status]
  return <Status tone={tone} word={word} />
}
