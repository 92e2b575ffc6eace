import { useSignal, useSignalEffect } from '@preact/signals'
import { useEffect, useId, useMemo, useRef, useState } from 'preact/hooks'
import { ApiError } from '../api.ts'
import { useApp, useRights } from '../app-context.ts'
import { CopyButton } from '../ui/copy-button.tsx'
import { Confirm } from '../ui/dialog.tsx'
import { JsonView } from '../ui/json-view.tsx'
import { Segmented } from '../ui/segmented.tsx'
import { UntrustedText } from '../ui/untrusted-text.tsx'
import { duration } from '../format.ts'
import type { Answer } from '../results/answer.ts'
import { isEmptyObject } from './field.ts'
import { fieldOf } from './fields.ts'
import { createFormState, type FormState } from './form-state.ts'
import { isJsonObject, type JsonObject } from './json.ts'
import { JsonArguments } from './json-arguments.tsx'
import { validateInWorker } from './validator.ts'
import { storeInput, loadInput } from './last-input.ts'
import { ProblemList } from './problem-list.tsx'
import { byPlace, type Problem } from './problems.ts'
import { RunView, type RunState } from './run-view.tsx'
import { SchemaForm } from './schema-form.tsx'
import { useRunKey } from './use-run-key.ts'
import { initialValue } from './values.ts'

interface RunnerProps {
  /** Key under which the last input is stored. */
  readonly name: string
  readonly schema: object
  /** Button label: `Call tool`. */
  readonly action: string
  /** Heading of an error: `The tool could not be called.` */
  readonly failed: string
  readonly run: (args: JsonObject, signal: AbortSignal) => Promise<Answer>
  /** Copy buttons: label and the function that builds the text. */
  readonly copies: Readonly<Record<string, (args: JsonObject) => string>>
  /** True if there is nothing to fill in: only the button is shown. */
  readonly plain?: boolean
  /** Confirmation text before the first run; undefined to run at once. */
  readonly warning?: string | undefined
  /** Content above the form. */
  readonly children?: preact.ComponentChildren
  readonly result: (answer: Answer) => preact.ComponentChildren
}

const toApiError = (error: unknown): ApiError =>
  error instanceof ApiError ? error : new ApiError(502, (error as Error).message)

/** Returns validation errors; none if the schema itself is unusable, since the upstream validates anyway. */
async function problemsOf(schema: object, args: JsonObject): Promise<readonly Problem[]> {
  const result = await validateInWorker(schema, args)
  return 'problems' in result ? result.problems : []
}

/** Form with a run button and the result of the run; who may not call reads what the form would ask for. */
export function Runner(props: RunnerProps) {
  const { schema, plain = false, children } = props
  if (useRights().call) return <RunForm {...props} />
  return (
    <>
      {children}
      {!plain && <JsonView value={schema as JsonObject} label="Parameters" />}
    </>
  )
}

