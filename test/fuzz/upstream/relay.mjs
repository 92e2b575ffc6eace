// Forwards bytes between stdin, stdout and a socket on loopback: `node relay.mjs <port> <name>`. Its first line names
// the server.
import { connect } from 'node:net'

const socket = connect(Number(process.argv[2]), '127.0.0.1')
socket.write(`${process.argv[3]}\n`)
process.stdin.pipe(socket)
socket.pipe(process.stdout)
socket.on('close', () => process.exit())
socket.on('error', () => process.exit(1))
process.stdout.on('error', () => process.exit(1))
