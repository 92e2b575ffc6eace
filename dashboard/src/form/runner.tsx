import { useSignal, useSignalEffect } from '@preact/signals'
import { useEffect, useId, useMemo, useRef, useState } from 'preact/hooks'
import { ApiError } from '../api.ts'
import { useApp } from '../app-context.ts'
import { CopyButton } from '../components/copy-button.tsx'
import { Confirm } from '../components/dialog.tsx'
import { ErrorPanel } from '../components/panels.tsx'
import { Segmented } from '../components/segmented.tsx'
import { Shown } from '../components/shown.tsx'
import { duration, plural } from '../format.ts'
import type { Answer } from '../results/answer.ts'
import { isEmptyObject } from './field.ts'
import { fieldOf } from './fields.ts'
import { createFormState, type FormState } from './form-state.ts'
import { JsonInput } from './inputs.tsx'
import { isJsonObject, type JsonObject } from './json.ts'
import { judge } from './judge.ts'
import { keepInput, lastInput } from './last-input.ts'
import { byPlace, type Problem } from './problems.ts'
import { SchemaForm } from './schema-form.tsx'
import { initial } from './values.ts'

interface RunnerProps {
  /** Under which the last input is kept. */
  readonly name: string
  readonly schema: object
  /** What the button says: `Call tool`. */
  readonly action: string
  /** `The tool could not be called.` */
  readonly failed: string
  readonly run: (args: JsonObject, signal: AbortSignal) => Promise<Answer>
  /** What is copied as what; by label. */
  readonly copies: Readonly<Record<string, (args: JsonObject) => string>>
  /** There is nothing to fill in: no form, only the button. */
  readonly plain?: boolean
  /** Asked before the first run; undefined: it just runs. */
  readonly warning?: string | undefined
  /** Said above the form. */
  readonly children?: preact.ComponentChildren
  readonly result: (answer: Answer) => preact.ComponentChildren
}

type Run =
  | { readonly state: 'running'; readonly abort: AbortController; readonly since: number }
  | { readonly state: 'done'; readonly answer: Answer }
  | { readonly state: 'failed'; readonly error: ApiError }
  | { readonly state: 'cancelled' }

const toApiError = (error: unknown): ApiError =>
  error instanceof ApiError ? error : new ApiError(502, (error as Error).message)

/** What the schema finds wrong; empty where the schema itself cannot be used, since the upstream is the judge anyway. */
async function problemsOf(schema: object, args: JsonObject): Promise<readonly Problem[]> {
  const judgement = await judge(schema, args)
  return 'problems' in judgement ? judgement.problems : []
}

/** A form, what runs it, and what came of it. */
export function Runner({ name, schema, run: send, warning, plain = false, ...texts }: RunnerProps) {
  const { notice } = useApp()
  const id = useId()
  const element = useRef<HTMLFormElement>(null)
  const field = useMemo(() => fieldOf(schema), [schema])
  // one form for as long as this is shown, whatever is loaded meanwhile
  const [form] = useState(() => createFormState(lastInput(name) ?? initial(field) ?? {}))
  const view = useSignal<'form' | 'json'>('form')
  const isAsking = useSignal(false)
  const run = useSignal<Run | undefined>(undefined)
  const isChecking = useRef(false)

  useSignalEffect(() => keepInput(name, form.value.value))
  useEffect(() => () => abortOf(run.value)?.abort(), [run])

  const argsOf = (): JsonObject => (isJsonObject(form.value.value) ? form.value.value : {})
  const focusProblem = () =>
    requestAnimationFrame(() => element.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus())

  const start = async () => {
    const abort = new AbortController()
    run.value = { state: 'running', abort, since: performance.now() }
    try {
      const answer = await send(argsOf(), abort.signal)
      run.value = { state: 'done', answer }
      notice.value = `Result after ${duration(answer.ms)}`
    } catch (error) {
      if (abort.signal.aborted) run.value = { state: 'cancelled' }
      else run.value = { state: 'failed', error: toApiError(error) }
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
    if (warning !== undefined && lastInput(`asked ${name}`) === undefined) isAsking.value = true
    else await start()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
    event.preventDefault()
    // tags take what is typed when they are left
    ;(document.activeElement as HTMLElement | null)?.blur()
    void submit(false)
  }
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
        onKeyDown={onKeyDown}
      >
        {plain ? null : view.value === 'json' ? (
          <JsonArguments form={form} id={id} />
        ) : isEmptyObject(field) && isEmpty(form) ? (
          <p class="wide muted">It takes no parameters.</p>
        ) : (
          <SchemaForm field={field} form={form} id={id} />
        )}
        <Problems form={form} isJson={view.value === 'json'} onSendAnyway={() => void submit(true)} />
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
          <div class="actions">
            {Object.entries(texts.copies).map(([label, text]) => (
              <CopyButton key={label} kind="quiet" text={() => text(argsOf())}>
                {label}
              </CopyButton>
            ))}
            {run.value?.state === 'running' ? (
              // another element than the one that submits: by the end of the click that one is back
              <button key="cancel" type="button" class="btn" onClick={() => abortOf(run.value)?.abort()}>
                Cancel
              </button>
            ) : (
              <button key="run" type="submit" class="btn primary">
                {texts.action} <kbd>Ctrl ↵</kbd>
              </button>
            )}
          </div>
        </div>
      </form>
      <RunView run={run.value} failed={texts.failed} result={texts.result} onRetry={() => void start()} />
      {isAsking.value && (
        <Confirm
          title={`${texts.action}?`}
          action={texts.action}
          onClose={() => (isAsking.value = false)}
          onConfirm={async () => {
            keepInput(`asked ${name}`, true)
            void start()
          }}
        >
          <p>
            <code>
              <Shown text={name} />
            </code>{' '}
            {warning} This is asked once in this tab.
          </p>
        </Confirm>
      )}
    </>
  )
}

