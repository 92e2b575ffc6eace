import { useApp } from './app-context.ts'
import { PageHead } from './ui/page-head.tsx'
import { Shell } from './shell/shell.tsx'
import { pages, routeKey } from './pages.ts'
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
  const route = useApp().location.route.value
  const Page = route.page === 'unknown' ? NotFound : pages[route.page]
  return (
    <Shell route={route}>
      <Page key={routeKey(route)} name={route.name} query={route.query} />
    </Shell>
  )
}
