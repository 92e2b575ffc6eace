import { execFile } from 'node:child_process'
import { chmod, cp, mkdir, readFile, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { parseDockerfile, type Instruction, type Stage } from '../dockerfile.ts'
import { cleanEnv, root } from './harness.ts'

const run = promisify(execFile)

/** Debian programs that the image's steps and Towpath itself need. */
const programs = ['sh', 'rm', 'install', 'groupadd', 'useradd']
const accounts = {
  passwd: 'root:x:0:0:root:/root:/bin/sh',
  group: 'root:x:0:',
  shadow: 'root:*:1::::::',
  gshadow: 'root:*::'
}
const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

async function librariesOf(program: string): Promise<string[]> {
  const { stdout } = await run('ldd', [program])
  return [...stdout.matchAll(/(\/\S+\.so[\w.]*)/g)].map(([, library = '']) => library)
}

async function put(file: string, folder: string, place = file): Promise<void> {
  const target = join(folder, place)
  await mkdir(dirname(target), { recursive: true })
  await cp(await realpath(file), target, { recursive: true, force: true })
}

async function addProgram(folder: string, name: string): Promise<void> {
  const { stdout } = await run('sh', ['-c', `command -v ${name}`], { env: { PATH: path } })
  const program = stdout.trim()
  for (const file of [program, ...(await librariesOf(program))]) await put(file, folder)
}

/** Creates a file system with this machine's programs in place of the Debian image. */
async function makeDebian(folder: string): Promise<void> {
  for (const name of ['etc', 'tmp', 'dev', 'home', 'usr/local/bin'])
    await mkdir(join(folder, name), { recursive: true })
  await chmod(join(folder, 'tmp'), 0o1777)
  for (const name of ['bin', 'sbin', 'lib', 'lib64']) {
    await mkdir(join(folder, 'usr', name), { recursive: true })
    await symlink(`usr/${name}`, join(folder, name))
  }
  for (const name of programs) await addProgram(folder, name)
  for (const file of await librariesOf(process.execPath)) await put(file, folder)
  for (const [name, line] of Object.entries(accounts)) await writeFile(join(folder, 'etc', name), `${line}\n`)
  for (const [name, minor] of [
    ['null', '3'],
    ['urandom', '9']
  ] as const) {
    await run('mknod', ['-m', '666', join(folder, 'dev', name), 'c', '1', minor])
  }
}

/** Creates a file system with this machine's Node in place of the Node image. */
async function makeNode(folder: string): Promise<void> {
  await put(process.execPath, folder, '/usr/local/bin/node')
}

/** Copies the build context as .dockerignore filters it. */
async function copyContext(sources: readonly string[], target: string): Promise<void> {
  const kept = (await readFile(join(root, '.dockerignore'), 'utf8')).match(/^!.+$/gm)!.map((line) => line.slice(1))
  const isAll = sources.length === 1 && sources[0] === '.'
  for (const name of kept) {
    if (isAll || sources.includes(name)) await cp(join(root, name), join(target, name), { recursive: true })
  }
}

interface Stand {
  /** Returns the folder of a stage's file system. */
  readonly folderOf: (stage: string) => string
  readonly stage: Stage
}

async function copy({ folderOf, stage }: Stand, { flags, text }: Instruction, workdir: string): Promise<void> {
  const folder = folderOf(stage.name)
  const sources = text.split(/\s+/)
  const target = join(folder, sources.pop()!.replace(/^(?!\/)/, `${workdir}/`))
  await mkdir(dirname(target), { recursive: true })
  if (flags['from'] === undefined) return copyContext(sources, target)
  for (const source of sources) await run('cp', ['-aT', join(folderOf(flags['from']), source), target])
  if (flags['chown']) await run('chown', ['-R', flags['chown'], target])
  if (flags['chmod']) await chmod(target, Number.parseInt(flags['chmod'], 8))
}

/**
 * Links the packages of this checkout, installed from the same lock file: installing them again is the slowest step.
 */
const install = (folder: string) => symlink(join(root, 'node_modules'), join(folder, 'node_modules'))

/** Leaves the packages that package.json depends on; fails if one of them has dependencies of its own. */
async function prune(folder: string): Promise<void> {
  await rm(join(folder, 'node_modules'))
  const read = async (path: string) => JSON.parse(await readFile(join(folder, path), 'utf8'))
  const { dependencies } = (await read('package.json')) as { dependencies: Record<string, string> }
  const { packages } = (await read('package-lock.json')) as { packages: Record<string, { dependencies?: object }> }
  const kept = Object.keys(dependencies).map((name) => `node_modules/${name}`)
  for (const path of kept) if (packages[path]?.dependencies) throw new Error(`${path} has dependencies`)
  await run('cp', ['-a', '--parents', ...kept, folder], { cwd: root })
}

const standIns: Readonly<Record<string, (folder: string) => Promise<void>>> = {
  'npm ci --ignore-scripts --no-audit --no-fund': install,
  'npm prune --omit=dev --ignore-scripts --no-audit --no-fund': prune
}

/** Returns false for commands that change packages: they would change those of this checkout. */
const isSafe = (command: string) => !command.startsWith('npm ') || command.startsWith('npm run ')

/** Runs a step: build steps in their folder with this machine's Node, image steps inside the image. */
async function execute({ folderOf, stage }: Stand, command: string, workdir: string, isBuild: boolean): Promise<void> {
  const folder = folderOf(stage.name)
  if (!isBuild) return void (await run('/usr/sbin/chroot', [folder, '/bin/sh', '-c', command], { env: { PATH: path } }))
  const standIn = standIns[command]
  if (standIn) return standIn(join(folder, workdir))
  if (!isSafe(command)) throw new Error(`there is nothing that stands in for: ${command}`)
  await run('sh', ['-c', command], { cwd: join(folder, workdir), env: cleanEnv() })
}

async function perform(stand: Stand, isBuild: boolean): Promise<void> {
  let workdir = '/'
  for (const instruction of stand.stage.instructions) {
    const { name, text } = instruction
    if (name === 'WORKDIR') {
      workdir = text
      await mkdir(join(stand.folderOf(stand.stage.name), workdir), { recursive: true })
    } else if (name === 'COPY') await copy(stand, instruction, workdir)
    else if (name === 'RUN') await execute(stand, text, workdir, isBuild)
  }
}

/**
 * Runs the Dockerfile steps of the slim image in `folder`, as root and without a container engine. Returns the root
 * folder of the image's file system.
 */
export async function buildImage(folder: string): Promise<string> {
  // container engines build with this umask, regardless of the developer's shell
  const before = process.umask(0o022)
  try {
    return await performAll(folder)
  } finally {
    process.umask(before)
  }
}

async function performAll(folder: string): Promise<string> {
  const stages = parseDockerfile(await readFile(join(root, 'Dockerfile'), 'utf8'))
  const folderOf = (stage: string) => join(folder, basename(stage))
  const stageOf = (name: string) => stages.find((stage) => stage.name === name)!
  await mkdir(folderOf('build'))
  await makeNode(folderOf('node'))
  await makeDebian(folderOf('runtime'))
  await perform({ folderOf, stage: stageOf('build') }, true)
  await perform({ folderOf, stage: stageOf('runtime') }, false)
  await stat(join(folderOf('runtime'), 'app/dist/src/cli/main.js'))
  return folderOf('runtime')
}
