import { useSignal } from '@preact/signals'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { HOMEPAGE } from '../../../src/domain/product.ts'
import type { Overview } from '../../../src/schemas/dashboard/overview.ts'
import { useApp, useSource } from '../app-context.ts'
import { count } from '../format.ts'
import { link, type Route } from '../router.ts'
import * as sources from '../sources.ts'
import { roleNames } from '../people/words.ts'
import { Banners } from './banners.tsx'
import { HalfMoon, Logo } from '../ui/icons.tsx'
import { Keyboard, type OpenDialog } from './keyboard.tsx'
import { MODIFIER } from './shortcuts.ts'
import { addressOf } from '../mount.ts'
import { UntrustedText } from '../ui/untrusted-text.tsx'
import { API_DOCS, navigationFor, type NavigationEntry } from './navigation.ts'

interface EntryProps {
  readonly entry: NavigationEntry
  readonly route: Route
  readonly overview: Overview | undefined
}

function Entry({ entry: { label, page, within = [], count: counted, isWaiting }, route, overview }: EntryProps) {
  const isCurrent = route.page === page
  const isWithin = within.some((each) => each === route.page)
  const number = overview && counted?.(overview)
  return (
    <li>
      <a href={link(page)} aria-current={isCurrent ? 'page' : isWithin ? 'true' : undefined}>
        {label}
        {number ? <span class={isWaiting ? 'num waits' : 'num'}>{count(number)}</span> : null}
      </a>
    </li>
  )
}

function ThemeSwitch() {
  const { theme } = useApp().preferences
  const onClick = () => {
    const isDark =
      theme.value === 'system' ? matchMedia('(prefers-color-scheme: dark)').matches : theme.value === 'dark'
    theme.value = isDark ? 'light' : 'dark'
  }
  return (
    <button type="button" class="btn quiet icon" aria-label="Switch colour theme" onClick={onClick}>
      <HalfMoon />
    </button>
  )
}

const centreOf = (element: HTMLElement): number => {
  const { left, width } = element.getBoundingClientRect()
  return left + width / 2
}

function AboutGateway() {
  const version = useSource(sources.overview).data.value?.version
  const { viewer } = useApp()
  const { role, name } = viewer.value
  return (
    <>
      {version ? `v${version}, ` : ''}
      {role === 'development' ? (
        'no authentication is enforced'
      ) : (
        <>
          signed in as <UntrustedText text={name} />
        </>
      )}
    </>
  )
}

const SignOut = () => <a href={addressOf('/auth/session')}>Sign out</a>

/** Who is signed in, and how to sign out; in development mode that nobody is. */
function WhoLooks() {
  const { viewer } = useApp()
  const { role } = viewer.value
  if (role === 'development') return <span>Development mode</span>
  return (
    <span>
      <span class="blk">{roleNames[role]}</span>
      <SignOut />
    </span>
  )
}

function Sidebar({ route, open }: { route: Route; open: OpenDialog }) {
  const { viewer } = useApp()
  const overview = useSource(sources.overview).data.value
  const isLoaded = overview !== undefined
  const nav = useRef<HTMLElement>(null)
  // on a narrow window the navigation scrolls: keep the current entry in view
  useEffect(() => {
    const [view, entry] = [nav.current, nav.current?.querySelector<HTMLElement>('[aria-current]')]
    if (view && entry) view.scrollLeft += centreOf(entry) - centreOf(view)
  }, [route.page, isLoaded])
  return (
    <header class="side">
      <a class="brand" href={link('servers')}>
        <Logo />
        Towpath
      </a>
      <button type="button" class="btn find" onClick={() => (open.value = 'menu')}>
        Search
        <kbd>{MODIFIER} K</kbd>
      </button>
      <nav aria-label="Main" ref={nav}>
        {navigationFor(viewer.value).map(({ heading, entries }) => (
          <div key={heading}>
            {heading && <p class="navlabel">{heading}</p>}
            <ul>
              {entries.map((entry) => (
                <Entry key={entry.page} entry={entry} route={route} overview={overview} />
              ))}
              {heading === 'Use' && (
                <>
                  <li>
                    <a href={API_DOCS}>API</a>
                  </li>
                  <li>
                    <a href={HOMEPAGE} target="_blank" rel="noopener noreferrer">
                      Documentation
                    </a>
                  </li>
                </>
              )}
            </ul>
          </div>
        ))}
      </nav>
      <div class="foot">
        <div class="row">
          <WhoLooks />
          <div class="buttons">
            <button
              type="button"
              class="btn quiet icon"
              aria-label="Keyboard shortcuts and help"
              onClick={() => (open.value = 'help')}
            >
              ?
            </button>
            <ThemeSwitch />
          </div>
        </div>
        <span>
          <AboutGateway />
        </span>
      </div>
    </header>
  )
}

/** Moves the focus to the title of a new page and restores the scroll position of the history entry. */
function useArrival(route: Route): void {
  const { location } = useApp()
  const isFirst = useRef(true)
  // before the user can press a key on the new page
  useLayoutEffect(() => {
    if (isFirst.current) {
      isFirst.current = false
      return
    }
    const arrive = (): boolean => {
      // for an item beside its list, the list keeps its scroll position
      const item = document.querySelector<HTMLElement>('[data-arrival]')
      const title = document.querySelector<HTMLElement>('h1')
      if (item) item.focus()
      else title?.focus({ preventScroll: true })
      if (title && !item) scrollTo(0, location.scrollTop())
      return Boolean(item ?? title)
    }
    if (arrive()) return
    // the page's code is still loading
    const observer = new MutationObserver(() => {
      if (arrive()) observer.disconnect()
    })
    observer.observe(document.querySelector('main')!, { childList: true, subtree: true })
    return () => observer.disconnect()
  }, [location, route.page, route.name])
}

/** Frame of every page. */
export function Shell({ route, children }: { route: Route; children: preact.ComponentChildren }) {
  const { notice, viewer } = useApp()
  const open: OpenDialog = useSignal(undefined)
  useArrival(route)
  return (
    <>
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          // the hash is taken by the route
          event.preventDefault()
          document.querySelector<HTMLElement>('main')?.focus()
        }}
      >
        Skip to content
      </a>
      <div class="shell">
        <Sidebar route={route} open={open} />
        <main id="main" tabIndex={-1}>
          <Banners />
          {children}
          <p class="narrow help below">
            <AboutGateway />
            {viewer.value.role !== 'development' && (
              <>
                {' '}
                · <SignOut />
              </>
            )}
          </p>
        </main>
      </div>
      <div class="vh" role="status">
        {notice.value}
      </div>
      <Keyboard open={open} />
    </>
  )
}
