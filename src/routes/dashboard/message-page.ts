import type { FastifyReply } from 'fastify'
import { TITLE } from '../../domain/product.ts'

const policy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
const escaped = (text: string) => text.replace(/[&<>"]/g, (character) => entities[character]!)

/** Sends a page with a heading and a sentence, without script, style or link: the texts may come from outside. */
export const sendMessagePage = (reply: FastifyReply, heading: string, text: string): FastifyReply =>
  reply
    .header('content-security-policy', policy)
    .header('cache-control', 'no-store')
    .type('text/html; charset=utf-8')
    .send(
      `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark">` +
        `<title>${escaped(heading)} · ${TITLE}</title></head>` +
        `<body><h1>${escaped(heading)}</h1><p>${escaped(text)}</p></body></html>\n`
    )
