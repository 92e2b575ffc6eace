#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { PRODUCT } from '../domain/product.ts'
import { VERSION } from '../domain/version.ts'
import { addStart } from './commands/start.ts'

// A reader that went away or a full disk must not stop what is being served: the line is lost, nothing else.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})

const program = new Command(PRODUCT)
  .description('A gateway for MCP servers: their tools, prompts and resources at one place')
  .version(VERSION, '-v, --version')
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2))
  .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, `${PRODUCT}: `)) })

addStart(program, {
  env: process.env,
  readFile: (path) => readFileSync(path, 'utf8'),
  out: (line) => process.stdout.write(`${line}\n`),
  error: (line) => process.stderr.write(`${line}\n`)
})

await program.parseAsync()
