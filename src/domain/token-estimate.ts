/** Part of a tool definition that a model reads */
export interface ToolText {
  readonly name: string
  readonly description?: string | undefined
  readonly input_schema?: unknown
}

const encoder = new TextEncoder()

/** Estimates the tokens of a text by its bytes in UTF-8. */
export const tokensOfBytes = (bytes: number): number => Math.ceil(bytes / 4)

/**
 * Estimates the tokens of a tool definition in a model's context: bytes of UTF-8 divided by four. Displayed with a `~`.
 */
export function estimateTokens({ name, description = '', input_schema }: ToolText): number {
  const schema = input_schema === undefined ? '' : JSON.stringify(input_schema)
  return tokensOfBytes(encoder.encode(name + description + schema).length)
}
