export type Annotation = 'read-only' | 'destructive' | 'idempotent' | 'open world'

/**
 * What a tool says of itself, in words. Absent hints are not the specification's defaults here: a tool that says nothing
 * would be destructive and open to the world.
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
