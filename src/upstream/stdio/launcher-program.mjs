import { spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import { connect } from 'node:net'
import { dirname } from 'node:path'

// The program of launcher.ts: plain JavaScript, because Node starts it from the sources too.

const [, , path] = process.argv

// files of servers are for their users alone
process.umask(0o077)

const send = (message) => {
  if (process.connected) process.send(message, () => {})
}

/** Connects one stream of a server to the gateway. */
const open = (header) =>
  new Promise((resolve, reject) => {
    const socket = connect(path)
    socket.once('error', reject)
    socket.write(header, () => resolve(socket))
  })

async function start({ id, file, args, ...options }) {
  const streams = []
  try {
    for (const fd of [0, 1, 2]) streams.push(await open(`${id}${fd}`))
    // a gateway without free descriptors accepts connections only to close them
    if (streams.some(({ destroyed }) => destroyed)) throw new Error('its streams were closed')
    const child = spawn(file, args, { ...options, shell: false, detached: true, stdio: streams })
    child.once('error', ({ code, message }) => send({ id, error: { code, message } }))
    child.once('exit', (exitCode, signalCode) => send({ id, exitCode, signalCode }))
    // the server has its own copies, and reads from now on
    for (const stream of streams.splice(0)) stream.destroy()
    if (child.pid !== undefined) send({ id, pid: child.pid })
  } catch ({ code, message }) {
    send({ id, error: { code, message } })
  } finally {
    for (const stream of streams) stream.destroy()
  }
}

process.on('message', (message) => void start(message))
process.on('disconnect', () => {
  rmSync(dirname(path), { recursive: true, force: true })
  process.exit()
})
