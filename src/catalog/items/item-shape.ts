import { TypeCompiler } from '@sinclair/typebox/compiler'
import { escapeText } from '../../domain/text/text.ts'
import type { ItemKind } from '../../registry/model/model.ts'
import { LegacyOutputSchema, ListedItems, optionalMembers } from '../../schemas/upstream/listed-items.ts'
import { members } from '../../json/json.ts'
import type { Problem } from './left-out.ts'
import { skillProblem, type SkillEntry } from './skill-entry.ts'

type Check = ReturnType<typeof TypeCompiler.Compile>

/** Compiles a schema on first use, since compiling takes milliseconds. */
const lazyCheck = (schema: Parameters<typeof TypeCompiler.Compile>[0]): (() => Check) => {
  let check: Check | undefined
  return () => (check ??= TypeCompiler.Compile(schema))
}
const checks: Readonly<Record<ItemKind, () => Check>> = {
  tool: lazyCheck(ListedItems.tool),
  prompt: lazyCheck(ListedItems.prompt),
  resource: lazyCheck(ListedItems.resource),
  template: lazyCheck(ListedItems.template),
  skill: lazyCheck(ListedItems.skill)
}
const outputSchema = lazyCheck(LegacyOutputSchema)

/** Tests if a member may be null. Servers in Go and Python send null for absent optional members. */
const mayBeNull = (kind: ItemKind, key: string) => Object.hasOwn(optionalMembers[kind], key)

/**
 * Returns changes for `withMembers` that remove members from a definition: optional members that are null, and an
 * output schema that clients of 2025-11-25 and older reject. `definition` has passed `shapeProblem`.
 */
export function unlistedMembers(kind: ItemKind, definition: string): Record<string, null> {
  const found: Record<string, null> = {}
  for (const { key, start, end } of members(definition)) {
    const json = definition.slice(start, end)
    const isNull = json === 'null' && mayBeNull(kind, key)
    const isOutput = kind === 'tool' && key === 'outputSchema'
    if (isNull || (isOutput && !outputSchema().Check(JSON.parse(json)))) found[key] = null
  }
  return found
}

/**
 * Returns the problem of a definition that does not match the MCP schema, or of a skill that breaks a rule, if any. Clients reject a whole list because
 * of one such item. `definition` must be valid JSON.
 */
export function shapeProblem(kind: ItemKind, definition: string): Problem | undefined {
  const item = JSON.parse(definition) as Record<string, unknown>
  for (const [key, value] of Object.entries(item)) if (value === null && mayBeNull(kind, key)) delete item[key]
  const check = checks[kind]()
  if (check.Check(item)) return kind === 'skill' ? skillProblem(item as unknown as SkillEntry) : undefined
  const { path, value } = check.Errors(item).First()!
  const member = escapeText(path.slice(1).replaceAll('/', '.'), 80)
  const reason = value === undefined ? `it has no "${member}"` : `its "${member}" is not valid in MCP`
  return { code: 'shape', reason }
}
