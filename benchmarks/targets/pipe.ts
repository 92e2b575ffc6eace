// A bare pipe: a server process for each connection, whose output lines are forwarded without parsing or checks.
import { spawn } from 'node:child_process'
import { createServer, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { listen } from './listen.ts'

const command = JSON.parse(process.env.COMMAND!) as [string, ...string[]]

function startPipe() {
  const child = spawn(command[0], command.slice(1), { stdio: ['pipe', 'pipe', 'ignore'] })
  const waiting: ServerResponse[] = []
  let parts: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => {
    parts.push(chunk)
    if (chunk.at(-1) !== 10) return
    const body = parts.length === 1 ? chunk : Buffer.concat(parts)
    parts = []
    const response = waiting.shift()
    response?.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length })
    response?.end(body)
  })
  return {
    ask(body: Buffer, response: ServerResponse) {
      waiting.push(response)
      child.stdin.write(body)
      child.stdin.write('\n')
    },
    end: () => child.kill()
  }
}

const pipes = new Map<Socket, ReturnType<typeof startPipe>>()

listen(
  createServer((request, response) => {
    const { socket } = request
    const pipe = pipes.get(socket) ?? startPipe()
    if (!pipes.has(socket)) {
      pipes.set(socket, pipe)
      socket.once('close', pipe.end)
    }
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => pipe.ask(Buffer.concat(chunks), response))
  })
)
process.on('exit', () => {
  for (const pipe of pipes.values()) pipe.end()
})
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => process.exit())
