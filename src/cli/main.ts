#!/usr/bin/env node
import { homedir } from 'node:os'
import { execute } from './execute.ts'
import { EXIT } from './failure.ts'

// A reader that went away or a full disk must not stop what is being served: the line is lost, nothing else.
const { env, stdin, stdout, stderr } = process
const reader = new AbortController()
stdout.on('error', () => reader.abort())
stderr.on('error', () => {})

process.exitCode = await execute(process.argv.slice(2), {
  env,
  home: env.HOME || homedir(),
  cwd: process.cwd(),
  stdin,
  stdout,
  stderr,
  readerGone: reader.signal,
  // a command line that waits is left at once, and the gateway sees that nobody waits any more
  interruptible: () =>
    process.once('SIGINT', () => {
      // the shell's prompt is not to stand behind `^C`
      if (stderr.isTTY) stderr.write('\n')
      process.exit(EXIT.interrupted)
    })
})
