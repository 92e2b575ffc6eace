import { parentPort, workerData } from 'node:worker_threads'

// a thread of the sources has no loader for TypeScript; the build, which is one .js file, needs none
const loader = 'tsx/esm/api'
if (import.meta.url.endsWith('.mjs')) (await import(loader)).register()
const { describeRoutes } = await import('./description.ts')

/** Program of the thread that `describe-in-thread.ts` starts: describes the routes once, and ends. */
parentPort.postMessage(await describeRoutes(JSON.parse(workerData)))