const abortOf = (run: Run | undefined): AbortController | undefined =>
  run?.state === 'running' ? run.abort : undefined

const isEmpty = ({ value }: FormState): boolean => isJsonObject(value.value) && Object.keys(value.value).length === 0

function JsonArguments({ form, id }: { form: FormState; id: string }) {
  const field = useMemo(() => fieldOf(true), [])
  return (
    <div class="field wide">
      <label for={id}>Arguments as JSON</label>
      <JsonInput field={field} path={[]} form={form} id={id} name="Arguments" required={false} rows={8} />
      {form.broken.value.get('') && (
        <span class="err" role="alert" id={`${id}-err`}>
          <Shown text={form.broken.value.get('')!} />
        </span>
      )}
      {!isJsonObject(form.value.value ?? {}) && <span class="err">Arguments are an object: {'{ … }'}</span>}
    </div>
  )
}

interface ProblemsProps {
  readonly form: FormState
  readonly isJson: boolean
  readonly onSendAnyway: () => void
}

function Problems({ form, isJson, onSendAnyway }: ProblemsProps) {
  const problems = [...form.problems.value]
  if (problems.length === 0) return null
  return (
    <div class="wide problems">
      <div role="alert">
        <p class="err">{plural(problems.length, 'problem')} by the input schema.</p>
        {isJson && (
          <ul class="err">
            {problems.map(([place, message]) => (
              <li key={place}>
                <code>
                  <Shown text={place || '/'} />
                </code>{' '}
                <Shown text={message} />
              </li>
            ))}
          </ul>
        )}
      </div>
      <button type="button" class="btn sm" onClick={onSendAnyway}>
        Send anyway
      </button>
    </div>
  )
}

interface RunViewProps {
  readonly run: Run | undefined
  readonly failed: string
  readonly result: (answer: Answer) => preact.ComponentChildren
  readonly onRetry: () => void
}

function RunView({ run, failed, result, onRetry }: RunViewProps) {
  switch (run?.state) {
    case undefined:
      return null
    case 'running':
      return <Waiting since={run.since} />
    case 'done':
      return <>{result(run.answer)}</>
    case 'failed':
      return (
        <div class="res">
          <ErrorPanel what={failed} error={run.error} onRetry={onRetry} />
        </div>
      )
    case 'cancelled':
      return (
        <p class="res muted" role="status">
          Cancelled. The server may have done part of it.
        </p>
      )
  }
}

function Waiting({ since }: { since: number }) {
  const now = useSignal(since)
  useEffect(() => {
    const timer = setInterval(() => (now.value = performance.now()), 200)
    return () => clearInterval(timer)
  }, [now])
  const ms = now.value - since
  return (
    <p class="res muted">
      <span role="status">Waiting for the server</span>
      {ms > 1_000 ? `, ${duration(ms)}` : ''}
    </p>
  )
}