function RunForm({ name, schema, run: send, warning, plain = false, ...texts }: RunnerProps) {
  const { notice } = useApp()
  const id = useId()
  const element = useRef<HTMLFormElement>(null)
  const field = useMemo(() => fieldOf(schema), [schema])
  // one form state while mounted, even if the data is reloaded
  const [form] = useState(() => createFormState(loadInput(name) ?? initialValue(field) ?? {}))
  const view = useSignal<'form' | 'json'>('form')
  const isAsking = useSignal(false)
  const run = useSignal<RunState | undefined>(undefined)
  const isChecking = useRef(false)

  useSignalEffect(() => storeInput(name, form.value.value))
  useEffect(() => () => abortOf(run.value)?.abort(), [run])

  const argsOf = (): JsonObject => (isJsonObject(form.value.value) ? form.value.value : {})
  const focusProblem = () =>
    requestAnimationFrame(() => element.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus())

  /** Applies a change that swaps the Run and Cancel buttons, and moves the focus to the new one. */
  const withFocus = (change: () => void) => {
    const isThere = document.activeElement?.matches('[data-run]')
    change()
    if (isThere) requestAnimationFrame(() => element.current?.querySelector<HTMLElement>('[data-run]')?.focus())
  }
  const end = (to: RunState) => withFocus(() => (run.value = to))
  const start = async () => {
    const abort = new AbortController()
    end({ state: 'running', abort, since: performance.now() })
    try {
      const answer = await send(argsOf(), abort.signal)
      end({ state: 'done', answer })
      notice.value = `Result after ${duration(answer.ms)}`
    } catch (error) {
      end(abort.signal.aborted ? { state: 'cancelled' } : { state: 'failed', error: toApiError(error) })
    }
  }
  const submit = async (isSure: boolean) => {
    if (run.value?.state === 'running' || isChecking.current) return
    if (form.broken.value.size > 0 || !isJsonObject(form.value.value ?? {})) return void focusProblem()
    if (!isSure) {
      isChecking.current = true
      const problems = await problemsOf(schema, argsOf())
      isChecking.current = false
      if (!element.current) return
      form.problems.value = byPlace(problems)
      if (form.problems.value.size > 0) return void focusProblem()
    }
    form.problems.value = new Map()
    if (warning !== undefined && loadInput(`asked ${name}`) === undefined) isAsking.value = true
    else await start()
  }
  useRunKey(() => void submit(false))
  return (
    <>
      {texts.children}
      <form
        class="try"
        ref={element}
        novalidate
        onSubmit={(event) => {
          event.preventDefault()
          void submit(false)
        }}
      >
        {plain ? null : view.value === 'json' ? (
          <JsonArguments form={form} id={id} />
        ) : isEmptyObject(field) && isEmpty(form) ? (
          <p class="wide muted">No parameters.</p>
        ) : (
          <SchemaForm field={field} form={form} id={id} />
        )}
        <ProblemList form={form} isJson={view.value === 'json'} onSendAnyway={() => void submit(true)} />
        <div class="wide row">
          {plain ? (
            <span />
          ) : (
            <Segmented
              label="Input as"
              options={[
                { id: 'form', label: 'Form' },
                { id: 'json', label: 'JSON' }
              ]}
              current={view.value}
              onSelect={(next) => {
                if (form.broken.value.size > 0) focusProblem()
                else view.value = next
              }}
            />
          )}
          <RunActions action={texts.action} copies={texts.copies} run={run.value} argsOf={argsOf} />
        </div>
      </form>
      <RunView run={run.value} failed={texts.failed} result={texts.result} onRetry={() => void start()} />
      {isAsking.value && (
        <ConfirmRun
          name={name}
          action={texts.action}
          warning={warning}
          onClose={() => (isAsking.value = false)}
          onConfirm={() => void start()}
        />
      )}
    </>
  )
}

interface RunActionsProps extends Pick<RunnerProps, 'action' | 'copies'> {
  readonly run: RunState | undefined
  readonly argsOf: () => JsonObject
}

/** Copy buttons, and the button that runs or, during a run, cancels. */
function RunActions({ action, copies, run, argsOf }: RunActionsProps) {
  return (
    <div class="actions">
      {Object.entries(copies).map(([label, text]) => (
        <CopyButton key={label} kind="quiet" text={() => text(argsOf())}>
          {label}
        </CopyButton>
      ))}
      {run?.state === 'running' ? (
        // a separate element from the submit button: when the click ends, the submit button is back in its place
        <button key="cancel" type="button" class="btn" data-run onClick={() => abortOf(run)?.abort()}>
          Cancel
        </button>
      ) : (
        <button key="run" type="submit" class="btn primary" data-run>
          {action} <kbd>Ctrl ↵</kbd>
        </button>
      )}
    </div>
  )
}

interface ConfirmRunProps extends Pick<RunnerProps, 'name' | 'action' | 'warning'> {
  readonly onClose: () => void
  readonly onConfirm: () => void
}

/** Asks before the first run in this tab. */
function ConfirmRun({ name, action, warning, onClose, onConfirm }: ConfirmRunProps) {
  return (
    <Confirm
      title={`${action}?`}
      action={action}
      onClose={onClose}
      onConfirm={async () => {
        storeInput(`asked ${name}`, true)
        onConfirm()
      }}
    >
      <p>
        <code>
          <UntrustedText text={name} />
        </code>{' '}
        {warning} You are asked once per tab.
      </p>
    </Confirm>
  )
}

const abortOf = (run: RunState | undefined): AbortController | undefined =>
  run?.state === 'running' ? run.abort : undefined

const isEmpty = ({ value }: FormState): boolean => isJsonObject(value.value) && Object.keys(value.value).length === 0
