import { once } from 'node:events';
import { Duplex } from 'node:stream';
import { expect, it } from 'vitest';
import { SpdyClientSession } from './spdy-client-session.js';

it('continues after an empty piece of data', async () => {
  const sent: Buffer[] = [];
  const socket = new Duplex({
    read: () => undefined,
    write: (chunk: Buffer, _encoding, callback) => {
      sent.push(chunk);
      callback();
    },
  });
  const { outbound } = new SpdyClientSession(socket).open({ streamType: 'stdin' });
  outbound.write(Buffer.alloc(0));
  outbound.write('text');
  outbound.end();
  await once(outbound, 'finish');
  expect(Buffer.concat(sent).toString('latin1')).toContain('text');
  socket.destroy();
});
