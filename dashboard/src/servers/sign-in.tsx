import { useSignal } from '@preact/signals'
import { useEffect, useLayoutEffect } from 'preact/hooks'
import type { SignInSession } from '../../../src/schemas/dashboard/oauth.ts'
import { path, send, type ApiError } from '../api.ts'
import { useApp } from '../app-context.ts'
import { countdown } from '../format.ts'
import { CopyButton } from '../ui/copy-button.tsx'
import { UntrustedText } from '../ui/untrusted-text.tsx'

/** Body of a 202 response to a registration. */
export interface SignInRequired {
  readonly session_id: string
  readonly authorization_url: string
  readonly expires_at: string
}

interface SignInProps {
  readonly server: string
  readonly required: SignInRequired
  /** Registers again to get a new link. */
  readonly onRestart: () => void
  readonly onDone: () => void
}

const FIRST_MS = 2_000
const LONGEST_MS = 10_000

/** Polls the state of a sign-in until it ends: every 2 s at first, then less often. */
function useSession({ session_id: id }: SignInRequired, onDone: () => void) {
  const { store } = useApp()
  const session = useSignal<SignInSession | undefined>(undefined)
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout>
    let wait = FIRST_MS
    const ask = async () => {
      try {
        session.value = (await send<SignInSession>('GET', path('oauth', 'session', id))).body
      } catch (error) {
        // finished sessions are removed after a while; other errors may be temporary
        if ((error as ApiError).status === 404) session.value = { session_id: id, status: 'expired' }
      }
      const status = session.value?.status ?? 'pending'
      if (status === 'pending') {
        timer = setTimeout(() => void ask(), wait)
        wait = Math.min(wait * 1.2, LONGEST_MS)
      } else if (status === 'completed') {
        void store.refresh()
        onDone()
      }
    }
    timer = setTimeout(() => void ask(), FIRST_MS)
    return () => clearTimeout(timer)
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- a session is identified by its id
  }, [id])
  return session
}

/** Returns the milliseconds until a time, updated every second. */
function useRemaining(until: string): number {
  const remaining = useSignal(Infinity)
  useLayoutEffect(() => {
    const tell = () => (remaining.value = Date.parse(until) - Date.now())
    tell()
    const timer = setInterval(tell, 1_000)
    return () => clearInterval(timer)
  }, [until, remaining])
  return remaining.value
}

const isWebLink = (url: string) => /^https?:\/\//i.test(url)

/** Steps of a sign-in at the upstream's authorization server; detects its completion. */
export function SignIn({ server, required, onRestart, onDone }: SignInProps) {
  const session = useSession(required, onDone)
  const remaining = useRemaining(required.expires_at)
  const status = session.value?.status ?? 'pending'
  const isOver = status === 'expired' || (status === 'pending' && remaining <= 0)
  return (
    <section class="signin stack" aria-label={`Sign-in of ${server}`}>
      <h2>Finish connecting {server}</h2>
      {status === 'pending' && !isOver && (
        <>
          <p class="sub">
            This server requires sign-in. Sign in on a new tab; this page continues automatically. The link expires in{' '}
            {countdown(remaining)}.
          </p>
          <div class="actions">
            {isWebLink(required.authorization_url) && (
              <a class="btn primary" href={required.authorization_url} target="_blank" rel="noopener noreferrer">
                Open sign-in page
              </a>
            )}
            <CopyButton text={required.authorization_url} kind="quiet">
              Copy link
            </CopyButton>
            <span class="muted">Waiting for sign-in…</span>
          </div>
        </>
      )}
      <div role="status">{status === 'completed' && <p class="result good">{server} is connected.</p>}</div>
      {(isOver || status === 'failed') && (
        <>
          <p class="err" role="alert">
            {isOver ? 'The link has expired.' : <UntrustedText text={session.value?.error ?? 'The sign-in failed.'} />}
          </p>
          <div class="actions">
            <button type="button" class="btn primary" onClick={onRestart}>
              Start again
            </button>
          </div>
        </>
      )}
    </section>
  )
}
