import type { Overview } from '../../../src/schemas/dashboard/overview.ts'

export type StepId = 'add' | 'try' | 'connect' | 'invite'

export interface Step {
  readonly id: StepId
  readonly isDone: boolean
}

type Progress = Pick<Overview, 'server_count' | 'recorded' | 'has_calls' | 'has_client' | 'has_people'>

/**
 * Returns the steps from an empty gateway to a connected client, and in the console to other people. Without a call log
 * nobody knows whether a tool was called, so that step is left out.
 */
export const stepsOf = ({ server_count, recorded, has_calls, has_client, has_people }: Progress): readonly Step[] => [
  { id: 'add', isDone: server_count > 0 },
  ...(recorded === 'nothing' ? [] : [{ id: 'try', isDone: has_calls } as const]),
  { id: 'connect', isDone: has_client },
  ...(has_people === undefined ? [] : [{ id: 'invite', isDone: has_people } as const])
]
