/** Kinds of definitions: of items of a server's lists, and the server's own instructions */
export type DefinitionKind = 'tool' | 'prompt' | 'resource' | 'template' | 'skill' | 'instructions'

/** Kind and name of the item that holds a server's instructions */
export const INSTRUCTIONS = 'instructions'

/**
 * State of a definition: `new` has no accepted one, `changed` differs from it, `rejected` is one of both that an
 * administrator does not want to see again
 */
export type DefinitionState = 'accepted' | 'new' | 'changed' | 'rejected'

/** Policy for definitions that differ from the accepted ones (pinned-definitions.md#policies) */
export type DefinitionPolicy = 'follow' | 'pin' | 'block'

export const definitionKinds: readonly DefinitionKind[] = [
  'tool',
  'prompt',
  'resource',
  'template',
  'skill',
  'instructions'
]

/** Rules of the warnings (pinned-definitions.md#warnings) */
export const warningRules = [
  'hidden_characters',
  'mixed_scripts',
  'override',
  'secrecy',
  'instruction_tag',
  'secret_path',
  'sending',
  'secrets',
  'before_other_tools',
  'encoded',
  'other_tool',
  'milder_annotation'
] as const
export type WarningRule = (typeof warningRules)[number]
