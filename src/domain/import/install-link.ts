/** Server in a link that installs it in a client. */
export interface LinkedServer {
  readonly name: string | undefined
  /** JSON text of the entry. */
  readonly json: string
}

/** Decodes base64 (both alphabets) to UTF-8 text; undefined if it is malformed. */
function decodeBase64(text: string): string | undefined {
  try {
    const bytes = atob(text.replaceAll('-', '+').replaceAll('_', '/').replaceAll(' ', '+'))
    return new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.from(bytes, (char) => char.charCodeAt(0)))
  } catch {
    return undefined
  }
}

function decodePercent(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** Matches the links of Cursor and LM Studio, and the pages that lead to them. */
const named =
  /^(?:cursor:\/\/anysphere\.cursor-deeplink\/mcp\/install|https:\/\/(?:www\.)?cursor\.com\/(?:\w\w\/)?install-mcp|lmstudio:\/\/add_mcp|https:\/\/(?:insiders\.)?vscode\.dev\/redirect\/mcp\/install)\?(.*)$/s
const vscode = /^vscode(?:-insiders)?:\/?\/?mcp\/install\?(.*)$/s
const redirect = /^https:\/\/(?:insiders\.)?vscode\.dev\/redirect\?url=(.*)$/s

/** Reads a link that installs a server in Cursor, LM Studio or VS Code. Undefined for any other text. */
export function readInstallLink(text: string): LinkedServer | undefined {
  const target = redirect.exec(text)?.[1]
  if (target !== undefined) return readInstallLink(decodePercent(target) ?? '')
  const whole = vscode.exec(text)?.[1]
  if (whole !== undefined) return { name: undefined, json: decodePercent(whole) ?? whole }
  const query = named.exec(text)?.[1]
  if (query === undefined) return undefined
  const parameters = new URLSearchParams(query)
  const config = parameters.get('config') ?? ''
  const name = parameters.get('name') ?? undefined
  return { name, json: config.trimStart().startsWith('{') ? config : (decodeBase64(config) ?? '') }
}
