/** Remote server that an `npx mcp-remote` command connects to */
export interface Bridge {
  readonly url: string
  readonly transport: string | undefined
  readonly headers: Record<string, string>
}

/** Expands variables in header values from the process environment, as `mcp-remote` does. */
const expandVariables = (value: string, env: Readonly<Record<string, string>>) =>
  value.replace(/\$\{([^{}]+)\}/g, (whole, name: string) => (Object.hasOwn(env, name) ? env[name]! : whole))

const header = /^([^:\s]+)\s*:\s*(.*)$/s

/** Parses a command that only connects a stdio client to a remote server; undefined for any other command. */
export function parseBridge(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>
): Bridge | undefined {
  const words = [command.replace(/^.*[\\/]/, '').replace(/\.(cmd|exe)$/i, ''), ...args]
  const at = words.findIndex((word) => /^mcp-remote(@[\w.-]+)?$/.test(word))
  const isRun = words.slice(0, at).every((word) => /^(npx|bunx|pnpx|pnpm|dlx|npm|exec|cmd|\/c|--|-y|--yes)$/.test(word))
  const url = words[at + 1]
  if (at < 0 || !isRun || url === undefined || !/^https?:\/\//.test(url)) return undefined
  const flags = words.slice(at + 2)
  const valuesOf = (flag: string) => flags.filter((_, index) => flags[index - 1] === flag)
  const headers = valuesOf('--header').flatMap((text) => {
    const [, name, value] = header.exec(text) ?? []
    return name === undefined || value === undefined ? [] : [[name, expandVariables(value, env)]]
  })
  const transport = valuesOf('--transport').includes('sse-only') ? 'sse' : undefined
  return { url, transport, headers: Object.fromEntries(headers) as Record<string, string> }
}
