import { createLogOutput, createNoticeOutput } from './io/readable-log.ts'

// the program of a worker, which `towpath start` starts with TOWPATH_WORKERS; a closed pipe must not stop it
const { stdout, stderr } = process
stdout.on('error', () => {})
stderr.on('error', () => {})

const { serveAsWorker } = await import('../workers/worker.ts')
serveAsWorker(({ out, log }) => ({ out: createNoticeOutput(stdout, out), log: createLogOutput(stderr, log) }))
