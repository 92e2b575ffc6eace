import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as passed } from 'node:timers/promises'
import { engines, freshPlace, startRegistry } from '../store.ts'
import { follow, startChild } from './registry-helpers.ts'

const ROUNDS = 3

for (const engine of engines) {
  test(`a registration cut off by kill -9 is absent or complete, and answered ones stay (${engine})`, async (t) => {
    const place = await freshPlace(t, engine)
    const answered: string[] = []
    for (let round = 0; round < ROUNDS; round++) {
      const child = startChild(t, 'write', place)
      await child.has(3)
      await passed(Math.random() * 60)
      await child.kill()
      answered.push(...child.lines.filter((line) => line !== 'open'))
    }
    const { latest } = await follow(await startRegistry(t, place))
    const { servers, version } = latest()
    assert.deepEqual(new Set(servers.map(({ items }) => items.length)), new Set([200]))
    const names = new Set(servers.map(({ name }) => name))
    assert.deepEqual(
      answered.filter((name) => !names.has(name)),
      []
    )
    // one version per committed registration, and at most one unacknowledged registration per kill
    assert.equal(version, String(servers.length))
    assert.ok(servers.length <= answered.length + ROUNDS)
  })
}
