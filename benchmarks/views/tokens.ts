import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { estimateTokens } from '../../src/domain/token-estimate.ts'
import type { Tool } from '../search/data.ts'

/** Encoding of current models. */
const ENCODING = 'o200k_base'

/** Ratio of estimated to counted tokens in groups of one size. */
export interface Accuracy {
  readonly set: string
  readonly size: number
  readonly groups: number
  readonly least: number
  readonly median: number
  readonly greatest: number
  /** Percent of the groups whose ratio is within `TOLERANCE` of 1 */
  readonly within: number
}

/** Deviation of the estimate that a group may have. */
export const TOLERANCE = 0.1

/** Tools of one origin. */
export interface ToolSet {
  readonly name: string
  readonly tools: readonly Tool[]
}

const GROUPS = 500
const sizes = [1, 20, 40, 100]

interface Encoder {
  encode(text: string): { readonly length: number }
}

/** Returns a tool as models get it: name, description and input schema, as JSON. */
function read({ definition }: Tool) {
  const { name, description, inputSchema } = JSON.parse(definition) as {
    readonly name: string
    readonly description?: string
    readonly inputSchema: object
  }
  return { name, description, inputSchema }
}

function estimate(tool: Tool): number {
  const { name, description, inputSchema } = read(tool)
  return estimateTokens({ name, description, input_schema: inputSchema })
}

/** Returns groups of tools, the same on every machine. */
function groupsOf(tools: readonly Tool[], size: number): (readonly number[])[] {
  const key = (group: number, index: number) => createHash('sha256').update(`${size} ${group} ${index}`).digest('hex')
  return Array.from({ length: GROUPS }, (_, group) => {
    const keyed = tools.map((_tool, index) => [key(group, index), index] as const)
    return keyed
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .slice(0, size)
      .map(([, index]) => index)
  })
}

/** Compares the estimate with a tokenizer. `folder`: holds the npm package `gpt-tokenizer`. */
export async function accuraciesOf(sets: readonly ToolSet[], folder: string): Promise<Accuracy[]> {
  const file = pathToFileURL(join(folder, `gpt-tokenizer/esm/encoding/${ENCODING}.js`))
  const { encode } = (await import(file.href)) as Encoder
  return sets.flatMap(({ name, tools }) => {
    const estimated = tools.map(estimate)
    const counted = tools.map((tool) => encode(JSON.stringify(read(tool))).length)
    const sum = (group: readonly number[], counts: readonly number[]) =>
      group.reduce((total, index) => total + counts[index]!, 0)
    const all = tools.map((_tool, index) => index)
    const groups = [...sizes.map((size) => groupsOf(tools, size)), [all]]
    return groups.map((each): Accuracy => {
      const ratios = each.map((group) => sum(group, estimated) / sum(group, counted)).toSorted((a, b) => a - b)
      const median = ratios[Math.floor(ratios.length / 2)]!
      return {
        set: name,
        size: each[0]!.length,
        groups: each.length,
        least: ratios[0]!,
        median,
        greatest: ratios.at(-1)!,
        within: (100 * ratios.filter((ratio) => Math.abs(ratio - 1) <= TOLERANCE).length) / ratios.length
      }
    })
  })
}
