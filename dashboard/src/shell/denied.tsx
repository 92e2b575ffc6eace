import { useApp } from '../app-context.ts'
import { PageHead } from '../ui/page-head.tsx'
import { UntrustedText } from '../ui/untrusted-text.tsx'
import { link } from '../router.ts'
import { whoMayOpen } from './page-access.ts'
import { WhoCanHelp } from './who-can-help.tsx'

/** Shown instead of a page that the viewer may not open: who may, and who can help. */
export function Denied() {
  const { location, viewer } = useApp()
  const { page } = location.route.value
  const { name } = viewer.value
  return (
    <>
      <PageHead title="Not for your role" />
      <section class="panel">
        <p>
          You are signed in as <UntrustedText text={name} />. This page is for{' '}
          {page === 'unknown' ? 'administrators' : whoMayOpen(page)}.
        </p>
        <WhoCanHelp />
        <p>
          <a href={link('overview')}>Go to Overview</a>
        </p>
      </section>
    </>
  )
}
