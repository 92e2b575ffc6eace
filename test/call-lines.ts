import { createCallBacklog, rowsOf, type CallLine } from '../src/registry/logs/call-lines.ts'
import { insertCalls, type CallRow } from '../src/registry/logs/calls.ts'
import type { Db } from '../src/registry/model/tables.ts'

/** Returns calls in the form in which the call log writes them. */
export function linesOf(calls: readonly CallRow[]): readonly CallLine[] {
  const backlog = createCallBacklog(Infinity)
  for (const call of calls) backlog.add(call)
  return backlog.oldest()
}

/** Stores calls as rows, without the queue of the call log. */
export const recordCalls = (db: Db, calls: readonly CallRow[]): Promise<void> => insertCalls(db, rowsOf(linesOf(calls)))
