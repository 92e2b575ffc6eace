import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** More than a range has, so that each process takes two. */
const COUNT = 250
const source = `
  const { freePort } = await import(${JSON.stringify(new URL('../ports.ts', import.meta.url).href)})
  const ports = await Promise.all(Array.from({ length: ${COUNT} }, () => freePort()))
  process.stdout.write(JSON.stringify(ports))
  // ends when all processes have taken theirs
  process.stdin.resume()
`

test('test processes that take ports at once never take the same one', async () => {
  const cwd = fileURLToPath(new URL('../..', import.meta.url))
  const processes = [1, 2, 3].map(() => {
    const running = promisify(execFile)(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', source], {
      cwd
    })
    const written = new Promise<void>((resolve) => running.child.stdout!.once('data', () => resolve()))
    return { running, written: Promise.race([written, running]) }
  })
  await Promise.all(processes.map((each) => each.written))
  for (const { running } of processes) running.child.stdin!.end()
  const outputs = await Promise.all(processes.map((each) => each.running))
  const ports = outputs.flatMap(({ stdout }) => JSON.parse(stdout) as number[])
  assert.equal(ports.length, processes.length * COUNT)
  assert.equal(new Set(ports).size, ports.length)
})
