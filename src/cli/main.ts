#!/usr/bin/env node
import { homedir } from 'node:os'
import { execute } from './execute.ts'
import { EXIT } from './io/failure.ts'

// A closed pipe or a full disk must not stop the gateway: the line is lost, nothing else.
const { env, stdin, stdout, stderr } = process
const reader = new AbortController()
stdout.on('error', () => reader.abort())
stderr.on('error', () => {})

/** Longest time between a request to end the process and its end. */
const TERMINATE_MS = 3_000

process.exitCode = await execute(process.argv.slice(2), {
  env,
  home: env.HOME || homedir(),
  platform: process.platform,
  cwd: process.cwd(),
  program: process.argv[1]!,
  stdin,
  stdout,
  stderr,
  stdoutClosed: reader.signal,
  onTerminate: (stop) =>
    process.once('SIGTERM', () => {
      // a reader that takes nothing would keep the process alive
      setTimeout(() => process.exit(EXIT.done), TERMINATE_MS).unref()
      stop()
    }),
  // an interrupt exits a waiting command at once; its closed connection tells the gateway
  exitOnInterrupt: () =>
    process.once('SIGINT', () => {
      // starts a new line, so that the shell's prompt does not follow `^C`
      if (stderr.isTTY) stderr.write('\n')
      process.exit(EXIT.interrupted)
    })
})
