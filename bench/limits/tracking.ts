/** The least that any program must do to lead a reader on: a bare redirect of Fastify. */
import Fastify from 'fastify';

const app = Fastify({ routerOptions: { maxParamLength: 8_192 } });
app.get('/t/c/:token', (_request, reply) => reply.redirect('https://shop.example.com/orders/NW-10482', 302));
console.log(`listening on ${await app.listen({ port: 0, host: '127.0.0.1' })}`);
process.on('SIGTERM', () => {
  app.server.closeAllConnections();
  void app.close();
});
