// A hostile MCP server over stdio.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { answersTo, storm } from './messages.mjs'

const own = (process.env.OWN_TOOLS ?? '').split(',')
const out = async (chunk) => {
  if (!process.stdout.write(chunk)) await once(process.stdout, 'drain')
}
process.stdout.on('error', () => process.exit())

/** Attacks with processes and pipes, by tool name. */
const deeds = {
  async stderr() {
    for (let at = 0; at < 3_000; at++) {
      const line = `\u001b[2J\u001b]0;x\u0007${'e'.repeat(at % 9_000)}${at % 3 === 0 ? '' : '\n'}`
      if (!process.stderr.write(line)) await once(process.stderr, 'drain')
    }
  },
  async endless() {
    for (let at = 0; at < 40; at++) await out('x'.repeat(1_000_000))
    await out('\n')
  },
  async crumbs(id) {
    for (const byte of JSON.stringify({ jsonrpc: '2.0', id, result: { content: [] } })) {
      await out(byte)
      await delay(1)
    }
    await out('\n')
  },
  exits: () => process.exit(3),
  // children that hold the pipes for a while, in their own group; their parent does not wait for them
  zombies() {
    for (let at = 0; at < 10; at++) spawn('/bin/sleep', ['20'], { detached: true, stdio: 'inherit' }).unref()
    process.kill(process.pid, 'SIGKILL')
  },
  deaf: () => process.stdin.pause(),
  stops: () => process.kill(process.pid, 'SIGSTOP'),
  mute: () => process.stdout.destroy()
}

const answer = async (message) => {
  const name = message.method === 'tools/call' ? message.params?.name : ''
  if (Object.hasOwn(deeds, name)) return deeds[name](message.id)
  for (const bytes of answersTo(message, own)) {
    await out(bytes)
    await out('\n')
  }
}

const newline = Buffer.from('\n')
setInterval(() => {
  if (process.stdout.writableNeedDrain || process.stdout.destroyed) return
  for (const message of storm) process.stdout.write(Buffer.concat([message, newline]))
}, 50)
const lines = createInterface({ input: process.stdin })
lines.on('close', () => process.exit())
for await (const line of lines) void answer(JSON.parse(line)).catch(() => process.exit(1))
