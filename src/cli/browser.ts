import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { World } from './world.ts'

/**
 * The command that opens a URL: BROWSER, `%s` in it standing for the URL, or what the system has. On Windows not
 * `start`, which is of cmd.exe: that would take a `&` in the URL for the begin of another command.
 */
export function openerOf({ env }: Pick<World, 'env'>, url: string, platform = process.platform): readonly string[] {
  const given = env.BROWSER?.trim()
  if (given) {
    const words = given.split(/\s+/)
    return given.includes('%s') ? words.map((word) => word.replaceAll('%s', url)) : [...words, url]
  }
  if (platform === 'darwin') return ['open', url]
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler', url]
  return ['xdg-open', url]
}

/** A browser has no use for our token. */
const withoutOurs = (env: World['env']) =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !/^TOWPATH_/i.test(name)))

/** Whether a browser was started: what becomes of it is not known. No shell reads the URL. */
export async function openBrowser(world: World, url: string): Promise<boolean> {
  const [command = '', ...args] = openerOf(world, url)
  try {
    const child = spawn(command, args, {
      stdio: 'ignore',
      detached: true,
      env: withoutOurs(world.env),
      windowsHide: true
    })
    child.unref()
    await once(child, 'spawn')
    return true
  } catch {
    return false
  }
}
