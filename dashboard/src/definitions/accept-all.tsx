import { useSignal } from '@preact/signals'
import type { Definition, DefinitionPage } from '../../../src/schemas/definition.ts'
import { change, send } from '../api.ts'
import { useApp } from '../app-context.ts'
import { plural } from '../format.ts'
import * as sources from '../sources.ts'
import { Confirm } from '../ui/dialog.tsx'
import { seenOf } from './held-item.tsx'

/** Definitions that the gateway decides on at once */
const MAX_DECIDED = 200

/** Reads all definitions that wait, of one server or of all. */
async function readAll(server: string | undefined): Promise<Definition[]> {
  const found: Definition[] = []
  let cursor: string | undefined
  do {
    const { body } = await send<DefinitionPage>('GET', sources.definitions({ state: 'held', server, cursor }).path)
    found.push(...body.items)
    cursor = body.next_cursor
  } while (cursor !== undefined)
  return found
}

/** Returns true for a definition that people should look at before they accept it. */
export const hasWarning = ({ warnings, origin = [] }: Definition) => warnings.length + origin.length > 0

/** Accepts all that waits, except definitions with warnings. */
export function AcceptAll({ server }: { server: string | undefined }) {
  const { store, notice } = useApp()
  const busy = useSignal(false)
  const found = useSignal<readonly Definition[] | undefined>(undefined)
  const failure = useSignal('')
  const read = async () => {
    busy.value = true
    failure.value = ''
    try {
      found.value = await readAll(server)
    } catch (error) {
      failure.value = (error as Error).message
    }
    busy.value = false
  }
  const plain = found.value?.filter((item) => !hasWarning(item)) ?? []
  const left = (found.value?.length ?? 0) - plain.length
  const accept = async () => {
    for (let at = 0; at < plain.length; at += MAX_DECIDED) {
      const items = plain.slice(at, at + MAX_DECIDED).map(seenOf)
      await change('POST', '/api/v0/definitions/accept', { items })
    }
    notice.value = `${plural(plain.length, 'definition')} accepted`
    await store.refresh(new Set(['servers']))
  }
  return (
    <>
      <button type="button" class="btn" disabled={busy.value} onClick={() => void read()}>
        Accept all without warnings
      </button>
      {failure.value && (
        <p class="err" role="alert">
          {failure.value}
        </p>
      )}
      {found.value && plain.length > 0 && (
        <Confirm
          title={`Accept ${plural(plain.length, 'definition')}?`}
          action="Accept"
          onConfirm={accept}
          onClose={() => (found.value = undefined)}
        >
          <p>Agents get them from now on, as the servers define them at this moment.</p>
          {left > 0 && <p>{plural(left, 'definition')} with warnings stay here, to be looked at one by one.</p>}
        </Confirm>
      )}
      {found.value && plain.length === 0 && (
        <p role="status">Everything that waits has warnings: look at it one by one.</p>
      )}
    </>
  )
}
