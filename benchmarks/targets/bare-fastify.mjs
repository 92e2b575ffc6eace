// Fastify with one route: the baseline for start time and memory. Plain JavaScript, since a TypeScript loader in the
// process would add to its cost.
import Fastify from 'fastify'

const app = Fastify()
app.get('/health', async () => ({ status: 'ok' }))
await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT) })
