import { useSignal } from '@preact/signals'
import type { RefObject } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { ServerTrial } from '../../../src/schemas/dashboard/servers.ts'
import { ApiError, change, path, send } from '../api.ts'
import { useApp } from '../app-context.ts'
import { link } from '../router.ts'
import { problemIn, problemsOf, toInput, toUpdate, type Problems, type ServerForm } from './server-form.ts'
import { trialText } from './trial-text.ts'
import { ServerFields } from './server-fields.tsx'
import { FailureDetails, Refusal } from '../ui/failure-details.tsx'
import { UntrustedText } from '../ui/untrusted-text.tsx'
import { SignIn, type SignInRequired } from './sign-in.tsx'

interface ServerEditorProps {
  readonly initial: ServerForm
  /** Name of the edited server; absent when adding a new one. */
  readonly name?: string
  /** Suggests a name for a new server while the name field is untouched. */
  readonly suggest?: (form: ServerForm) => string
}

type SaveResponse = { readonly authorization_required?: SignInRequired } | undefined

/** Result of Test or Save. */
type SubmitResult =
  | { readonly kind: 'trial'; readonly trial: ServerTrial }
  | { readonly kind: 'refused'; readonly error: ApiError }
  | { readonly kind: 'sign-in'; readonly required: SignInRequired }

const TrialResult = ({ trial }: { trial: ServerTrial }) => {
  const isGood = trial.status !== 'failing'
  return (
    <div class={`result ${isGood ? 'good' : 'err'}`} role={isGood ? 'status' : 'alert'}>
      <p>
        <UntrustedText text={trialText(trial)} />
      </p>
      <FailureDetails details={trial} />
      {trial.tools.length > 0 && (
        <p class="muted">
          <UntrustedText text={trial.tools.map((tool) => tool.name).join(', ')} />
        </p>
      )}
    </div>
  )
}

const SaveDisabled = ({ disabled, onSave }: { disabled: boolean; onSave: () => void }) => (
  <button type="button" class="btn" disabled={disabled} onClick={onSave}>
    Save anyway, disabled
  </button>
)

/** Scrolls to the end of the form, where its outcome is told: Enter submits from any field. */
function useEndInView(form: RefObject<HTMLFormElement | null>, busy: string, outcome: SubmitResult | undefined): void {
  useEffect(() => {
    if (busy || outcome) form.current?.lastElementChild?.scrollIntoView({ block: 'nearest' })
  }, [form, busy, outcome])
}

/** Form to add or edit a server, with a connection test. */
export function ServerEditor({ initial, name, suggest }: ServerEditorProps) {
  const { store, location, notice } = useApp()
  const element = useRef<HTMLFormElement>(null)
  const wasForced = useRef(false)
  const form = useSignal(initial)
  const named = useSignal(initial.name !== '')
  const problems = useSignal<Problems>({})
  const busy = useSignal('')
  const outcome = useSignal<SubmitResult | undefined>(undefined)

  const edit = (changes: Partial<ServerForm>) => {
    if (changes.name !== undefined) named.value = changes.name !== ''
    const next = { ...form.value, ...changes }
    form.value = !named.value && suggest ? { ...next, name: suggest(next) } : next
    problems.value = problemsOf(form.value, false)
    if (outcome.value?.kind !== 'sign-in') outcome.value = undefined
  }
  /** Focuses the first invalid field, once the fields have rendered their errors. */
  const showFirst = () => {
    setTimeout(() => element.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus())
  }
  const attempt = async (what: string, work: () => Promise<void>) => {
    if (busy.value) return
    problems.value = problemsOf(form.value, true)
    if (Object.keys(problems.value).length > 0) return showFirst()
    busy.value = what
    outcome.value = undefined
    try {
      await work()
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      problems.value = error.status === 400 ? (problemIn(error.message) ?? {}) : {}
      outcome.value = { kind: 'refused', error }
      if (Object.keys(problems.value).length > 0) showFirst()
    } finally {
      busy.value = ''
    }
  }
  const test = () =>
    attempt('test', async () => {
      const route = name === undefined ? `${path('servers')}?dry_run=true` : path('servers', name, 'test')
      const body = name === undefined ? toInput(form.value) : undefined
      outcome.value = { kind: 'trial', trial: await change<ServerTrial>('POST', route, body) }
    })
  const done = async (text: string) => {
    notice.value = text
    const refreshed = store.refresh()
    // the next form is built from the refreshed data
    if (name !== undefined) await refreshed
    location.navigate(link('server', name ?? form.value.name.trim()))
  }
  const write = (force: boolean, save?: 'disabled') =>
    attempt('write', async () => {
      wasForced.current = force
      const { status, body } =
        name === undefined
          ? await send<SaveResponse>(
              'POST',
              `${path('servers')}${force ? '?force=true' : save ? `?save=${save}` : ''}`,
              {
                body: toInput(form.value)
              }
            )
          : await send<SaveResponse>('PUT', path('servers', name), { body: toUpdate(form.value) })
      const required = body?.authorization_required
      if (status === 202 && required) outcome.value = { kind: 'sign-in', required }
      else if (save) await done(`${form.value.name} is saved`)
      else await done(name === undefined ? `${form.value.name} is added` : `${name} is saved`)
    })

  useEndInView(element, busy.value, outcome.value)
  const result = outcome.value
  const isSilent = result?.kind === 'refused' && result.error.status >= 502 && name === undefined
  const isTaken = result?.kind === 'refused' && result.error.status === 409 && name === undefined
  return (
    <form
      class="stack"
      noValidate
      ref={element}
      onSubmit={(event) => {
        event.preventDefault()
        void write(false)
      }}
      onKeyDown={(event) => {
        if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void write(false)
      }}
    >
      <ServerFields form={form.value} problems={problems.value} onChange={edit} named={name !== undefined} />
      {result?.kind === 'refused' && <Refusal error={result.error} />}
      {result?.kind === 'trial' && <TrialResult trial={result.trial} />}
      {result?.kind === 'sign-in' && (
        <SignIn
          server={name ?? form.value.name.trim()}
          required={result.required}
          onRestart={() => void write(wasForced.current)}
          onDone={() => void done(`${name ?? form.value.name} is connected`)}
        />
      )}
      {result?.kind !== 'sign-in' && (
        <div class="actions">
          <button type="submit" class="btn primary" disabled={busy.value !== ''}>
            {busy.value === 'write' ? 'Connecting…' : name === undefined ? 'Add server' : 'Save settings'}
          </button>
          {isSilent && <SaveDisabled disabled={busy.value !== ''} onSave={() => void write(false, 'disabled')} />}
          {isTaken && (
            <button type="button" class="btn danger" onClick={() => void write(true)}>
              Replace {form.value.name.trim()}
            </button>
          )}
          <button type="button" class="btn" disabled={busy.value !== ''} onClick={() => void test()}>
            {busy.value === 'test' ? 'Testing…' : name === undefined ? 'Test' : 'Test saved settings'}
          </button>
        </div>
      )}
    </form>
  )
}
