/** Where the pages are served: the dashboard of development mode at `/`, the console of enterprise mode at `/console/`. */
export interface Mount {
  readonly isConsole: boolean
  /** Path before those of the gateway, such as that of a reverse proxy; '' without one. */
  readonly root: string
  /** Path of the API of the pages, behind `root`. */
  readonly api: '/api/dashboard' | '/api/console'
}

const CONSOLE = '/console/'

/** Returns the mount of a page: it is learnt from the page's address, never from the build. */
export const mountOf = (pathname: string): Mount =>
  pathname.endsWith(CONSOLE)
    ? { isConsole: true, root: pathname.slice(0, -CONSOLE.length), api: '/api/console' }
    : { isConsole: false, root: '', api: '/api/dashboard' }

/** Absent in tests without a browser. */
const page = (globalThis as { readonly location?: { readonly pathname: string; readonly origin: string } }).location

export const mount: Mount = mountOf(page?.pathname ?? '/')

/** Environment variable from which copied commands take an access token. */
export const TOKEN_VARIABLE = 'TOWPATH_TOKEN'

/** The gateway as this browser reaches it, and as the commands that pages offer address it. */
export const gateway = {
  address: `${page?.origin ?? ''}${mount.root}`,
  ...(mount.isConsole ? { tokenVariable: TOKEN_VARIABLE } : {})
}

/** Returns the address of a path of the gateway, for links and `fetch`. */
export const addressOf = (path: string): string => `${mount.root}${path}`
