import type { FastifyReply } from 'fastify'
import { html, sendPage } from '../../http/page.ts'
import type { BrowserSession } from '../../identity/browser-sessions.ts'
import { listRights, originOf, shownName, type ShownClient } from './consent-page.ts'

/** Machine that waits for a person to sign it in, and its request. */
export interface DeviceRequest {
  readonly client: ShownClient
  /** Scopes that the machine gets, separated by spaces. */
  readonly scope: string
  /** As the machine shows it. */
  readonly code: string
  /** User agent of the machine, which it chose itself. */
  readonly agent: string | undefined
  readonly address: string
}

export interface ConfirmationPage extends DeviceRequest {
  readonly session: BrowserSession
  readonly csrf: string
  /** Path of the form. */
  readonly action: string
}

/** Returns the name of the machine: the command line writes it into its user agent. */
function machineOf(agent: string | undefined): string {
  const [, host] = /^towpath\/[\w.+-]+ \(([\w.-]{1,64})\)$/.exec(agent ?? '') ?? []
  return host ?? (agent === undefined ? 'A machine without a name' : shownName(agent))
}

/** Sends the page on which a person types the code that a machine shows. */
export const codePage = (reply: FastifyReply, action: string, problem?: string): FastifyReply =>
  sendPage(reply, problem === undefined ? 200 : 400, {
    title: 'Sign in a machine',
    body: html`<p>Type the code that the machine shows.</p>
      ${problem === undefined ? undefined : html`<p class="error" role="alert">${problem}</p>`}
      <form method="get" action="${action}">
        <label for="user_code">Code</label>
        <input id="user_code" name="user_code" type="text" autocomplete="off" spellcheck="false" required autofocus />
        <button class="primary">Continue</button>
      </form>`
  })

/** Sends the page that asks if the person has started this sign-in: links to it are sent to others as bait. */
export function confirmationPage(reply: FastifyReply, page: ConfirmationPage): FastifyReply {
  const { client, scope, code, agent, address, session, csrf, action } = page
  return sendPage(reply, 200, {
    title: `Did you start this on ${machineOf(agent)}?`,
    body: html`<p>You are signed in as <strong>${session.name}</strong>. A machine asks to act for you.</p>
      <dl>
        <dt>Code</dt>
        <dd><code>${code}</code></dd>
        <dt>Machine</dt>
        <dd>${machineOf(agent)}</dd>
        <dt>Address</dt>
        <dd>${address}</dd>
        <dt>Program</dt>
        <dd>${shownName(client.clientName)}</dd>
        <dt>Known by</dt>
        <dd>${originOf(client)}</dd>
      </dl>
      ${listRights(scope, client)}
      <p class="warning">
        Go on only if you have just started it yourself and the machine shows this very code. If somebody sent you here,
        refuse.
      </p>
      <form method="post" action="${action}">
        <input type="hidden" name="csrf" value="${csrf}" />
        <input type="hidden" name="user_code" value="${code}" />
        <input type="hidden" name="scope" value="${scope}" />
        <button class="primary" name="answer" value="allow">Yes, sign it in</button
        ><button name="answer" value="refuse">No, refuse</button>
      </form>`
  })
}
