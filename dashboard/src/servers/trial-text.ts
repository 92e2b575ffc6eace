import type { ServerTrial } from '../../../src/schemas/dashboard/servers.ts'
import { duration, plural, sentence } from '../format.ts'

const offeredKinds = ({ tool_count, prompt_count, resource_count, skill_count }: ServerTrial): string =>
  [
    plural(tool_count, 'tool'),
    ...(prompt_count > 0 ? [plural(prompt_count, 'prompt')] : []),
    ...(resource_count > 0 ? [plural(resource_count, 'resource')] : []),
    ...(skill_count > 0 ? [plural(skill_count, 'skill')] : [])
  ].join(', ')

/** Returns the result of a server test as one sentence. */
export function trialText(trial: ServerTrial): string {
  const { status, ms, error } = trial
  if (status === 'connected') return `Connected in ${duration(ms)}: ${offeredKinds(trial)}.`
  if (status === 'sign_in_needed') return 'Reachable; sign-in required.'
  return `Failed after ${duration(ms)}. ${sentence(error ?? 'No reason was given')}`
}
