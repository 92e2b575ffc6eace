import type { CallToolResult, Tool } from '@modelcontextprotocol/sdk/types.js'

type Arguments = Readonly<Record<string, unknown>>
type Output = Record<string, unknown>

interface DemoTool {
  readonly definition: Tool
  /** Returns the structured result; an Error becomes a tool-level error, which the model can read. */
  readonly run: (args: Arguments) => Output
}

const readOnly = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false }

function number(args: Arguments, name: string): number {
  const value = args[name]
  if (typeof value !== 'number') throw new Error(`"${name}" must be a number`)
  return value
}

function text(args: Arguments, name: string): string {
  const value = args[name]
  if (typeof value !== 'string') throw new Error(`"${name}" must be a string`)
  return value
}

const add: DemoTool = {
  definition: {
    name: 'add',
    title: 'Add two numbers',
    description: 'Adds two numbers and returns their sum.',
    inputSchema: {
      type: 'object',
      properties: { a: { type: 'number' }, b: { type: 'number' } },
      required: ['a', 'b'],
      additionalProperties: false
    },
    outputSchema: { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] },
    annotations: { title: 'Add two numbers', ...readOnly }
  },
  run: (args) => ({ sum: number(args, 'a') + number(args, 'b') })
}

/** Formats a time as ISO 8601: `Intl` prints the offset as `GMT+02:00`, or plain `GMT` for zero. */
function isoTime(now: Date, zone: string): string {
  const zoned = { timeZone: zone, timeZoneName: 'longOffset' } as const
  const fields = { year: 'numeric', month: '2-digit', day: '2-digit' } as const
  const clock = { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' } as const
  const format = new Intl.DateTimeFormat('en-CA', { ...zoned, ...fields, ...clock })
  const part = Object.fromEntries(format.formatToParts(now).map(({ type, value }) => [type, value]))
  const offset = part.timeZoneName?.replace('GMT', '') || '+00:00'
  return `${part.year}-${part.month}-${part.day}T${part.hour}:${part.minute}:${part.second}${offset}`
}

function timeIn(zone: string): Output {
  try {
    return { time: isoTime(new Date(), zone), zone }
  } catch {
    throw new Error(`"${zone}" is not a time zone; use an IANA name, for example Europe/Berlin`)
  }
}

const timeNow: DemoTool = {
  definition: {
    name: 'time_now',
    title: 'Time in a zone',
    description: 'Returns the current time in an IANA time zone (for example Europe/Berlin). Default: UTC.',
    inputSchema: {
      type: 'object',
      properties: { zone: { type: 'string', description: 'IANA time zone', default: 'UTC' } },
      additionalProperties: false
    },
    outputSchema: {
      type: 'object',
      properties: { time: { type: 'string', format: 'date-time' }, zone: { type: 'string' } },
      required: ['time', 'zone']
    },
    annotations: { title: 'Time in a zone', ...readOnly, idempotentHint: false }
  },
  run: (args) => timeIn(args.zone === undefined ? 'UTC' : text(args, 'zone'))
}

const wordCount: DemoTool = {
  definition: {
    name: 'word_count',
    title: 'Count words',
    description: 'Counts the words, characters and lines of a text. Words are what white space separates.',
    inputSchema: {
      type: 'object',
      properties: { text: { type: 'string' } },
      required: ['text'],
      additionalProperties: false
    },
    outputSchema: {
      type: 'object',
      properties: {
        words: { type: 'integer' },
        characters: { type: 'integer' },
        lines: { type: 'integer' }
      },
      required: ['words', 'characters', 'lines']
    },
    annotations: { title: 'Count words', ...readOnly }
  },
  run: (args) => {
    const given = text(args, 'text')
    const words = given.split(/\s+/).filter(Boolean).length
    return {
      words,
      characters: [...new Intl.Segmenter().segment(given)].length,
      lines: given === '' ? 0 : given.split('\n').length
    }
  }
}

export const tools: readonly DemoTool[] = [add, timeNow, wordCount]

/**
 * Runs a tool. The structured output is repeated as JSON text for clients that read only text (MCP, structured
 * content).
 */
export function callTool(tool: DemoTool, args: Arguments): CallToolResult {
  try {
    const output = tool.run(args)
    return { content: [{ type: 'text', text: JSON.stringify(output) }], structuredContent: output }
  } catch (error) {
    return { content: [{ type: 'text', text: (error as Error).message }], isError: true }
  }
}
