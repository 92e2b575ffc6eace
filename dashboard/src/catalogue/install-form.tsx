import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type {
  CatalogueDetails,
  CatalogueInstall,
  CatalogueOption,
  CataloguePlan
} from '../../../src/schemas/catalogue.ts'
import { ENTRY_CHANGED } from '../../../src/domain/error-codes.ts'
import { isServerName, SERVER_NAME_RULE } from '../../../src/domain/names.ts'
import { ApiError, change, path, send } from '../api.ts'
import { gateway } from '../mount.ts'
import { useApp } from '../app-context.ts'
import { useDebounced } from '../calls/use-debounced.ts'
import { sentence } from '../format.ts'
import { link } from '../router.ts'
import * as sources from '../sources.ts'
import { SignIn, type SignInRequired } from '../servers/sign-in.tsx'
import { Refusal } from '../ui/failure-details.tsx'
import { Field } from '../ui/field.tsx'
import { Segmented } from '../ui/segmented.tsx'
import { UntrustedText } from '../ui/untrusted-text.tsx'
import { InstallField } from './install-fields.tsx'

const INSTALL = '/api/v0/catalogue/install'

type Values = Readonly<Record<string, string>>
type Answer = { readonly authorization_required?: SignInRequired } | undefined
type Outcome =
  | { readonly kind: 'refused'; readonly error: ApiError }
  | { readonly kind: 'sign-in'; readonly required: SignInRequired }

/** Converts the texts of the form to values: lines for inputs that may be repeated. */
const toValues = ({ inputs }: CatalogueOption, texts: Values) =>
  Object.fromEntries(
    inputs.flatMap(({ name, is_repeated }): [string, string | string[]][] => {
      const text = texts[name] ?? ''
      if (text === '') return []
      return [[name, is_repeated ? text.split('\n').filter((line) => line !== '') : text]]
    })
  )

/** Command, variables and headers of an installation; an option that cannot be installed has none. */
type Effects = Pick<CatalogueOption, 'preview' | 'env' | 'headers'>

/** Returns the effects for the entered values, from the gateway; until they are complete, the option's example. */
function usePreview(body: CatalogueInstall, option: CatalogueOption): Effects {
  const plan = useSignal<CataloguePlan | undefined>(undefined)
  const late = useDebounced(JSON.stringify(body))
  useEffect(() => {
    let isCurrent = true
    change<CataloguePlan>('POST', `${INSTALL}?dry_run=true`, JSON.parse(late)).then(
      (next) => {
        if (isCurrent) plan.value = next
      },
      () => {
        if (isCurrent) plan.value = undefined
      }
    )
    return () => {
      isCurrent = false
    }
  }, [late, plan])
  const isComplete = plan.value?.option === option.id && plan.value.missing.length === 0
  return isComplete ? plan.value! : option
}

/** Ways to install a server, with a form for the one that is chosen. */
export function InstallForm({ server }: { server: CatalogueDetails }) {
  const usable = server.options.filter(({ problem }) => problem === undefined)
  const chosen = useSignal(usable[0]?.id ?? '')
  const option = usable.find(({ id }) => id === chosen.value)
  const refused = server.options.filter(({ problem }) => problem !== undefined)
  return (
    <section class="panel stack" aria-label="Install">
      <h2>Install</h2>
      {usable.length > 1 && (
        <Segmented
          label="Way to install"
          options={usable.map(({ id }) => ({ id, label: id }))}
          current={chosen.value}
          onSelect={(id) => (chosen.value = id)}
        />
      )}
      {option ? <OptionForm key={option.id} server={server} option={option} /> : <p>This gateway cannot install it.</p>}
      {refused.map(({ id, target, problem }) => (
        <p key={id} class="muted">
          <UntrustedText text={`${id} ${target}: ${problem}.`} />
        </p>
      ))}
    </section>
  )
}

