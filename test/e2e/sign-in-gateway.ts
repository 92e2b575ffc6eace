import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { TestContext } from 'node:test'
import { createBrowser, type Page } from '../fixtures/identity-provider/browser.ts'
import { clientDocument } from '../fixtures/identity-provider/client-documents.ts'
import { addServer, administratorAt, allowEverybody, signInSettings } from '../fixtures/identity-provider/gateway.ts'
import { startIdentityProvider } from '../fixtures/identity-provider/provider.ts'
import { createAuthority, startHttps, type Authority } from '../fixtures/tls.ts'
import { addCleanup } from '../store.ts'
import { startGateway } from './harness.ts'
import { freePort } from '../ports.ts'

/** A host of client documents behind TLS. */
export interface DocumentHost {
  /** Handlers by path. */
  readonly handlers: Map<string, (request: IncomingMessage, response: ServerResponse) => void>
  /** Paths that were asked for. */
  readonly requests: string[]
  /** Serves a valid document with this redirect URI. Returns its URL. */
  addDocument(path: string, redirectUri: string): string
  urlOf(path: string): string
}

export async function startDocumentHost(t: TestContext, authority: Authority): Promise<DocumentHost> {
  const handlers: DocumentHost['handlers'] = new Map()
  const requests: string[] = []
  const origin = await startHttps(t, authority, (request, response) => {
    const path = request.url ?? ''
    requests.push(path)
    const handler = handlers.get(path)
    if (handler) handler(request, response)
    else response.writeHead(404).end()
  })
  const urlOf = (path: string) => origin + path
  return {
    handlers,
    requests,
    urlOf,
    addDocument(path, redirectUri) {
      const url = urlOf(path)
      const document = clientDocument(url, { redirect_uris: [redirectUri] })
      handlers.set(path, (_request, response) => void response.end(JSON.stringify(document)))
      return url
    }
  }
}

/**
 * Starts a gateway as a separate process, where alice and bob sign in and may use the recording server `k8s`, also in the
 * group `team`. It trusts a private certificate authority, with which a host of client documents runs.
 */
export async function startSignInProcess(t: TestContext) {
  const url = `http://127.0.0.1:${await freePort()}`
  const idp = await startIdentityProvider({ redirectUris: [`${url}/auth/callback`] })
  addCleanup(t, () => idp.close())
  const authority = await createAuthority(t)
  const host = await startDocumentHost(t, authority)
  const env = {
    ...signInSettings(url, idp),
    NODE_EXTRA_CA_CERTS: authority.certificate,
    TOWPATH_EGRESS_ALLOW: 'localhost'
  }
  await startGateway(t, { port: Number(new URL(url).port), env })
  const gateway = { url, publicUrl: url, api: administratorAt(url) }
  const recorder = await addServer(t, gateway)
  const made = await gateway.api('POST', '/tool-groups', { name: 'team', included_servers: ['k8s'] })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  await allowEverybody(gateway)
  return { ...gateway, host, recorder }
}

/** Does what alice does in her browser: signs in at the provider and lets the client in. Returns the last page. */
export async function letIn(authorizationUrl: string | URL, stopsAt?: (url: URL) => boolean): Promise<Page> {
  const browser = createBrowser()
  const login = await browser.open(authorizationUrl)
  const consent = await browser.submit(login, { login: 'alice', password: 'any' })
  assert.equal(consent.status, 200, consent.text)
  return browser.submit(consent, { answer: 'allow' }, stopsAt ? { stopsAt } : {})
}
