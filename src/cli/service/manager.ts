import { join } from 'node:path'
import { PRODUCT } from '../../domain/product.ts'
import { usage } from '../io/failure.ts'
import type { CliIo } from '../io/io.ts'
import { LABEL, launchAgent, systemUnit, UNIT, userUnit } from './definition.ts'

/** Service manager of this machine: where the definition belongs, and which commands control the service. */
export interface ServiceManager {
  readonly name: string
  /** Path of the definition. */
  readonly file: string
  /** Settings of the service, one `NAME=value` per line; undefined where the manager reads no such file. */
  readonly settingsFile: string | undefined
  /** Returns the text of the definition. */
  define(command: readonly string[], path: string): string
  /** Commands run after the definition is written, and before it is removed. */
  readonly start: readonly (readonly string[])[]
  readonly stop: readonly (readonly string[])[]
  /** Commands run after the definition was removed. */
  readonly reload: readonly (readonly string[])[]
  readonly status: readonly string[]
  /** Returns the command that shows the last lines of the log. */
  logs(lines: number, follow: boolean): readonly string[]
  /** Advice after the installation. */
  readonly notes: readonly string[]
}

function systemd({ env, home }: Pick<CliIo, 'env' | 'home'>, isSystem: boolean): ServiceManager {
  const scope = isSystem ? [] : ['--user']
  const config = env.XDG_CONFIG_HOME || join(home, '.config')
  const settingsFile = isSystem ? `/etc/${PRODUCT}/${PRODUCT}.env` : join(config, PRODUCT, `${PRODUCT}.env`)
  const control = (...words: string[]) => ['systemctl', ...scope, ...words]
  return {
    name: isSystem ? 'systemd' : 'systemd (user)',
    file: isSystem ? `/etc/systemd/system/${UNIT}` : join(config, 'systemd/user', UNIT),
    settingsFile,
    define: (command, path) => (isSystem ? systemUnit : userUnit)({ command, path, settingsFile }),
    start: [control('daemon-reload'), control('enable', UNIT), control('restart', UNIT)],
    stop: [control('disable', '--now', UNIT)],
    reload: [control('daemon-reload')],
    status: control('status', '--no-pager', '--lines=0', UNIT),
    logs: (lines, follow) => [
      'journalctl',
      ...scope,
      `--unit=${UNIT}`,
      `--lines=${lines}`,
      '--output=cat',
      ...(follow ? ['--follow'] : ['--no-pager'])
    ],
    notes: isSystem ? [] : ['it stops when you log out, unless you run `loginctl enable-linger`']
  }
}

function launchd({ home }: Pick<CliIo, 'home'>, uid: number): ServiceManager {
  const file = join(home, 'Library/LaunchAgents', `${LABEL}.plist`)
  const logFile = join(home, 'Library/Logs', `${PRODUCT}.log`)
  return {
    name: 'launchd',
    file,
    settingsFile: undefined,
    define: (command, path) => launchAgent({ command, path, logFile }),
    start: [['launchctl', 'bootstrap', `gui/${uid}`, file]],
    stop: [['launchctl', 'bootout', `gui/${uid}/${LABEL}`]],
    reload: [],
    status: ['launchctl', 'print', `gui/${uid}/${LABEL}`],
    logs: (lines, follow) => ['tail', '-n', `${lines}`, ...(follow ? ['-F'] : []), logFile],
    notes: [`the log is ${logFile}`]
  }
}

/** Returns the service manager of this platform. Throws a usage Failure where there is none. */
export function serviceManager(
  io: Pick<CliIo, 'env' | 'home'>,
  isSystem: boolean,
  platform: NodeJS.Platform = process.platform,
  uid = process.getuid?.() ?? 0
): ServiceManager {
  if (platform === 'linux') {
    if (isSystem && uid !== 0) throw usage('--system needs root', `run it with sudo, or without --system for your user`)
    return systemd(io, isSystem)
  }
  if (platform !== 'darwin')
    throw usage(
      `services are supported on Linux (systemd) and macOS (launchd), not on ${platform}`,
      `on Windows, let the Task Scheduler run \`${PRODUCT} start --no-open\` at log on`
    )
  if (isSystem) throw usage('--system is for Linux; on macOS the service belongs to your user')
  return launchd(io, uid)
}
