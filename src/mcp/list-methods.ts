import type { BatchScheduler } from '../lib/batch-scheduler.ts'
import type { Observer } from '../observe/observation.ts'
import type { ItemKind } from '../registry/model/model.ts'
import type { Cursors } from './messages/cursor.ts'
import { listMembers, listPage } from './messages/list-page.ts'
import { noCacheHints, refuse, type Method, type Methods, type ResultSender } from './method.ts'

export interface ListMethodsOptions {
  readonly cursors: Cursors
  readonly results: ResultSender
  readonly observer: Pick<Observer, 'onList'>
  readonly schedule: BatchScheduler
}

/** Creates the methods that list tools, prompts, resources, resource templates and skills. */
export function createListMethods({ cursors, results, observer, schedule }: ListMethodsOptions): Methods {
  const listMethod =
    (kind: ItemKind): Method =>
    (context) => {
      const { scope, message, endpoint, reply } = context
      observer.onList(kind)
      const cursor = message.param('cursor')
      const { version } = scope.catalog
      // cursors are bound to their endpoint: the same index means another item elsewhere
      const place = `${kind} ${endpoint}`
      const index =
        cursor === undefined || cursor === ''
          ? 0
          : typeof cursor === 'string'
            ? cursors.decode(cursor, place, version)
            : undefined
      if (index === undefined) throw refuse(context, 'Invalid cursor')
      const { bytes, next } = listPage(scope, kind, index)
      const nextCursor = next === undefined ? '' : `"nextCursor":"${cursors.encode(place, version, next)}",`
      const meta = results.metaOf(context, noCacheHints)
      const before = `{${nextCursor}"${listMembers[kind]}":[`
      // scheduled like upstream responses: lists requested together are cheaper to send together
      const turn = new Promise<void>(schedule)
      return turn.then(() => reply.sendList(message.id, before, bytes, meta === '' ? ']}' : `],${meta}}`))
    }
  return new Map([
    ['tools/list', listMethod('tool')],
    ['prompts/list', listMethod('prompt')],
    ['resources/list', listMethod('resource')],
    ['resources/templates/list', listMethod('template')],
    ['skills/list', listMethod('skill')]
  ])
}
