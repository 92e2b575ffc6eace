// Fastify with one route: what start and memory are compared with. Plain JavaScript, for a compiler in the process would
// count as its own.
import Fastify from 'fastify'

const app = Fastify()
app.get('/health', async () => ({ status: 'ok' }))
await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT) })
