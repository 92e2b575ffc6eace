/** Reference to an unset variable, and its location */
export interface UnsetVariable {
  readonly name: string
  /** For example `$.headers["X-Key"]` */
  readonly path: string
}

export interface ExpansionResult {
  readonly value: unknown
  readonly unset: readonly UnsetVariable[]
}

const placeholder = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g

const step = (key: string): string => (/^[A-Za-z_]\w*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`)

/**
 * Replaces `${NAME}` in every string of a JSON value, at any depth (http-contract.md#placeholders). Works on parsed
 * JSON, so that no value can break the syntax; in one pass, so that a value containing `${X}` is not expanded again;
 * never in keys.
 */
export function expandPlaceholders(value: unknown, lookup: (name: string) => string | undefined): ExpansionResult {
  const unset: UnsetVariable[] = []
  const text = (from: string, path: string): string =>
    from.replace(placeholder, (whole, name: string) => {
      const found = lookup(name)
      if (found === undefined) unset.push({ name, path })
      return found ?? whole
    })
  const expand = (from: unknown, path: string): unknown => {
    if (typeof from === 'string') return text(from, path)
    if (Array.isArray(from)) return from.map((item, index) => expand(item, `${path}[${index}]`))
    if (typeof from !== 'object' || from === null) return from
    return Object.fromEntries(Object.entries(from).map(([key, item]) => [key, expand(item, path + step(key))]))
  }
  return { value: expand(value, '$'), unset }
}
