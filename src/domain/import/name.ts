import { toServerName } from '../names.ts'

/** Parts of host and package names that do not identify a server */
const noise = /^(www|mcp|api|server|com|org|net|io|dev|ai|app|co|remote|node)$/

/**
 * Derives a name from a package or host: `@scope/server-time@1.2` → `time`, `https://mcp.example.com/mcp` → `example`.
 */
export function suggestName({ url, command, args = [] }: { url?: string; command?: string; args?: readonly string[] }) {
  if (url !== undefined) return fromUrl(url)
  const operand = args.find((arg) => !arg.startsWith('-')) ?? command ?? ''
  const base = operand.replace(/(?<=.)(@|==).*$/, '').replace(/^.*[\\/]/, '')
  const words = base.split(/[-_.]/).filter((word) => word !== '')
  const telling = words.filter((word) => !noise.test(word))
  return toServerName((telling.length > 0 ? telling : words).join('-'))
}

function fromUrl(url: string): string {
  if (!URL.canParse(url)) return 'server'
  const { hostname } = new URL(url)
  if (!/[a-z]/i.test(hostname.replace(/^\[.*\]$/, ''))) return toServerName(hostname)
  return toServerName(hostname.split('.').find((label) => !noise.test(label)) ?? hostname)
}
