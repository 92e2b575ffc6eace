import { isServed } from './shell/navigation.ts'
import { useApp } from './app-context.ts'
import { PageHead } from './ui/page-head.tsx'
import { Shell } from './shell/shell.tsx'
import { pages, routeKey } from './pages.ts'
import { mayOpen } from './shell/page-access.ts'
import { Denied } from './shell/denied.tsx'
import { link } from './router.ts'

const NotFound = () => (
  <>
    <PageHead title="Not found" />
    <p>
      There is no such page. <a href={link('servers')}>Go to Servers</a>
    </p>
  </>
)

export function Root() {
  const { location, viewer } = useApp()
  const route = location.route.value
  const isKnown = route.page !== 'unknown' && isServed(route.page)
  const Page = isKnown ? (mayOpen(viewer.value, route.page) ? pages[route.page] : Denied) : NotFound
  return (
    <Shell route={route}>
      <Page key={routeKey(route)} name={route.name} query={route.query} />
    </Shell>
  )
}
