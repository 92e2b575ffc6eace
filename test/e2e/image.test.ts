import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { environmentOf, instructionsOf, lastOf, parseDockerfile } from '../dockerfile.ts'
import { buildImage } from './image-builder.ts'
import { request, root, run } from './harness.ts'
import { freePort } from '../ports.ts'
import { until } from '../until.ts'
import { needs } from '../needs.ts'

const canBuild = process.platform === 'linux' && process.getuid?.() === 0
const skip = needs('Linux and root, for the steps of the image', canBuild)

const instructions = instructionsOf(parseDockerfile(await readFile(join(root, 'Dockerfile'), 'utf8')), 'latest')
const environment = environmentOf(instructions)
const argumentsOf = (name: string): string[] => {
  const text = lastOf(instructions, name)!
  return JSON.parse(text.slice(text.indexOf('[')))
}
const user = lastOf(instructions, 'USER')!
const uid = Number(user.split(':')[0])
/** `chroot` options for the image's user, without root's privileges, seeing only the image. */
const inImage = (image: string) => [`--userspec=${user}`, '--groups=', image]

const chroot = '/usr/sbin/chroot'

let folder = ''
let image = ''
before(async () => {
  if (skip) return
  folder = await mkdtemp(join(tmpdir(), 'towpath-image-'))
  image = await buildImage(folder)
})
after(() => rm(folder, { recursive: true, force: true }))

const node = '/usr/local/bin/node'
const withNode = ([command, ...args]: string[]) => {
  assert.equal(command, 'node')
  return [node, ...args]
}

/** Returns the start of a file of a process as read by another process of the image's user, or the error. */
const readAsUser = (pid: number, name: string): string => {
  const script = `
    try { process.stdout.write(require('node:fs').readFileSync('/proc/${pid}/${name}').subarray(0, 100)) }
    catch ({ code }) { process.stdout.write(code) }`
  return spawnSync(process.execPath, ['-e', script], { uid, gid: uid, cwd: '/', encoding: 'utf8' }).stdout
}

const title =
  'SE-11 the image as its steps make it starts, is healthy, serves its demo, hides what it knows, and ends with 0'
test(title, { skip }, async (t) => {
  const port = await freePort()
  const env = { ...environment, PATH: '/usr/local/bin:/usr/bin:/bin', PORT: String(port), TOWPATH_DEMO: 'on' }
  const start = [...withNode(argumentsOf('ENTRYPOINT')), ...argumentsOf('CMD')]
  const gateway = run(t, chroot, [...inImage(image), ...start], { env })
  const url = `http://127.0.0.1:${port}`
  const isHealthy = () =>
    spawnSync(chroot, [...inImage(image), ...withNode(argumentsOf('HEALTHCHECK'))], { env }).status === 0
  assert.equal(isHealthy(), false)
  await until('it to be ready', async () => gateway.child.exitCode !== null || (await fetch(`${url}/ready`)).ok)
  assert.equal(isHealthy(), true, gateway.output())
  assert.match(gateway.output(), /listening on 0\.0\.0\.0 without authentication/)

  const sum = await request(`${url}/api/v0/tools/invoke`, 'POST', { name: 'demo__add', a: 2, b: 40 })
  assert.deepEqual(sum.body?.structuredContent, { sum: 42 }, sum.text + gateway.output())

  // packages left by the build are present, each with its licence
  assert.equal((await request(`${url}/docs`, 'GET')).status, 200)
  const licences = await readFile(join(image, 'app/dist/src/licences.md'), 'utf8')
  assert.match(licences, /^## fastify - .*\(MIT\)$/m)
  assert.doesNotMatch(licences, /^## \S+ - .*\n(?:\n## |(?![^]))/m, 'a licence without its text')
  assert.match(await readFile(join(image, 'app/LICENSE'), 'utf8'), /Apache License/)

  const status = await readFile(`/proc/${gateway.pid}/status`, 'utf8')
  assert.match(status, new RegExp(`^Uid:\\s+${uid}\\s+${uid}\\s+${uid}\\s+${uid}$`, 'm'))
  assert.match(status, /^CapEff:\s+0+$/m)

  const other = run(t, 'sleep', ['60'], { uid, gid: uid, env: { PATH: '/usr/bin:/bin' } })
  assert.match(readAsUser(other.pid, 'environ'), /^PATH=/)
  for (const name of ['environ', 'mem', 'fd/0']) assert.equal(readAsUser(gateway.pid, name), 'EACCES', name)

  assert.equal(await gateway.stop(), 0, gateway.output())
})