function OptionForm({ server, option }: { server: CatalogueDetails; option: CatalogueOption }) {
  const { store, location, notice } = useApp()
  const element = useRef<HTMLFormElement>(null)
  const name = useSignal(server.suggested_name)
  const texts = useSignal<Values>({})
  const wasTried = useSignal(false)
  const isBusy = useSignal(false)
  const outcome = useSignal<Outcome | undefined>(undefined)
  const body: CatalogueInstall = {
    name: server.name,
    version: server.version,
    option: option.id,
    ...(option.digest === undefined ? {} : { digest: option.digest }),
    values: toValues(option, texts.value)
  }
  const preview = usePreview(body, option)
  const missing = option.inputs.filter(
    (input) => input.is_required && input.default === undefined && !texts.value[input.name]
  )
  const nameError = isServerName(name.value) ? undefined : sentence(`the name ${SERVER_NAME_RULE}`)

  const done = (text: string) => {
    notice.value = text
    void store.refresh()
    location.navigate(link('server', name.value))
  }
  /** Registers the server. If it requires a sign-in, tries again with the callback of the dashboard. */
  const register = async (force: boolean) => {
    const route = `${INSTALL}${force ? '?force=true' : ''}`
    const request = { ...body, server_name: name.value }
    try {
      return await send<Answer>('POST', route, { body: request })
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'upstream_oauth_required') throw error
      const oauth_redirect_uri = `${gateway.address}${path('oauth', 'callback')}`
      return send<Answer>('POST', route, { body: { ...request, oauth_redirect_uri } })
    }
  }
  const install = async (force: boolean) => {
    if (isBusy.value) return
    wasTried.value = true
    if (missing.length > 0 || nameError) {
      setTimeout(() => element.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus())
      return
    }
    isBusy.value = true
    outcome.value = undefined
    try {
      const { status, body: answer } = await register(force)
      const required = answer?.authorization_required
      if (status === 202 && required) outcome.value = { kind: 'sign-in', required }
      else done(`${name.value} is installed`)
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      outcome.value = { kind: 'refused', error }
    } finally {
      isBusy.value = false
    }
  }
  const reload = async () => {
    await store.open(sources.catalogueServer(server.name)).load()
    outcome.value = undefined
  }
  const result = outcome.value
  return (
    <form
      class="stack"
      noValidate
      ref={element}
      onSubmit={(event) => {
        event.preventDefault()
        void install(false)
      }}
    >
      <div class="fields">
        <NameField
          name={name.value}
          error={wasTried.value ? nameError : undefined}
          onChange={(next) => (name.value = next)}
        />
        {option.inputs.map((input) => (
          <InstallField
            key={input.name}
            input={input}
            value={texts.value[input.name] ?? ''}
            error={wasTried.value && missing.includes(input) ? 'A value is required.' : undefined}
            onChange={(value) => (texts.value = { ...texts.value, [input.name]: value })}
          />
        ))}
      </div>
      <Preview option={option} effects={preview} />
      {result?.kind === 'refused' && <Refusal error={result.error} />}
      {result?.kind === 'sign-in' ? (
        <SignIn
          server={name.value}
          required={result.required}
          onRestart={() => void install(false)}
          onDone={() => done(`${name.value} is connected`)}
        />
      ) : (
        <div class="actions">
          <button type="submit" class="btn primary" disabled={isBusy.value}>
            {isBusy.value ? 'Installing…' : 'Install'}
          </button>
          {result?.kind === 'refused' && (
            <NextStep
              error={result.error}
              name={name.value}
              onReplace={() => void install(true)}
              onReload={() => void reload()}
            />
          )}
        </div>
      )}
    </form>
  )
}

const linesOf = (pairs: Readonly<Record<string, string>> = {}, separator: string) =>
  Object.entries(pairs).map(([name, value]) => `${name}${separator}${value}`)

/** Preview of an installation: with fixed values, since a publisher decides where a secret goes. */
function Preview({ option, effects }: { option: CatalogueOption; effects: Effects }) {
  const pairs = [...linesOf(effects.env, '='), ...linesOf(effects.headers, ': ')]
  const isRemote = option.id.startsWith('remote')
  return (
    <div>
      <p class="lbl">{isRemote ? 'Towpath will connect to' : 'Towpath will run'}</p>
      <pre class="code" tabIndex={0} role="group" aria-label="Command or address">
        <UntrustedText text={effects.preview ?? ''} />
      </pre>
      {pairs.length > 0 && (
        <>
          <p class="lbl">{isRemote ? 'and send these headers' : 'with these variables'}</p>
          <pre class="code" tabIndex={0} role="group" aria-label={isRemote ? 'Headers' : 'Variables'}>
            <UntrustedText text={pairs.join('\n')} />
          </pre>
        </>
      )}
    </div>
  )
}

interface NextStepProps {
  readonly error: ApiError
  readonly name: string
  readonly onReplace: () => void
  readonly onReload: () => void
}

/** Button that helps after a conflict: the entry has changed, or there is a server with this name. */
function NextStep({ error: { code, status }, name, onReplace, onReload }: NextStepProps) {
  if (code === ENTRY_CHANGED)
    return (
      <button type="button" class="btn" onClick={onReload}>
        Show the new entry
      </button>
    )
  if (status !== 409) return null
  return (
    <button type="button" class="btn danger" onClick={onReplace}>
      Replace {name}
    </button>
  )
}

interface NameFieldProps {
  readonly name: string
  readonly error: string | undefined
  readonly onChange: (name: string) => void
}

const NameField = ({ name, error, onChange }: NameFieldProps) => (
  <Field label="Name" help="Tools are served as name__tool." error={error}>
    {(attributes) => (
      <input
        {...attributes}
        class="in mono"
        autocomplete="off"
        value={name}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    )}
  </Field>
)
