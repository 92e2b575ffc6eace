import { createHash } from 'node:crypto'
import type { FastifyReply } from 'fastify'
import { TITLE } from '../domain/product.ts'

/** HTML that `html` made: every text in it is escaped. */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

type Part = string | number | Html | readonly Html[] | undefined

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;'
}
const escape = (text: string) => text.replace(/[&<>"']/g, (character) => entities[character]!)
const textOf = (part: Part): string => {
  if (part === undefined) return ''
  if (part instanceof Html) return part.text
  return typeof part === 'object' ? part.map(textOf).join('') : escape(String(part))
}

/** Template tag that escapes all values but HTML. Attributes must be quoted. `undefined` is left out. */
export const html = (strings: TemplateStringsArray, ...parts: readonly Part[]): Html =>
  new Html(strings.map((text, i) => text + (i < parts.length ? textOf(parts[i]) : '')).join(''))

/** Colours of dashboard/src/styles/tokens.css. */
const style = `:root{color-scheme:light dark;--bg:light-dark(#f6f7f5,#0e1413);--surface:light-dark(#fff,#141c1a);
--line:light-dark(#dde1dc,#273230);--strong:light-dark(#7f8a85,#6f7f7a);--text:light-dark(#16201d,#e5ebe8);
--muted:light-dark(#54605c,#9aa8a3);--accent:light-dark(#0b6357,#5fcab5);--on-accent:light-dark(#fff,#05201a);
--warn:light-dark(#855700,#e2b04a);--warn-soft:light-dark(#fbf0d9,#33270d);--err:light-dark(#b3261e,#ff8f85)}
*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--text);
font:.9375rem/1.5 'Inter Variable',Inter,ui-sans-serif,system-ui,-apple-system,'Segoe UI',Roboto,sans-serif}
main{max-width:30rem;margin:8vh auto;padding:2rem;background:var(--surface);border:1px solid var(--line);border-radius:8px}
h1{font-size:1.25rem;line-height:1.25;margin:0 0 1rem}p{margin:0 0 1rem}.product{color:var(--accent);font-weight:600}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.25rem 1rem;margin:0 0 1rem}dt{color:var(--muted)}
dd{margin:0;overflow-wrap:anywhere}code{font:.875em ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;overflow-wrap:anywhere}
label{display:block;margin:0 0 .25rem}input[type=text],input[type=password]{width:100%;height:2.25rem;padding:0 .625rem;
margin:0 0 1rem;border:1px solid var(--strong);border-radius:4px;background:var(--bg);color:inherit;font:inherit}
button,.button{display:inline-block;min-height:2.25rem;padding:.375rem 1rem;margin:0 .5rem .5rem 0;border:1px solid var(--strong);
border-radius:4px;background:none;color:inherit;font:inherit;cursor:pointer;text-decoration:none}
.primary{background:var(--accent);border-color:var(--accent);color:var(--on-accent)}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}.warning{padding:.75rem;border-radius:4px;background:var(--warn-soft);
color:var(--warn)}.error{color:var(--err)}details{margin-top:1.5rem;color:var(--muted)}summary{cursor:pointer}`

const styleHash = createHash('sha256').update(style).digest('base64')

/**
 * Headers of a page. There is no `form-action`: browsers apply it to the redirects after a form as well, which lead to
 * the address of an OAuth client. With the referrer policy `no-referrer` browsers would post forms with `Origin: null`,
 * which the guard refuses.
 */
export const pageHeaders: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; frame-ancestors 'none'`,
  'cache-control': 'no-store',
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY'
}

export interface Page {
  readonly title: string
  readonly body: Html
}

/** Returns the document of a page that needs no script, in the looks of the dashboard. */
export const renderPage = ({ title, body }: Page): string =>
  `<!doctype html>${
    html`<html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width" />
        <title>${title} · ${TITLE}</title>
        ${new Html(`<style>${style}</style>`)}
      </head>
      <body>
        <main>
          <p class="product">${TITLE}</p>
          <h1>${title}</h1>
          ${body}
        </main>
      </body>
    </html>`.text
  }\n`

/** Sends a page. Texts in it may come from outside: `html` escapes them. */
export const sendPage = (reply: FastifyReply, status: number, page: Page): FastifyReply =>
  reply.code(status).headers(pageHeaders).send(renderPage(page))

/** Sends a page with a sentence. */
export const sendMessagePage = (
  reply: FastifyReply,
  title: string,
  text: string,
  status = reply.statusCode
): FastifyReply => sendPage(reply, status, { title, body: html`<p>${text}</p>` })
