/** Style of the reader at `/docs`: the dashboard's colours, light and dark. */
export const css = `
html { color-scheme: light; --paper: #f6f7f5; --surface: #fff; --line: #dde1dc; --text: #16201d; --muted: #54605c;
  --accent: #0b6357; --get: #1f5f8b; --post: #1a7340; --put: #855700; --delete: #b3261e }
html.dark-mode { color-scheme: dark; --paper: #0e1413; --surface: #141c1a; --line: #273230; --text: #e5ebe8;
  --muted: #9aa8a3; --accent: #5fcab5; --delete: #ff8f85 }
html, html body, html.dark-mode body { background: var(--paper) }
html .swagger-ui, html .swagger-ui .info p, html .swagger-ui .info .title, html .swagger-ui .opblock-tag,
html .swagger-ui .opblock .opblock-section-header h4, html .swagger-ui table thead tr td,
html .swagger-ui table thead tr th, html .swagger-ui .parameter__name, html .swagger-ui .tab li,
html .swagger-ui .response-col_status, html .swagger-ui section.models h4 {
  color: var(--text); font-family: system-ui, -apple-system, "Segoe UI", Roboto, sans-serif }
html .swagger-ui .info { margin: 32px 0 16px }
html .swagger-ui .info a, html .swagger-ui .info .link { color: var(--accent) }
html .swagger-ui .info .title small, html .swagger-ui .info .title small.version-stamp { background: var(--muted) }
html .swagger-ui .info .title small pre { color: var(--paper) }
html .swagger-ui .markdown code, html .swagger-ui .renderedMarkdown code {
  background: var(--surface); color: var(--text); font-weight: 400 }
html .swagger-ui .opblock-tag { font-size: 16px; border-color: var(--line) }
html .swagger-ui .opblock { background: var(--surface); border: 1px solid var(--line); border-radius: 4px; box-shadow: none;
  margin: 0 0 8px }
html .swagger-ui .opblock .opblock-summary { border-color: var(--line) }
html .swagger-ui .opblock .opblock-summary-method { text-shadow: none; border-radius: 3px; font-weight: 600; color: #fff;
  min-width: 72px }
html .swagger-ui .opblock .opblock-summary-path, html .swagger-ui .opblock .opblock-summary-path a { color: var(--text) }
html .swagger-ui .opblock .opblock-summary-description { color: var(--muted) }
html .swagger-ui .opblock .opblock-section-header { background: var(--paper); box-shadow: none }
html .swagger-ui .opblock.opblock-get .opblock-summary-method { background: var(--get) }
html .swagger-ui .opblock.opblock-post .opblock-summary-method { background: var(--post) }
html .swagger-ui .opblock.opblock-put .opblock-summary-method,
html .swagger-ui .opblock.opblock-patch .opblock-summary-method { background: var(--put) }
html .swagger-ui .opblock.opblock-delete .opblock-summary-method { background: #b3261e }
html .swagger-ui .btn.execute { background: var(--accent); border-color: var(--accent); color: var(--paper) }
html .swagger-ui .btn:focus-visible, html .swagger-ui button:focus-visible, html .swagger-ui a:focus-visible {
  outline: 2px solid var(--accent) }
html .swagger-ui .btn.cancel { color: var(--delete); border-color: var(--delete) }
html.dark-mode .swagger-ui .info .title small pre { color: var(--text) }
html .swagger-ui .response-control-media-type__accept-message, html .swagger-ui .parameter__in { color: var(--muted) }
html.dark-mode .swagger-ui svg { fill: var(--text) }
`

/** Applies the theme chosen in the dashboard, else that of the system. */
export const js = `
const saved = (() => { try { return localStorage.getItem('towpath.theme') } catch { return null } })()
const isDark = saved ? saved === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches
document.documentElement.classList.toggle('dark-mode', isDark)
`

/** Three tracks joining into one. */
export const icon =
  '<svg xmlns="http://www.w3.org/2000/svg" width="22" height="22" fill="none" stroke="#0b6357" stroke-width="2" ' +
  'stroke-linecap="round"><path d="M3 4h4c4 0 4 7 8 7h4M3 11h16M3 18h4c4 0 4-7 8-7"/></svg>'
