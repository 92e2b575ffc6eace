import { useSignal } from '@preact/signals'
import { useId } from 'preact/hooks'
import { definitionLabel } from '../../../src/domain/definitions/shown.ts'
import type { Definition } from '../../../src/schemas/definition.ts'
import { change, type ApiError } from '../api.ts'
import { useApp, useRights } from '../app-context.ts'
import { sentence } from '../format.ts'
import { link } from '../router.ts'
import { Chevron, Shape } from '../ui/icons.tsx'
import { Ago } from '../ui/time.tsx'
import { Breakable, UntrustedText, untrustedText } from '../ui/untrusted-text.tsx'
import { SideBySide } from './side-by-side.tsx'
import { kindWords, originWords, servedWords, warningWords } from './words.ts'

/** Returns the parts of a definition that a decision names. */
export const seenOf = ({ server, kind, name, fingerprint }: Definition) => ({ server, kind, name, fingerprint })

const orNone = (text: string | null) => (text === null ? 'nothing' : text)

/** Points to look at before accepting: warnings of the rules, and another place or program. */
const Warnings = ({ item: { warnings, origin = [] } }: { item: Definition }) => (
  <ul class="attention">
    {origin.map(({ member, before, after }) => (
      <li key={member}>
        <span class="st err">
          <Shape tone="err" />
        </span>
        <span class="wraps">
          {originWords[member] ?? member}: <UntrustedText text={orNone(before)} /> →{' '}
          <UntrustedText text={orNone(after)} />
        </span>
      </li>
    ))}
    {warnings.map(({ rule, member }) => (
      <li key={`${rule} ${member}`}>
        <span class="st err">
          <Shape tone="err" />
        </span>
        <span>
          <code>
            <UntrustedText text={member} />
          </code>{' '}
          {warningWords[rule] ?? rule}
        </span>
      </li>
    ))}
  </ul>
)

/** Buttons that decide on a definition as it is shown. */
function Decision({ item }: { item: Definition }) {
  const { store, notice } = useApp()
  const busy = useSignal(false)
  const failure = useSignal<ApiError | undefined>(undefined)
  const label = untrustedText(definitionLabel(item))
  const decide = async (verb: 'accept' | 'reject') => {
    busy.value = true
    failure.value = undefined
    try {
      await change('POST', `/api/v0/definitions/${verb}`, { items: [seenOf(item)] })
      notice.value = verb === 'accept' ? `${label} is accepted` : `${label} is rejected until it changes again`
      await store.refresh(new Set(['servers']))
      // the buttons are gone with the item
      document.querySelector<HTMLElement>('h1')?.focus({ preventScroll: true })
    } catch (error) {
      failure.value = error as ApiError
      await store.refresh(new Set(['servers']))
    }
    busy.value = false
  }
  return (
    <>
      <div class="actions">
        <button
          type="button"
          class="btn primary"
          aria-label={`Accept ${label}`}
          disabled={busy.value}
          onClick={() => void decide('accept')}
        >
          Accept
        </button>
        {item.state !== 'rejected' && (
          <button
            type="button"
            class="btn"
            aria-label={`Reject ${label}`}
            disabled={busy.value}
            onClick={() => void decide('reject')}
          >
            Reject
          </button>
        )}
      </div>
      {failure.value && (
        <p class="err" role="alert">
          <UntrustedText text={sentence(failure.value.message)} />
        </p>
      )}
    </>
  )
}

/** Members that differ, compared once somebody looks: there may be a hundred definitions on a page. */
function Changes({ item, isOpen: opensAtFirst }: { item: Definition; isOpen: boolean }) {
  const isOpen = useSignal(opensAtFirst)
  return (
    <details class="json bare" open={isOpen.value} onToggle={(event) => (isOpen.value = event.currentTarget.open)}>
      <summary>
        <Chevron />
        <span class="wraps">
          <UntrustedText text={item.changes.map(({ member }) => member).join(', ')} />
        </span>
      </summary>
      {isOpen.value && item.changes.map((each) => <SideBySide key={each.member} change={each} />)}
    </details>
  )
}

const stateTags = { new: 'new', changed: 'changed', rejected: 'rejected', accepted: 'accepted' } as const

/** A definition that waits: what changed, what to look at, and the decision. `isOpen`: its changes are in sight at once. */
export function HeldItem({ item, isOpen }: { item: Definition; isOpen: boolean }) {
  const id = useId()
  const { administer } = useRights()
  const { server, kind, name, state, since, warnings, origin = [] } = item
  return (
    <article class="panel held" aria-labelledby={id}>
      <div class="row">
        <h2 id={id}>
          {kindWords[kind]}{' '}
          {kind !== 'instructions' && (
            <code class="wraps">
              <Breakable text={name} />
            </code>
          )}{' '}
          <span class="muted">
            of <a href={link('server', server)}>{server}</a>
          </span>
        </h2>
        <span class={state === 'rejected' ? 'tag' : 'tag warn'}>{stateTags[state]}</span>
      </div>
      <p class="help">
        <Ago at={since} />. {servedWords(item)}
      </p>
      {warnings.length + origin.length > 0 && <Warnings item={item} />}
      {item.changes.length > 0 ? (
        <Changes item={item} isOpen={isOpen} />
      ) : (
        <p class="help">The server has changed the spelling of its definition in a way that cannot be read.</p>
      )}
      {administer && <Decision item={item} />}
    </article>
  )
}
