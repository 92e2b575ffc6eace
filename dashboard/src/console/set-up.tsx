import { signal, useSignal } from '@preact/signals'
import { AppContext } from '../app-context.ts'
import { send } from '../api.ts'
import { addressOf } from '../mount.ts'
import { developer } from '../session.ts'
import { createApp } from '../start-pages.tsx'
import { CopyButton } from '../ui/copy-button.tsx'
import { Field } from '../ui/field.tsx'
import { Logo } from '../ui/icons.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { HOMEPAGE } from '../../../src/domain/product.ts'

interface Initialized {
  readonly admin_access_token: string
}

/** Creates the first administrator. `secret`: TOWPATH_INIT_SECRET, '' if none is set. Throws an error with the reason. */
async function initialize(secret: string): Promise<string> {
  const headers = secret === '' ? {} : { authorization: `Bearer ${secret}` }
  const { body } = await send<Initialized>('POST', '/init', { headers })
  return body.admin_access_token
}

/** Signs in with the token; returns false if signing in with a token is switched off. */
async function signIn(token: string): Promise<boolean> {
  const form = new URLSearchParams({ token, return: '/auth/session' })
  const { ok } = await fetch(addressOf('/auth/local'), { method: 'POST', body: form })
  return ok
}

function FirstAdministrator({ onCreated }: { onCreated: (token: string) => void }) {
  const secret = useSignal('')
  const failure = useSignal('')
  const busy = useSignal(false)
  const create = async (event: Event) => {
    event.preventDefault()
    busy.value = true
    failure.value = ''
    try {
      onCreated(await initialize(secret.value))
    } catch (error) {
      failure.value = (error as Error).message
    } finally {
      busy.value = false
    }
  }
  return (
    <form class="panel stack" onSubmit={(event) => void create(event)}>
      <p>
        This gateway has no administrator yet. The first one gets an access token, which is shown once. With it you sign
        in, connect your identity provider and invite others.
      </p>
      <Field
        label="Initialisation secret"
        note="only if one is set"
        help={
          <>
            The value of <code>TOWPATH_INIT_SECRET</code>
          </>
        }
        error={failure.value || undefined}
      >
        {(attributes) => (
          <input
            {...attributes}
            class="in mono"
            type="password"
            autocomplete="off"
            value={secret.value}
            onInput={(event) => (secret.value = event.currentTarget.value)}
          />
        )}
      </Field>
      <div class="actions">
        <button type="submit" class="btn primary" disabled={busy.value}>
          Create the first administrator
        </button>
      </div>
    </form>
  )
}

function TokenOnce({ token }: { token: string }) {
  const failure = useSignal('')
  const next = async (hash: string) => {
    const isSignedIn = await signIn(token).catch(() => false)
    if (!isSignedIn) {
      failure.value =
        'Signing in with an access token is switched off (TOWPATH_BREAK_GLASS). Keep the token, and sign in.'
      return
    }
    location.hash = hash
    location.reload()
  }
  return (
    <section class="panel stack" aria-label="Access token">
      <p>
        <strong>Keep this access token: it is not shown again.</strong> It is the way in if your identity provider is
        down.
      </p>
      <p class="row">
        <code class="url">{token}</code>
        <CopyButton text={token} kind="sm">
          Copy token
        </CopyButton>
      </p>
      {failure.value && (
        <p class="err" role="alert">
          {failure.value} <a href={addressOf('/auth/login?return=/console/')}>Sign in</a>
        </p>
      )}
      <div class="actions">
        <button type="button" class="btn primary" onClick={() => void next('#/new/server')}>
          Sign in and add a server
        </button>
        <button type="button" class="btn" onClick={() => void next('#/overview')}>
          Sign in
        </button>
        <a class="btn" href={`${HOMEPAGE}/how-to/single-sign-on/`} target="_blank" rel="noopener noreferrer">
          How to connect your identity provider
        </a>
      </div>
    </section>
  )
}

function Steps() {
  const token = useSignal('')
  return (
    <main class="setup">
      <p class="brand">
        <Logo />
        Towpath
      </p>
      <PageHead title="Set up this gateway" />
      {token.value === '' ? (
        <FirstAdministrator onCreated={(created) => (token.value = created)} />
      ) : (
        <TokenOnce token={token.value} />
      )}
    </main>
  )
}

/** First visit to a gateway without an administrator. */
export const SetUp = () => (
  <AppContext.Provider value={createApp(signal(developer))}>
    <Steps />
  </AppContext.Provider>
)
