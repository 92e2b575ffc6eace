import type { FastifyReply } from 'fastify'
import type { BrowserSession } from '../../identity/browser-sessions.ts'
import { commandLine } from '../../authorization-server/command-line.ts'
import { resourcesOf, type RequestParameters } from '../../authorization-server/grants.ts'
import { isPolicyScope } from '../../domain/access/access.ts'
import { isLoopback } from '../../domain/network/loopback.ts'
import { html, sendPage, type Html } from '../../http/page.ts'

const MAX_NAME = 80

/** OAuth client, as far as pages show it. */
export interface ShownClient {
  readonly clientId: string
  readonly clientName?: string | undefined
  readonly grantTypes?: readonly string[] | undefined
}

export interface Consent {
  readonly client: ShownClient
  readonly interaction: { readonly params: RequestParameters }
  /** Scopes that the client gets, separated by spaces. */
  readonly scope: string
  readonly session: BrowserSession
  readonly csrf: string
}

/** Returns a name as one line of visible characters: marks that turn or hide text are left out. */
export function shownName(name: string | undefined): string {
  const visible = (name ?? '')
    .normalize('NFC')
    .replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, '')
    .replace(/\s+/g, ' ')
    .trim()
  const characters = Array.from(visible)
  if (characters.length === 0) return 'A program without a name'
  return characters.length > MAX_NAME ? `${characters.slice(0, MAX_NAME).join('')}…` : visible
}

const rights: Readonly<Record<string, string>> = {
  mcp: 'use the tools, prompts and resources that you may use',
  'towpath:read': 'read what you may read over the REST interface',
  'towpath:call': 'call the tools that you may use over the REST interface',
  'towpath:admin': 'administer the gateway as you may'
}

/** Returns who vouches for a client. */
export function originOf({ clientId }: ShownClient): string {
  if (clientId === commandLine.id) return 'this gateway: it is its own program'
  return clientId.startsWith('https://') ? new URL(clientId).host : 'its own registration, which nobody has checked'
}

const rightOf = (scope: string): readonly string[] | string =>
  rights[scope] ?? (isPolicyScope(scope) ? `use what the policies keep for programs with “${scope}”` : [])

/** Returns the paragraph that says what a client may do if it is let in. `scope`: scopes, separated by spaces. */
export const listRights = (scope: string, { grantTypes = [] }: ShownClient): Html =>
  html`<p>It wants to:</p>
    <ul>
      ${scope
        .split(' ')
        .flatMap(rightOf)
        .concat(grantTypes.includes('refresh_token') ? ['stay connected while you are away'] : [])
        .map((text) => html`<li>${text}</li>`)}
    </ul>`

function warningOf(redirect: URL): Html | undefined {
  const { protocol, hostname } = redirect
  if (protocol === 'http:' && isLoopback(hostname)) {
    return html`<p class="warning">
      The answer goes to a program on this computer, and any program here can claim this name. Go on only if you have
      just started it.
    </p>`
  }
  if (protocol === 'https:') return undefined
  return html`<p class="warning">
    The answer goes to the app that opens <code>${protocol}</code> addresses. Go on only if you have just started it.
  </p>`
}

/** Sends the page on which a user lets a client in (MCP authorization, Localhost Redirect Risks and Confused Deputy). */
export function consentPage(reply: FastifyReply, { client, interaction, scope, session, csrf }: Consent): FastifyReply {
  const { params } = interaction
  const redirect = new URL(String(params['redirect_uri']))
  return sendPage(reply, 200, {
    title: `Let ${shownName(client.clientName)} in?`,
    body: html`<p>You are signed in as <strong>${session.name}</strong>.</p>
      <dl>
        <dt>Program</dt>
        <dd>${shownName(client.clientName)}</dd>
        <dt>Known by</dt>
        <dd>${originOf(client)}</dd>
        <dt>Answer to</dt>
        <dd>
          <code>${redirect.protocol === 'https:' ? redirect.host : `${redirect.protocol}//${redirect.host}`}</code>
        </dd>
        <dt>Endpoint</dt>
        <dd>${resourcesOf(params).map((each) => html`<code>${each}</code> `)}</dd>
      </dl>
      ${listRights(scope, client)} ${warningOf(redirect)}
      <form method="post">
        <input type="hidden" name="csrf" value="${csrf}" />
        <button class="primary" name="answer" value="allow">Allow</button
        ><button name="answer" value="refuse">Refuse</button>
      </form>`
  })
}
