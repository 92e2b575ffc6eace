import assert from 'node:assert/strict'
import type { Ask } from './view-helpers.ts'
import type { RpcAnswer } from './mcp-helpers.ts'

/** A hit of `find_tools`. */
export interface Hit {
  readonly name: string
  readonly server: string
  readonly signature: string
  readonly description: string
  readonly definition?: Record<string, unknown>
}

/** Calls a tool of search mode. */
export const callTool = (ask: Ask, name: string, args?: unknown): Promise<RpcAnswer> =>
  ask('tools/call', { name, ...(args === undefined ? {} : { arguments: args }) })

/** Returns the hits of a query. */
export async function find(ask: Ask, query: string, more: object = {}): Promise<{ tools: Hit[]; total: number }> {
  const { result, error } = await callTool(ask, 'find_tools', { query, ...more })
  assert.equal(result?.isError, undefined, JSON.stringify(result ?? error))
  return result.structuredContent as { tools: Hit[]; total: number }
}

export const hitNames = async (ask: Ask, query: string, more: object = {}): Promise<string[]> =>
  (await find(ask, query, more)).tools.map(({ name }) => name)

/** Returns the text of a result that is an error for the model. */
export function errorText({ result, error }: RpcAnswer): string {
  assert.equal(result?.isError, true, JSON.stringify(result ?? error))
  return result.content[0].text as string
}

export const textOf = ({ result, error }: RpcAnswer): string => {
  assert.ok(result, JSON.stringify(error))
  return result.content[0].text as string
}
