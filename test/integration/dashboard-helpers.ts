import assert from 'node:assert/strict'
import type { FastifyInstance, InjectOptions } from 'fastify'

type Method = NonNullable<InjectOptions['method']>

/** Sends a request of a dashboard page and returns the parsed response. */
export async function ask(app: FastifyInstance, method: Method, path: string, payload?: object) {
  const answer = await app.inject({ method, url: `/api/dashboard${path}`, ...(payload ? { payload } : {}) })
  const isJson = String(answer.headers['content-type']).includes('json')
  // oxlint-disable-next-line typescript/no-explicit-any -- tests assert on the shape
  const body = isJson ? (answer.json() as any) : undefined
  return { status: answer.statusCode, body, text: answer.body, headers: answer.headers }
}

/** Returns a view, which must exist. */
export async function read<T>(app: FastifyInstance, path: string): Promise<T> {
  const { status, body, text } = await ask(app, 'GET', path)
  assert.equal(status, 200, text)
  return body as T
}

export const views = [
  '/overview',
  '/servers',
  '/tools',
  '/prompts',
  '/resources',
  '/tool-groups',
  '/diagnostics',
  '/stats',
  '/calls'
]
