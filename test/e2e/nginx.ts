import { spawnSync } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { addCleanup, tempDir } from '../store.ts'
import { root, run } from './harness.ts'
import { freePort } from '../ports.ts'
import { until } from '../until.ts'
import { needs } from '../needs.ts'

const command = ['nginx', '/usr/sbin/nginx'].find((name) => spawnSync(name, ['-v']).status === 0)

/** The `skip` option without nginx. */
export const noNginx = needs('nginx', command !== undefined)

/** A request and the replica that answered it. */
export interface RoutedRequest {
  /** `127.0.0.1:1234`; after several attempts, the last. */
  readonly replica: string
  readonly status: number
  readonly session: string
  readonly request: string
}

export interface Nginx {
  readonly url: string
  routedRequests(): Promise<RoutedRequest[]>
}

const configuration = (folder: string) => `
daemon off;
${process.getuid?.() === 0 ? 'user root;' : ''}
pid ${folder}/nginx.pid;
error_log stderr;
worker_processes 1;
events { worker_connections 512; }
http {
  log_format routed '$upstream_addr|$status|$http_mcp_session_id|$request_method $uri';
  access_log ${folder}/routed.log routed;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  include ${folder}/towpath.conf;
}
`

/** Starts nginx with deploy/nginx/towpath.conf in front of two replicas. */
export async function startNginx(t: TestContext, ports: readonly [number, number]): Promise<Nginx> {
  const folder = await tempDir(t)
  const port = await freePort()
  const shipped = await readFile(join(root, 'deploy/nginx/towpath.conf'), 'utf8')
  const ours = shipped
    .replace('listen 80;', `listen 127.0.0.1:${port};`)
    .replace('towpath-1:8080', `127.0.0.1:${ports[0]}`)
    .replace('towpath-2:8080', `127.0.0.1:${ports[1]}`)
  await writeFile(join(folder, 'towpath.conf'), ours)
  await writeFile(join(folder, 'nginx.conf'), configuration(folder))
  const nginx = run(t, command!, ['-p', folder, '-c', join(folder, 'nginx.conf')])
  // SIGKILL would leave its worker running
  addCleanup(t, () => nginx.stop())
  const url = `http://127.0.0.1:${port}`
  await until('nginx to listen', async () => {
    if (nginx.child.exitCode !== null) throw new Error(nginx.output())
    return (await fetch(`${url}/health`)).ok
  })
  return {
    url,
    async routedRequests() {
      const lines = (await readFile(join(folder, 'routed.log'), 'utf8')).trimEnd().split('\n')
      return lines.map((line) => {
        const [replicas = '', status, session = '', request = ''] = line.split('|')
        return { replica: replicas.split(', ').at(-1)!, status: Number(status), session, request }
      })
    }
  }
}
