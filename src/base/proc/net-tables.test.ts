import { endianness } from 'node:os';
import { describe, expect, it } from 'vitest';
import {
  findDefaultLink,
  findSocketInode,
  findTcpListeners,
  parseRoutes,
  parseUnixSockets,
} from './net-tables.js';

describe.runIf(endianness() === 'LE')('routes', () => {
  it('have their interface and range, also a default route', () => {
    const table = [
      'Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT',
      'eth0\t00000000\t010011AC\t0003\t0\t0\t0\t00000000\t0\t0\t0',
      'eth0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0',
      'broken\tline',
      '',
    ].join('\n');
    expect(parseRoutes(table)).toEqual([
      { link: 'eth0', range: { network: 0, prefix: 0 } },
      { link: 'eth0', range: { network: 0xac110000, prefix: 16 } },
    ]);
  });
});

describe('the interface of the default route', () => {
  it('is that of the first one', () => {
    const table = 'Iface\tDestination\neth1\t000011AC\t0\neth0\t00000000\t0\neth1\t00000000\t0\n';
    expect(findDefaultLink(table)).toBe('eth0');
    expect(findDefaultLink('Iface\tDestination\n')).toBeUndefined();
  });
});

describe('sockets', () => {
  it('of TCP are found by the port at which they listen', () => {
    const table = [
      '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode',
      '   0: 0100007F:2808 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 7001 1 x',
      '   1: 0100007F:2808 0100007F:9999 01 00000000:00000000 00:00000000 00000000     0        0 7002 1 x',
      '   2: 0100007F:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 7003 1 x',
    ].join('\n');
    expect(findTcpListeners(table, 10_248)).toEqual(['7001']);
    expect(findTcpListeners(table, 80)).toEqual(['7003']);
  });

  it('with a path are listed with what they do, whatever is in the path', () => {
    const table = [
      'Num       RefCount Protocol Flags    Type St Inode Path',
      'ffff8880: 00000002 00000000 00010000 0001 01 12345 /run/with a blank.sock',
      'ffff8881: 00000003 00000000 00000000 0001 03 12346 /run/x.sock',
      'ffff8882: 00000003 00000000 00000000 0001 03 12347',
      'ffff8883: 00000002 00000000 00010000 0001 01 12348 @abstract',
    ].join('\n');
    expect(parseUnixSockets(table)).toEqual([
      { path: '/run/with a blank.sock', inode: '12345', isListening: true },
      { path: '/run/x.sock', inode: '12346', isListening: false },
    ]);
  });

  it('are known by the links of open files', () => {
    expect(findSocketInode('socket:[77]')).toBe('77');
    expect(findSocketInode('/dev/null')).toBeUndefined();
  });
});
