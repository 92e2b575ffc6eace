import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { useApp } from '../app-context.ts'
import { addressOf } from '../mount.ts'
import { hasEnded } from '../session.ts'
import { Dialog } from '../ui/dialog.tsx'
import { readSession } from './read-session.ts'

/** Milliseconds between looks whether the person has signed in again. */
const LOOK_MS = 2_000
const ignore = () => {}

function AskToSignIn({ name }: { name: string }) {
  const { store, notice } = useApp()
  const isLooking = useSignal(false)
  useEffect(() => {
    const look = async () => {
      if (isLooking.value || document.hidden) return
      isLooking.value = true
      try {
        const session = await readSession()
        // another person must not go on with what this one typed
        if (session.name !== name) return location.reload()
        hasEnded.value = false
        notice.value = 'You are signed in again'
        await store.refresh()
      } catch {
        // looks again
      } finally {
        isLooking.value = false
      }
    }
    const start = () => void look()
    const timer = setInterval(start, LOOK_MS)
    document.addEventListener('visibilitychange', start)
    return () => {
      clearInterval(timer)
      document.removeEventListener('visibilitychange', start)
    }
  }, [isLooking, name, notice, store])
  return (
    <Dialog title="Your session has ended" onClose={ignore}>
      <div class="stack">
        <p>Sign in again in another tab. This page keeps what you typed, and goes on by itself.</p>
      </div>
      <div class="actions end">
        <a class="btn primary" href={`${addressOf('/auth/login')}?return=/auth/session`} target="_blank" rel="noopener">
          Sign in again
        </a>
      </div>
    </Dialog>
  )
}

/** Asks the person to sign in again over the page once the gateway refuses the session. */
export const SessionEnded = ({ name }: { name: string }) => (hasEnded.value ? <AskToSignIn name={name} /> : null)
