import type { IncomingMessage } from 'node:http'

/** Addresses of the clients whose requests name a client by the URL of its document, while these requests are served. */
export interface DocumentAskers {
  /** Serves a request. `request.body`: the form that it sent, if any. */
  serve(request: IncomingMessage, address: string, work: () => Promise<void>): Promise<void>
  /** Returns the address of a request that names the client; empty if none does. */
  addressOf(clientId: string): string
}

const isUrl = (id: string | null | undefined): id is string => id?.startsWith('https://') === true

/** Returns the user name of HTTP Basic authentication (RFC 6749 2.3.1); undefined for another scheme. */
function basicUser(header: string | undefined): string | undefined {
  const [, encoded] = /^Basic ([\w+/=-]+)$/i.exec(header ?? '') ?? []
  if (encoded === undefined) return undefined
  const [user = ''] = Buffer.from(encoded, 'base64').toString().split(':', 1)
  return new URLSearchParams(`user=${user}`).get('user') ?? undefined
}

function documentsNamedIn(request: IncomingMessage): ReadonlySet<string> {
  const { url = '', headers } = request
  const { body } = request as { body?: unknown }
  const query = new URL(url, 'http://gateway').searchParams
  const form = new URLSearchParams(Buffer.isBuffer(body) ? body.toString() : '')
  return new Set(
    [...query.getAll('client_id'), ...form.getAll('client_id'), basicUser(headers.authorization)].filter(isUrl)
  )
}

/** Creates an empty register. Requests that name the same document read it once, so the last one stands for them all. */
export function createDocumentAskers(): DocumentAskers {
  const askers = new Map<string, { readonly address: string }>()
  return {
    async serve(request, address, work) {
      const entry = { address }
      const named = documentsNamedIn(request)
      for (const id of named) askers.set(id, entry)
      try {
        await work()
      } finally {
        for (const id of named) if (askers.get(id) === entry) askers.delete(id)
      }
    },
    addressOf: (clientId) => askers.get(clientId)?.address ?? ''
  }
}
