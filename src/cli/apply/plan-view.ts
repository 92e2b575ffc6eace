import { escapeText } from '../../domain/text/text.ts'
import type { Views } from '../io/cli.ts'
import { DECLARED } from '../io/kinds.ts'
import type { Result } from './plan.ts'

const marks = { create: '+', update: '~', delete: '-' } as const

const formatValue = (value: unknown): string =>
  value === undefined ? '(none)' : escapeText(JSON.stringify(value), 2_000)

/** Lines of one change: a heading, and for updates one line per member. */
function linesOf({ action, kind, name, difference, outcome, error }: Result): string[] {
  const state =
    outcome === 'failed' || outcome === 'skipped'
      ? `  ${outcome}${error === undefined ? '' : `: ${escapeText(error, 2_000)}`}`
      : ''
  const head = `${marks[action]} ${DECLARED[kind].singular} ${name}${state}`
  if (action !== 'update') return [head]
  const { changed, before, after } = difference
  return [
    head,
    ...changed.map((member) => `    ${member}: ${formatValue(before[member])} -> ${formatValue(after[member])}`)
  ]
}

/** Output of `apply`: as JSON the changes with their members, as text one line each. */
export function planView(results: readonly Result[], unchanged: number, isDry: boolean): [{ body: unknown }, Views] {
  const changes = results.map(({ kind, difference: { changed, before, after }, ...rest }) => ({
    ...rest,
    kind: DECLARED[kind].singular,
    changed,
    before,
    after
  }))
  return [
    { body: { dry_run: isDry, changes, unchanged } },
    {
      table: () => results.flatMap(linesOf).join('\n'),
      names: () => results.map(({ kind, name }) => `${DECLARED[kind].singular}/${name}`)
    }
  ]
}
