import type { Flag } from '../../../src/schemas/dashboard/shared.ts'
import { useApp } from '../app-context.ts'
import { relative } from '../format.ts'
import { annotationsOf } from './annotations.ts'

interface TaggedItem {
  readonly enabled: boolean
  readonly flags: readonly Flag[]
  readonly changed_at?: string | undefined
  readonly annotations?: Readonly<Record<string, unknown>> | undefined
}

/** Warnings of an item beside its name. `isBrief`, for lists, omits minor hints. */
export function ItemTags({ item, isBrief = false }: { item: TaggedItem; isBrief?: boolean }) {
  const { now } = useApp()
  const { enabled, flags, changed_at, annotations } = item
  const told = annotationsOf(annotations).filter((word) => !isBrief || word !== 'idempotent')
  return (
    <>
      {flags.includes('unusable') && <span class="tag err">unusable</span>}
      {flags.includes('hidden_characters') && <span class="tag err">hidden characters</span>}
      {flags.includes('changed') && (
        <span class="tag warn">changed{changed_at ? ` ${relative(Date.parse(changed_at), now.value)}` : ''}</span>
      )}
      {!enabled && <span class="tag">disabled</span>}
      {told.map((word) => (
        <span key={word} class={word === 'destructive' ? 'tag warn' : 'tag'}>
          {word}
        </span>
      ))}
    </>
  )
}
