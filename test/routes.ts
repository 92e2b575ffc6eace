import assert from 'node:assert/strict'

/**
 * Returns the routes of `printRoutes()`, a tree: `├── api/v0/ (GET)` with the children's parts indented below their
 * parent's.
 */
export function routesOf(tree: string): { method: string; url: string }[] {
  const routes: { method: string; url: string }[] = []
  const parents: string[] = []
  for (const line of tree.split('\n')) {
    const match = /^((?:│ {3}| {4})*)(?:├── |└── )(\S*)(?: \(([A-Z, ]+)\))?/.exec(line)
    if (!match) continue
    const [, indent = '', part = '', methods] = match
    const depth = indent.length / 4
    const url = `${parents[depth - 1] ?? ''}${part}`
    parents[depth] = url
    for (const method of methods?.split(', ') ?? []) {
      if (method !== 'HEAD' && method !== 'OPTIONS') routes.push({ method: method.toLowerCase(), url })
    }
  }
  assert.ok(routes.length > 40, 'the tree could not be read')
  return routes
}
