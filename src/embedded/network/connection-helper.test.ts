import { expect, it } from 'vitest';
import { ConnectionHelper } from './connection-helper.js';

it('rejects at once when the signal has been aborted before', async () => {
  const helper = new ConnectionHelper({ holderPid: process.pid, namespace: 'net:[1]' });
  try {
    const reason = new Error('nobody wants it');
    await expect(helper.connect(1, AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(helper.openCount).toBe(0);
  } finally {
    helper.end();
    await helper.ended;
  }
});
