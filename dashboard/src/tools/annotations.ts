export type Annotation = 'read-only' | 'destructive' | 'idempotent' | 'open world'

/**
 * Returns the annotations of a tool in words. Absent hints are omitted instead of the specification's defaults: a tool
 * without hints would be destructive and open to the world.
 */
export function annotationsOf(annotations: Readonly<Record<string, unknown>> | undefined): Annotation[] {
  const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = annotations ?? {}
  const isReadOnly = readOnlyHint === true
  const told: [unknown, Annotation][] = [
    [isReadOnly, 'read-only'],
    [!isReadOnly && destructiveHint === true, 'destructive'],
    [!isReadOnly && idempotentHint === true, 'idempotent'],
    [openWorldHint === true, 'open world']
  ]
  return told.flatMap(([holds, word]) => (holds === true ? [word] : []))
}
