import { expect, it } from 'vitest';
import { parseNetDev, readNetworkUsage } from './network-usage.js';

it('reads the counters of every interface but loopback', () => {
  const text = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:    1000      10    0    0    0     0          0         0     1000      10    0    0    0     0       0          0
  eth0: 12345678901   22    1    2    0     0          0         0      333      44    5    6    0     0       0          0
net1.5:7 1 0 0 0 0 0 0 8 1 0 0 0 0 0 0
`;
  expect(parseNetDev(text)).toEqual([
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

it('knows nothing about a process that is gone', () => {
  expect(readNetworkUsage(2 ** 22 + 1)).toEqual([]);
});
