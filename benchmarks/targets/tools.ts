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

/** `escapes`: JSON in a string, a backslash every few bytes. `unicode`: nothing but `\\uXXXX`, as encoders to ASCII write it. */
export type Text = 'plain' | 'escapes' | 'unicode'

const rows = (count: number) =>
  JSON.stringify(
    Array.from({ length: count }, (_, id) => ({ id, name: `item ${id}`, tags: ['a', 'b'], isOpen: id % 2 === 0 })),
    null,
    1
  )

/** The inside of a JSON string; more than `size` bytes. */
const insides: Readonly<Record<Text, (size: number) => string>> = {
  plain: (size) => 'x'.repeat(size),
  escapes: (size) => JSON.stringify(rows(Math.ceil(size / 60) + 1)).slice(1, -1),
  unicode: (size) => String.raw`\u0441\u044a\u0435\u0448\u044c`.repeat(Math.ceil(size / 30) + 1)
}

/** The result of `echo` as JSON: text of `size` bytes, a few more where an escape does not end there. */
export function echoResult(size: number, text: Text = 'plain'): string {
  const inside = insides[text](size)
  let end = Math.max(size - CALL_MARKER.length, 0)
  if (text === 'unicode') end -= end % 6
  // a backslash at the end may belong to what follows
  while (inside[end - 1] === '\\') end++
  return `{"content":[{"type":"text","text":"${CALL_MARKER}${inside.slice(0, end)}"}],"isError":false}`
}
