const inputSchema = {
  type: 'object',
  properties: {
    message: { type: 'string', description: 'text to give back' },
    size: { type: 'integer', description: 'bytes of the answer', minimum: 1 },
    limit: { type: 'integer', minimum: 1, maximum: 100 }
  },
  required: ['message']
}

/** Definitions of a usual size, the first of them `echo`. */
export const tools = (count: number, prefix = '') =>
  Array.from({ length: count }, (_, index) => ({
    name: `${prefix}${index === 0 ? 'echo' : `tool_${index}`}`,
    description: `Tool number ${index}: gives a message back in an answer of the size that is asked for.`,
    inputSchema,
    annotations: { readOnlyHint: true }
  }))

/** Stands in every right answer to a call, wherever the answer is cut in two. */
export const CALL_MARKER = 'x'.repeat(20)

/** The result of `echo` as JSON: text of `size` bytes. */
export const echoResult = (size: number) =>
  JSON.stringify({ content: [{ type: 'text', text: 'x'.repeat(size) }], isError: false })
