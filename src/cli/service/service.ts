import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, realpathSync } from 'node:fs'
import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { delimiter, dirname } from 'node:path'
import { PRODUCT } from '../../domain/product.ts'
import type { Cli } from '../io/cli.ts'
import { EXIT, Failure, notFound, usage } from '../io/failure.ts'
import type { Action } from '../io/runner.ts'
import { serviceManager, type ServiceManager } from './manager.ts'

interface Flags {
  readonly system?: boolean
  readonly dryRun?: boolean
}

const SETTINGS_HINT = `# Settings of the ${PRODUCT} service, one NAME=value per line; see the configuration reference.
# SERVER_MODE=enterprise
# DATABASE_URL=postgres://user:password@host/towpath
# TOWPATH_ENCRYPTION_KEY=
`

/** Runs a program of the service manager with this process's streams. Returns its exit code. */
async function run(cli: Cli, [program = '', ...args]: readonly string[]): Promise<number> {
  cli.trace(`${[program, ...args].join(' ')}`)
  const child = spawn(program, args, { stdio: ['ignore', 'inherit', 'inherit'], env: { ...cli.io.env } })
  try {
    const [code, signal] = (await once(child, 'exit')) as [number | null, string | null]
    return code ?? (signal === null ? 0 : EXIT.interrupted)
  } catch {
    throw new Failure(EXIT.failed, `"${program}" was not found`, {
      hint: 'a service needs systemd or launchd; in a container, let its runtime restart the gateway'
    })
  }
}

async function runAll(cli: Cli, commands: readonly (readonly string[])[]): Promise<void> {
  for (const command of commands) {
    const code = await run(cli, command)
    if (code !== 0) throw new Failure(EXIT.failed, `\`${command.join(' ')}\` failed with exit code ${code}`)
  }
}

const read = async (path: string) => {
  try {
    return await readFile(path, 'utf8')
  } catch {
    return undefined
  }
}

/** Creates the settings file with comments only; an existing one stays as it is. */
async function createSettings({ settingsFile }: ServiceManager): Promise<void> {
  if (settingsFile === undefined || existsSync(settingsFile)) return
  await mkdir(dirname(settingsFile), { recursive: true, mode: 0o700 })
  await writeFile(settingsFile, SETTINGS_HINT, { mode: 0o600, flag: 'wx' })
}

/** Folders of the PATH that no definition can contain are left out, like those that are not absolute. */
const CONTROL = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/u

/** The command of the service: this Node.js and this program, so that another version on the PATH does not matter. */
function serviceCommand(program: string, startFlags: readonly string[]): string[] {
  const command = [process.execPath, realpathSync(program), 'start', '--no-open', ...startFlags]
  if (!command[1]!.endsWith('.js'))
    throw usage(
      'a service needs the built program',
      `run \`npm run build\`, then \`node dist/src/cli/main.js service install\``
    )
  return command
}

/** Installs and starts the service; a second run replaces its definition and restarts it. */
export const install: Action<Flags> = async (cli, startFlags, { system = false, dryRun = false }) => {
  const manager = serviceManager(cli.io, system)
  const path = [dirname(process.execPath), ...(cli.io.env.PATH ?? '').split(delimiter)]
  const folders = [...new Set(path)].filter((folder) => folder.startsWith('/') && !CONTROL.test(folder))
  const text = manager.define(serviceCommand(cli.io.program, startFlags), folders.join(':'))
  if (dryRun) {
    const body = { file: manager.file, definition: text }
    return cli.show({ body }, { table: () => `# ${manager.file}\n${text}`, names: () => [manager.file] })
  }
  const isSame = (await read(manager.file)) === text
  // launchd refuses to load an agent that is loaded already
  if (existsSync(manager.file) && manager.settingsFile === undefined) await run(cli, manager.stop[0]!)
  await createSettings(manager)
  await mkdir(dirname(manager.file), { recursive: true })
  await writeFile(manager.file, text)
  await chmod(manager.file, 0o644)
  await runAll(cli, manager.start)
  cli.note(`${isSame ? 'Restarted' : 'Installed and started'} the ${manager.name} service ${manager.file}`)
  if (manager.settingsFile !== undefined) cli.note(`settings: ${manager.settingsFile}`)
  for (const note of manager.notes) cli.note(note)
  return EXIT.done
}

/** Returns the manager if the service is installed. Throws a Failure otherwise. */
function installed(cli: Cli, { system = false }: Flags): ServiceManager {
  const manager = serviceManager(cli.io, system)
  if (!existsSync(manager.file))
    throw notFound(`no service is installed: ${manager.file} does not exist`, `${PRODUCT} service install`)
  return manager
}

/** Stops the service and removes its definition; settings and data stay. */
export const uninstall: Action<Flags> = async (cli, _args, flags) => {
  const manager = installed(cli, flags)
  for (const command of manager.stop) await run(cli, command)
  await rm(manager.file)
  await runAll(cli, manager.reload)
  cli.note(`Removed the ${manager.name} service; its data and settings stay`)
}

/** Shows the state of the service, with the exit code of the service manager. */
export const status: Action<Flags> = (cli, _args, flags) => run(cli, installed(cli, flags).status)

/** Shows the log of the service. */
export const logs: Action<Flags & { readonly lines: string; readonly follow?: boolean }> = (cli, _args, flags) => {
  const lines = Number(flags.lines)
  if (!Number.isSafeInteger(lines) || lines < 1) throw usage(`--lines accepts a number from 1, not "${flags.lines}"`)
  return run(cli, installed(cli, flags).logs(lines, flags.follow ?? false))
}
