import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'

const LARGE_BYTES = 16_777_216

/** Reports V8's external memory before and after the module is loaded, and after the large memory is opened. */
const program = `
const external = () => process.memoryUsage().external
const readings = [external()]
const { scanBuffers } = await import('${new URL('../../src/json/scan.ts', import.meta.url).href}')
readings.push(external())
scanBuffers[1].open()
readings.push(external())
console.log(JSON.stringify(readings))
`

test('the scan memory for large texts is created when the first of them is read, not at the start', () => {
  const printed = execFileSync(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', program], {
    encoding: 'utf8'
  })
  const [before, loaded, opened] = JSON.parse(printed) as [number, number, number]
  // half of it: a collection meanwhile may free other memory
  assert.ok(loaded - before < LARGE_BYTES / 2, `${loaded - before} bytes`)
  assert.ok(opened - loaded > LARGE_BYTES / 2, `${opened - loaded} bytes`)
})
