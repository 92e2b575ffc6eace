import { render } from 'preact'
import { ApiError } from '../api.ts'
import { addressOf } from '../mount.ts'
import { hasEnded, viewerOf } from '../session.ts'
import { startPages } from '../start-pages.tsx'
import { ErrorPanel } from '../ui/panels.tsx'
import { readSession } from './read-session.ts'
import { SessionEnded } from './session-ended.tsx'

/** Returns the address of the sign-in, which leads back to this page. */
export const signInAddress = (): string =>
  `${addressOf('/auth/login')}?return=${encodeURIComponent(`/console/${location.hash}`)}`

async function showSetUp(): Promise<void> {
  const { SetUp } = await import('./set-up.tsx')
  render(<SetUp />, document.body)
}

/** Shows the pages to who is signed in, the sign-in to others, and the set-up if there is no administrator yet. */
export async function enter(): Promise<void> {
  try {
    const session = await readSession()
    render(startPages(viewerOf(session), <SessionEnded name={session.name} />), document.body)
  } catch (error) {
    hasEnded.value = false
    if (!(error instanceof ApiError)) throw error
    if (error.status === 401) return location.replace(signInAddress())
    if (error.code === 'not_initialized') return showSetUp()
    render(<ErrorPanel title="The console could not be loaded." error={error} />, document.body)
  }
}
