import { useSignal } from '@preact/signals'
import type { ServerDetails } from '../../../src/schemas/dashboard/servers.ts'
import { path, send, type ApiError } from '../api.ts'
import { useApp } from '../app-context.ts'
import { sentence } from '../format.ts'
import { formOf, toUpdate } from './server-form.ts'
import { UntrustedText } from '../ui/untrusted-text.tsx'
import { SignIn, type SignInRequired } from './sign-in.tsx'

/** Sign-in for a registered server: registering it again, unchanged, starts a new sign-in. */
export function SignInAgain({ server }: { server: ServerDetails }) {
  const { store } = useApp()
  const required = useSignal<SignInRequired | undefined>(undefined)
  const failure = useSignal('')
  const begin = async () => {
    failure.value = ''
    try {
      const { body } = await send<{ authorization_required?: SignInRequired }>('PUT', path('servers', server.name), {
        body: toUpdate(formOf(server))
      })
      required.value = body.authorization_required
      void store.refresh(new Set(['servers']))
    } catch (error) {
      failure.value = (error as ApiError).message
    }
  }
  if (required.value) {
    return (
      <SignIn
        server={server.name}
        required={required.value}
        onRestart={() => void begin()}
        onDone={() => (required.value = undefined)}
      />
    )
  }
  return (
    <section class="panel failure mild" aria-label="Sign-in needed">
      <p>
        <strong>This server requires sign-in.</strong> Its tools cannot be called until then.
      </p>
      <button type="button" class="btn primary" onClick={() => void begin()}>
        Sign in
      </button>
      {failure.value && (
        <p class="err" role="alert">
          <UntrustedText text={sentence(failure.value)} />
        </p>
      )}
    </section>
  )
}
