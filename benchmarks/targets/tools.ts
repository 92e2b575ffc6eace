const inputSchema = {
  type: 'object',
  properties: {
    message: { type: 'string', description: 'text to give back' },
    size: { type: 'integer', description: 'bytes of the answer', minimum: 1 },
    text: { type: 'string', description: 'plain, escapes or unicode' },
    limit: { type: 'integer', minimum: 1, maximum: 100 }
  },
  required: ['message']
}

/** Tool definitions of a typical size, the first of them `echo`. */
export const tools = (count: number, prefix = '') =>
  Array.from({ length: count }, (_, index) => ({
    name: `${prefix}${index === 0 ? 'echo' : `tool_${index}`}`,
    description: `Tool number ${index}: gives a message back in an answer of the size that is asked for.`,
    inputSchema,
    annotations: { readOnlyHint: true }
  }))

/** Text that every correct call result contains, wherever the response is split. */
export const CALL_MARKER = 'x'.repeat(20)

/**
 * `escapes`: JSON inside a string, a backslash every few bytes. `unicode`: only `\\uXXXX`, as ASCII-only encoders write
 * it.
 */
export type Text = 'plain' | 'escapes' | 'unicode'

const rows = (count: number) =>
  JSON.stringify(
    Array.from({ length: count }, (_, id) => ({ id, name: `item ${id}`, tags: ['a', 'b'], isOpen: id % 2 === 0 })),
    null,
    1
  )

/** Content of a JSON string, longer than `size` bytes. */
const insides: Readonly<Record<Text, (size: number) => string>> = {
  plain: (size) => 'x'.repeat(size),
  escapes: (size) => JSON.stringify(rows(Math.ceil(size / 60) + 1)).slice(1, -1),
  unicode: (size) => String.raw`\u0441\u044a\u0435\u0448\u044c`.repeat(Math.ceil(size / 30) + 1)
}

/** The result of `echo` as JSON: text of `size` bytes, or a few more to complete an escape sequence. */
export function echoResult(size: number, text: Text = 'plain'): string {
  const inside = insides[text](size)
  let end = Math.max(size - CALL_MARKER.length, 0)
  if (text === 'unicode') end -= end % 6
  // a trailing backslash may begin an escape sequence
  while (inside[end - 1] === '\\') end++
  return `{"content":[{"type":"text","text":"${CALL_MARKER}${inside.slice(0, end)}"}],"isError":false}`
}
