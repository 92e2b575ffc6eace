import type { Definition } from '../../../src/schemas/definition.ts'

type Rule = Definition['warnings'][number]['rule']

/** Finding of each rule of the warnings, after the name of a member */
export const warningWords: Readonly<Record<Rule, string>> = {
  hidden_characters: 'contains hidden characters',
  mixed_scripts: 'mixes look-alike letters of several scripts',
  override: 'tells a model to ignore its instructions',
  secrecy: 'asks to keep something from the user',
  instruction_tag: 'looks like instructions to a model',
  secret_path: 'names files that hold secrets',
  sending: 'asks to send something to an address',
  secrets: 'asks for secrets',
  before_other_tools: 'wants to run before other tools',
  encoded: 'contains encoded text that decodes to instructions',
  other_tool: 'names a tool of another server',
  milder_annotation: 'claims to do less harm than before'
}

export const kindWords: Readonly<Record<Definition['kind'], string>> = {
  tool: 'Tool',
  prompt: 'Prompt',
  resource: 'Resource',
  template: 'Resource template',
  skill: 'Skill',
  instructions: 'Instructions'
}

/** Returns what agents get while the definition waits. */
export function servedWords({ policy, state, pinned_fingerprint: pinned, changes }: Definition): string {
  if (policy === 'follow') return 'Agents get the new definition: the server has the policy follow.'
  if (pinned === undefined) return 'It is not served until somebody accepts it.'
  if (policy === 'block') return 'It is not served until somebody accepts it: the server has the policy block.'
  const isTextLost = state !== 'accepted' && changes.every(({ before }) => before === null)
  return isTextLost
    ? 'It is not served until somebody accepts it: only the fingerprint of the accepted definition is known.'
    : 'Agents get the accepted definition.'
}

export const policyWords: Readonly<Record<Definition['policy'], string>> = {
  follow: 'follow: served at once',
  pin: 'pin: the accepted ones are served meanwhile',
  block: 'block: changed items are not served'
}

/** Members of a server that may have changed since its definitions were accepted */
export const originWords: Readonly<Record<string, string>> = {
  server_info_name: 'The server calls itself otherwise',
  command: 'The command is another one',
  url: 'The server is at another origin'
}
