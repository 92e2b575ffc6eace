/** The part of a tool that a model reads. */
export interface Described {
  readonly name: string
  readonly description?: string | undefined
  readonly input_schema?: unknown
}

const encoder = new TextEncoder()

/** About how much of a model's context a tool takes: bytes of UTF-8, four to a token. Shown with a `~`. */
export function estimateTokens({ name, description = '', input_schema }: Described): number {
  const schema = input_schema === undefined ? '' : JSON.stringify(input_schema)
  return Math.ceil(encoder.encode(name + description + schema).length / 4)
}
