import { beforeEach, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { OwnLinks } from './own-links.js';

const HEAD = 'Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT';
/** As the kernel of a little-endian machine writes it. */
const route = (link: string, destination: string, mask: string): string =>
  [link, destination, '00000000', '0001', '0', '0', '0', mask, '0', '0', '0'].join('\t');
const DEFAULT = route('podloop1', '00000000', '00000000');
const LAN = route('eth0', '0001A8C0', '00FFFFFF');

let clock: FakeClock;
let table: string[];
let reads: number;
let links: OwnLinks;

beforeEach(() => {
  clock = new FakeClock();
  table = [HEAD, DEFAULT, route('podloop1', '0000580A', '0000FFFF'), LAN];
  reads = 0;
  links = new OwnLinks({
    ...{ clock, isOwn: (link) => link.startsWith('podloop') },
    read: async () => {
      reads++;
      return Promise.resolve(table.join('\n'));
    },
  });
});

it('an address is behind an interface by its route, and never by the default one', async () => {
  expect(await links.has('10.88.0.7')).toBe(true);
  expect(await links.has('10.88.255.254')).toBe(true);
  expect(await links.has('10.89.0.1')).toBe(false);
  expect(await links.has('192.168.1.5')).toBe(false);
  expect(await links.has('2001:db8::1')).toBe(false);
  expect(await links.has('')).toBe(false);
});

it('routes are read at most once a second for those who may ask', async () => {
  for (let index = 0; index < 5; index++) expect(await links.has('10.88.0.7')).toBe(true);
  expect(reads).toBe(1);
  await clock.advance(1_001);
  expect(await links.has('10.88.0.7')).toBe(true);
  expect(reads).toBe(2);
});

it('an interface that was just made is known at once, and others do not make it read for each packet', async () => {
  expect(await links.has('10.99.0.2')).toBe(false);
  table.push(route('podloop2', '0000630A', '0000FFFF'));
  expect(await links.has('10.99.0.2')).toBe(false);
  expect(reads).toBe(1);
  await clock.advance(21);
  expect(await links.has('10.99.0.2')).toBe(true);
  expect(reads).toBe(2);
});

it('nobody may ask where the routes cannot be read', async () => {
  const broken = new OwnLinks({
    ...{ clock, isOwn: () => true, read: () => Promise.reject(new Error('no such file')) },
  });
  expect(await broken.has('10.88.0.7')).toBe(false);
});
