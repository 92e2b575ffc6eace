import type { Static } from '@sinclair/typebox'
import { escapeText } from '../../domain/text/text.ts'
import type { Server } from '../../schemas/server.ts'
import type { Cli } from '../io/cli.ts'

type LeftOut = Pick<Static<typeof Server>, 'left_out' | 'left_out_count'>

/** Notes on stderr the items that the server lists and the gateway does not serve. */
export function noteLeftOut(cli: Cli, { left_out: items = [], left_out_count: count = 0 }: LeftOut): void {
  for (const { kind, name, reason } of items) {
    const label = name === undefined ? '' : ` "${escapeText(name, 200)}"`
    cli.note(`left out: ${kind}${label}: ${escapeText(reason, 300)}`)
  }
  if (count > items.length) cli.note(`left out: ${count - items.length} more items`)
}

/** Removes the left-out items, which are printed separately. */
export const withoutLeftOut = <T extends LeftOut>({ left_out: _items, ...record }: T): Omit<T, 'left_out'> => record

/** Returns a row per left-out item: its kind and name, and the reason. */
export const leftOutReasons = ({ left_out: items = [] }: LeftOut): string[][] =>
  items.map(({ kind, name, reason }) => [name === undefined ? kind : `${kind} ${name}`, reason])
