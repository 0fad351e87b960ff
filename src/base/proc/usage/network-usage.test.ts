import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parseNetDev, readNetworkUsage } from './network-usage.js';

it('reads the counters of every interface', () => {
  const text = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:    1000      10    0    0    0     0          0         0     1000      10    0    0    0     0       0          0
  eth0: 12345678901   22    1    2    0     0          0         0      333      44    5    6    0     0       0          0
net1.5:7 1 0 0 0 0 0 0 8 1 0 0 0 0 0 0
`;
  expect(parseNetDev(text)).toEqual([
    {
      name: 'lo',
      received: { bytes: 1000n, packets: 10n, errors: 0n, dropped: 0n },
      sent: { bytes: 1000n, packets: 10n, errors: 0n, dropped: 0n },
    },
    {
      name: 'eth0',
      received: { bytes: 12345678901n, packets: 22n, errors: 1n, dropped: 2n },
      sent: { bytes: 333n, packets: 44n, errors: 5n, dropped: 6n },
    },
    {
      name: 'net1.5',
      received: { bytes: 7n, packets: 1n, errors: 0n, dropped: 0n },
      sent: { bytes: 8n, packets: 1n, errors: 0n, dropped: 0n },
    },
  ]);
});

it('leaves out loopback for a process', () => {
  const own = parseNetDev(readFileSync('/proc/self/net/dev', 'utf8')).map(({ name }) => name);
  expect(own).toContain('lo');
  const names = readNetworkUsage(process.pid).map(({ name }) => name);
  expect(names).toEqual(own.filter((name) => name !== 'lo'));
});

it('knows nothing about a process that is gone', () => {
  expect(readNetworkUsage(2 ** 22 + 1)).toEqual([]);
});
