import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { CliIo } from './io.ts'

/**
 * Returns the command that opens a URL: BROWSER, with `%s` replaced by the URL, or the platform's. On Windows not
 * `start`, a built-in of cmd.exe, which would read `&` in the URL as the start of another command.
 */
export function browserCommand(
  { env }: Pick<CliIo, 'env'>,
  url: string,
  platform = process.platform
): readonly string[] {
  const given = env.BROWSER?.trim()
  if (given) {
    const words = given.split(/\s+/)
    return given.includes('%s') ? words.map((word) => word.replaceAll('%s', url)) : [...words, url]
  }
  if (platform === 'darwin') return ['open', url]
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler', url]
  return ['xdg-open', url]
}

/** True if a browser that this process opens can be seen by the person at its terminal. */
export function canOpenBrowser({ env }: Pick<CliIo, 'env'>, platform = process.platform): boolean {
  if (env.BROWSER?.trim()) return true
  if (env.CI || env.SSH_CONNECTION || env.SSH_TTY) return false
  return platform === 'darwin' || platform === 'win32' || Boolean(env.DISPLAY || env.WAYLAND_DISPLAY)
}

/** Removes `TOWPATH_*` variables, such as the token, from the browser's environment. */
const withoutTowpathVariables = (env: CliIo['env']) =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !/^TOWPATH_/i.test(name)))

/**
 * Starts a browser without a shell. Returns false if the command could not be started; the page itself may still fail
 * to load.
 */
export async function openBrowser(io: Pick<CliIo, 'env'>, url: string): Promise<boolean> {
  const [command = '', ...args] = browserCommand(io, url)
  try {
    const child = spawn(command, args, {
      stdio: 'ignore',
      detached: true,
      env: withoutTowpathVariables(io.env),
      windowsHide: true
    })
    child.unref()
    await once(child, 'spawn')
    return true
  } catch {
    return false
  }
}
