import { readFileSync } from 'node:fs'

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { responses: Readonly<Record<string, unknown>> }>>>>
}

const { paths } = JSON.parse(readFileSync(new URL('../openapi.json', import.meta.url), 'utf8')) as Document

/** An exact path comes before a pattern that matches it too. */
const patterns = Object.keys(paths)
  .toSorted((a, b) => a.split('{').length - b.split('{').length)
  .map((path) => ({ path, pattern: new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`) }))

/** Returns the path of the operation that matches a request; undefined without a match. */
export function operationOf(method: string, url: string) {
  const { pathname } = new URL(url, 'http://gateway.test')
  const known = patterns.find(({ pattern }) => pattern.test(pathname))
  const operation = known && paths[known.path]?.[method.toLowerCase()]
  return operation && { path: known.path, responses: operation.responses }
}

/** Throws if openapi.json does not document the response's status for the operation. */
export function checkDocumented(method: string, url: string, status: number): void {
  const operation = operationOf(method, url)
  if (!operation || String(status) in operation.responses) return
  throw new Error(`openapi.json does not say that ${method} ${operation.path} can answer ${status}`)
}
