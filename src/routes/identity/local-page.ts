import type { FastifyReply } from 'fastify'
import type { Config } from '../../config/config.ts'
import { html, sendPage, type Html } from '../../http/page.ts'

/** Page with the ways to sign in that the settings allow. */
export interface LocalPage {
  readonly auth: Config['auth']
  /** Puts the path of the public URL before a path. */
  readonly pathTo: (path: string) => string
  readonly returnTo: string
  /** Why the last attempt failed, and with which of the forms. */
  readonly problem?: { readonly form: 'password' | 'token'; readonly text: string } | undefined
  /** True for a person who has just set a password. */
  readonly isPasswordSet?: boolean
}

const problemOf = ({ problem }: LocalPage, form: 'password' | 'token') =>
  problem?.form === form ? html`<p class="error" role="alert">${problem.text}</p>` : undefined

const returnInput = ({ returnTo }: LocalPage) => html`<input type="hidden" name="return" value="${returnTo}" />`

function providerLink({ auth: { oidc }, pathTo, returnTo }: LocalPage): Html | undefined {
  if (!oidc) return undefined
  const path = `/auth/login?${new URLSearchParams({ with: 'provider', return: returnTo }).toString()}`
  return html`<p><a class="button primary" href="${pathTo(path)}">Sign in at ${new URL(oidc.issuer).host}</a></p>`
}

const passwordForm = (page: LocalPage, focus: Html | undefined): Html =>
  html`${page.isPasswordSet ? html`<p role="status">Your password is set. Sign in with it.</p>` : undefined}
    ${problemOf(page, 'password')}
    <form method="post" action="${page.pathTo('/auth/local')}">
      <label for="name">User</label>
      <input id="name" name="name" type="text" autocomplete="username" autocapitalize="none" required ${focus} />
      <label for="password">Password</label>
      <input id="password" name="password" type="password" autocomplete="current-password" required />
      ${returnInput(page)}
      <button class="primary">Sign in</button>
    </form>`

/** `focus`: attribute of the field if it is the one to type in. */
const tokenForm = (page: LocalPage, focus: Html | undefined): Html =>
  html`<p>With an access token that an administrator issued you are signed in for one hour.</p>
    ${problemOf(page, 'token')}
    <form method="post" action="${page.pathTo('/auth/local')}">
      <label for="token">Access token</label>
      <input id="token" name="token" type="password" autocomplete="off" required ${focus} />
      ${returnInput(page)}
      <button class="primary">Sign in</button>
    </form>`

/** Sends the page on which people sign in without the provider: with a password, or with a static token. */
export function sendLocalPage(reply: FastifyReply, status: number, page: LocalPage): FastifyReply {
  const { localSignIn, breakGlass } = page.auth
  const focus = html`autofocus`
  if (!localSignIn) {
    return sendPage(reply, status, { title: 'Sign in with an access token', body: tokenForm(page, focus) })
  }
  // after a wrong token its form stays open
  const isTokenTried = page.problem?.form === 'token'
  const token = breakGlass
    ? html`<details ${isTokenTried ? html`open` : undefined}>
        <summary>Sign in with an access token</summary>
        ${tokenForm(page, isTokenTried ? focus : undefined)}
      </details>`
    : undefined
  const body = html`${providerLink(page)}${passwordForm(page, isTokenTried ? undefined : focus)}${token}`
  return sendPage(reply, status, { title: 'Sign in', body })
}
