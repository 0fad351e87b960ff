import { chmod, link, lstat, mkdir, mkdtemp, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawnSync } from 'node:child_process';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { commonFileHandle } from '#support/fakes/common-file-handle.js';
import { findOpenBelow } from '#support/find-open-below.js';
import { askPort, findFreePort, type PortAnswer, RawClient } from '#support/clients/tcp-client.js';
import { SystemClock } from '#base/time/clock.js';
import { ApiError } from '../http/api-error.js';
import { ApiRouter } from '../http/api-router.js';
import { ApiServer } from '../http/api-server.js';
import { allowOwnHosts } from '../access/check-host.js';
import { readRange } from '../logs/read-range.js';
import { resolveInside } from '../logs/resolve-inside.js';
import { type FileLooks, serveLogFiles } from './serve-log-files.js';

let folder: string;
let logs: string;
let port: number;
let server: ApiServer;
let places: string[];
/** What never answers. */
let dead: string | undefined;

const looks: FileLooks = {
  run: async (place, look) => {
    places.push(place);
    if (place === dead) throw new ApiError('ServiceUnavailable', `${place} does not answer`);
    return look();
  },
};

beforeEach(async () => {
  [places, dead] = [[], undefined];
  folder = await mkdtemp(join(tmpdir(), 'podloop-logs-'));
  logs = join(folder, 'log');
  await mkdir(join(logs, 'pods/web'), { recursive: true });
  await writeFile(join(folder, 'secret'), 'not to be seen');
  await writeFile(join(logs, 'syslog'), '0123456789');
  await writeFile(join(logs, 'pods/web/0.log'), 'of a pod\n');
  const router = new ApiRouter();
  const handler = serveLogFiles({ logsDir: logs, looks });
  router.answer('GET', '/logs', handler);
  router.answer('GET', '/logs/*', handler);
  server = new ApiServer({ clock: new SystemClock(), router, authorize: allowOwnHosts(() => []) });
  port = await findFreePort();
  await server.listenAtPort('127.0.0.1', port);
});
afterEach(async () => {
  await server.close();
  await rm(folder, { recursive: true });
});

const ask = async (path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<PortAnswer> =>
  askPort(port, path, { headers, method });

/** As it is written: clients tidy paths up before they send them. */
async function askRaw(path: string): Promise<string> {
  using client = new RawClient(port, `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
  await client.closed;
  return client.got;
}

describe("the node's log folder", () => {
  it('is shown as an index with links, and files as they are', async () => {
    await writeFile(join(logs, `<b>"'&.log`), 'odd');
    await writeFile(join(logs, 'a:b %2f.log'), 'odder');
    const index = await ask('/logs/');
    expect(index).toMatchObject({ code: 200, headers: { 'content-type': 'text/html; charset=utf-8' } });
    expect(index.text).toContain('<a href="./pods/">pods/</a>\n<a href="./syslog">syslog</a>\n');
    expect(index.text).toContain('&lt;b&gt;&#34;&#39;&amp;.log</a>');
    expect(index.text).not.toContain('<b>');
    const [, odd = ''] = /href="\.\/(a%3A[^"]*)"/.exec(index.text) ?? [];
    expect((await ask(`/logs/${odd}`)).text).toBe('odder');
    expect(await ask('/logs/syslog')).toMatchObject({
      ...{ code: 200, text: '0123456789' },
      headers: {
        'content-type': 'text/plain; charset=utf-8',
        'content-length': '10',
        'x-content-type-options': 'nosniff',
      },
    });
    expect(await ask('/logs/syslog', {}, 'HEAD')).toMatchObject({ code: 200, text: '' });
    expect(await ask('/logs/pods')).toMatchObject({ code: 301, headers: { location: 'pods/' } });
    expect((await ask('/logs/pods/web/')).text).toContain('0.log');
    expect((await ask('/logs/nothing')).code).toBe(404);
    expect((await ask('/logs/syslog', {}, 'DELETE')).code).toBe(405);
  });

  it('hands out parts of files, as programs that follow them ask for', async () => {
    expect(await ask('/logs/syslog', { Range: 'bytes=2-4' })).toMatchObject({
      ...{ code: 206, text: '234', headers: { 'content-range': 'bytes 2-4/10', 'content-length': '3' } },
    });
    expect((await ask('/logs/syslog', { Range: 'bytes=-3' })).text).toBe('789');
    expect(await ask('/logs/syslog', { Range: 'bytes=10-' })).toMatchObject({
      ...{ code: 416, headers: { 'content-range': 'bytes */10' } },
    });
    const { headers } = await ask('/logs/syslog');
    const modified = headers['last-modified']!;
    expect((await ask('/logs/syslog', { 'If-Modified-Since': modified })).code).toBe(304);
    expect((await ask('/logs/syslog', { Range: 'bytes=0-0', 'If-Range': modified })).code).toBe(206);
    await utimes(join(logs, 'syslog'), new Date(), new Date(Date.now() + 5_000));
    expect((await ask('/logs/syslog', { 'If-Modified-Since': modified })).code).toBe(200);
    expect((await ask('/logs/syslog', { Range: 'bytes=0-0', 'If-Range': modified })).code).toBe(200);
  });

  it('carries more than fits into memory at once, at the pace of its reader', async () => {
    await writeFile(join(logs, 'large'), Buffer.alloc(20 * 1024 * 1024, 'x'));
    expect((await ask('/logs/large')).text).toHaveLength(20 * 1024 * 1024);
  });

  it('follows links that stay below it, and none that leaves', async () => {
    await symlink('syslog', join(logs, 'inside'));
    await symlink(join(logs, 'pods/web'), join(logs, 'web'));
    await symlink('../secret', join(logs, 'out'));
    await symlink(folder, join(logs, 'up'));
    await symlink('loop', join(logs, 'loop'));
    await symlink('nowhere', join(logs, 'dangling'));
    expect((await ask('/logs/inside')).text).toBe('0123456789');
    expect((await ask('/logs/web/0.log')).text).toBe('of a pod\n');
    expect((await ask('/logs/')).text).toContain('<a href="./web/">web/</a>');
    for (const path of ['out', 'up', 'up/', 'up/secret', 'up/log/syslog/x', 'loop', 'dangling']) {
      const { code, text } = await ask(`/logs/${path}`);
      expect([path, code, text.includes('not to be seen')]).toEqual([path, 404, false]);
    }
  });

  it('follows links over links, whatever they call the folder, and never looks at what is outside', async () => {
    const named = join(folder, 'by-another-name');
    await symlink(logs, named);
    await symlink('pods', join(logs, 'first'));
    await symlink('first/web', join(logs, 'second'));
    await symlink(join(logs, 'pods/../second/0.log'), join(logs, 'third'));
    await symlink('../../syslog', join(logs, 'pods/web/back'));
    expect(await resolveInside([logs, named], ['third'])).toEqual(['pods', 'web', '0.log']);
    expect(await resolveInside([logs, named], ['second', 'back'])).toEqual(['syslog']);
    await symlink(join(named, 'syslog'), join(logs, 'named'));
    expect(await resolveInside([logs, named], ['named'])).toEqual(['syslog']);
    expect(await resolveInside([logs], ['named'])).toBeUndefined();
    await symlink('loop-b', join(logs, 'loop-a'));
    await symlink('loop-a', join(logs, 'loop-b'));
    expect(await resolveInside([logs], ['loop-a'])).toBeUndefined();
    // On the way there is a file that would say ENOTDIR, if it was looked at.
    await symlink('../secret/../log/syslog', join(logs, 'around'));
    expect((await ask('/logs/around')).text).toBe('0123456789');
  });

  it('is read by looks that are bounded, and shown without what does not answer', async () => {
    await writeFile(join(logs, 'two'), Buffer.alloc(100 * 1024));
    await ask('/logs/two');
    expect(places).toEqual(Array.from({ length: 3 }, () => join(logs, 'two')));
    for (const name of ['a', 'b', 'c']) await symlink('pods', join(logs, name));
    dead = join(logs, 'b');
    places = [];
    const { text } = await ask('/logs/');
    expect(text).toContain('<a href="./pods/">pods/</a>\n');
    expect(text).toContain('<a href="./b">b</a>\n');
    // What is behind it is shown as it can be without a look.
    const looked = places.filter((place) => place !== logs);
    expect(looked.at(-1)).toBe(dead);
    expect((await ask('/logs/b/')).code).toBe(503);
  });

  it('breaks off a file that does not answer any more, without waiting for it', async () => {
    await writeFile(join(logs, 'large'), Buffer.alloc(200 * 1024));
    let reads = 0;
    const hanging: FileLooks = {
      run: async (_place, look) => {
        if (++reads < 4) return look();
        // The read is under way, and nobody waits for it.
        void look();
        throw new ApiError('ServiceUnavailable', 'large does not answer');
      },
    };
    const handler = serveLogFiles({ logsDir: logs, looks: hanging });
    const { signal } = new AbortController();
    const answer = await handler({
      ...{ method: 'GET', path: '/logs/large', params: { '*': 'large' }, headers: {}, signal },
      ...{ query: new URLSearchParams(), readBody: async () => undefined },
    });
    if (answer.kind !== 'stream') throw new Error(`it is ${answer.kind}`);
    let bytes = 0;
    const reading = (async () => {
      for await (const piece of answer.pieces) bytes += piece.length;
    })();
    await expect(reading).rejects.toThrow('large does not answer');
    expect(bytes).toBe(2 * 64 * 1024);
  });

  it('keeps nothing open of a file that fails, or whose answer comes too late', async () => {
    const stat = vi.spyOn(await commonFileHandle(), 'stat');
    using _ = stat;
    // The first stat call distinguishes the file from a folder; the second is for its answer.
    stat.mockImplementationOnce(async () => lstat(join(logs, 'syslog')));
    stat.mockRejectedValueOnce(new Error('no disk'));
    expect((await ask('/logs/syslog')).code).toBe(500);
    expect(await findOpenBelow(folder)).toEqual([]);
    const late: FileLooks = {
      run: async (_place, look, discard) => {
        const found = await look();
        expect(await findOpenBelow(folder)).toEqual([join(logs, 'syslog')]);
        discard?.(found);
        throw new ApiError('ServiceUnavailable', 'syslog does not answer');
      },
    };
    const { signal } = new AbortController();
    const asked = serveLogFiles({ logsDir: logs, looks: late })({
      ...{ method: 'GET', path: '/logs/syslog', params: { '*': 'syslog' }, headers: {}, signal },
      ...{ query: new URLSearchParams(), readBody: async () => undefined },
    });
    await expect(asked).rejects.toThrow('syslog does not answer');
    await expect.poll(() => findOpenBelow(folder)).toEqual([]);
  });

  it.runIf(process.getuid?.() === 0)('refuses what the agent may not read with 403', async () => {
    await chmod(folder, 0o711);
    await chmod(join(logs, 'syslog'), 0o600);
    await chmod(join(logs, 'pods'), 0o700);
    process.seteuid!(65_534);
    try {
      expect(await ask('/logs/syslog')).toMatchObject({ code: 403, text: '403 Forbidden\n' });
      expect((await ask('/logs/pods/')).code).toBe(403);
      expect((await ask('/logs/pods/web/0.log')).code).toBe(403);
      expect((await ask('/logs/nothing')).code).toBe(404);
      expect((await ask('/logs/')).code).toBe(200);
    } finally {
      process.seteuid!(0);
    }
  });

  it.each([
    ...[
      '/logs/../secret',
      '/logs/%2e%2e/secret',
      '/logs/%2E%2E%2Fsecret',
      '/logs/..%2fsecret',
      '/logs/pods/../../secret',
    ],
    ...[
      '/logs/..%5csecret',
      '/logs/..\\secret',
      '/logs/%252e%252e/secret',
      '/logs/.%00./secret',
      '/logs/syslog%00',
      '/logs/%',
    ],
    ...[
      '/logs/pods/..',
      '/logs//../secret',
      '/logs/./../secret',
      '//logs/../secret',
      '/logs/%c0%ae%c0%ae/secret',
    ],
    ...['/logs;/../secret', '/logs/..;/secret', '/logs/pods%2fweb%2f0.log'],
  ])('is not left by %s', async (path) => {
    const got = await askRaw(path);
    expect(got).toMatch(/^HTTP\/1.1 4\d\d /);
    expect(got).not.toContain('not to be seen');
  });

  it('shows nothing but files and folders', async () => {
    const pipe = join(logs, 'pipe');
    expect(spawnSync('mkfifo', [pipe]).status).toBe(0);
    expect((await ask('/logs/pipe')).code).toBe(404);
    await symlink('/dev/zero', join(logs, 'zero'));
    expect((await ask('/logs/zero')).code).toBe(404);
    await link(join(logs, 'syslog'), join(logs, 'other-name'));
    expect((await ask('/logs/other-name')).text).toBe('0123456789');
  });
});

describe('a range', () => {
  it.each([
    ['', undefined],
    ['bytes=0-', { first: 0, end: 10 }],
    ['bytes=9-9', { first: 9, end: 10 }],
    ['bytes=3-100', { first: 3, end: 10 }],
    ['bytes=-100', { first: 0, end: 10 }],
    ['bytes=-0', 'unsatisfiable'],
    ['bytes=10-11', 'unsatisfiable'],
    ['bytes=5-4', undefined],
    ['bytes=0-1,3-4', undefined],
    ['bytes=-', undefined],
    ['lines=0-1', undefined],
    ['bytes=99999999999999999999-', 'unsatisfiable'],
    ['bytes= 1 - 2 ', { first: 1, end: 3 }],
    ['bytes=1 2-3', undefined],
  ] as const)('%j of ten bytes is %j', (header, expected) => {
    expect(readRange(header, 10)).toEqual(expected);
  });

  it('is read as fast where it has as many spaces as a header takes', () => {
    const spaces = ' '.repeat(250_000);
    expect(readRange(`bytes=${spaces}x`, 10)).toBeUndefined();
    expect(readRange(`bytes=1-${spaces}x`, 10)).toBeUndefined();
    expect(readRange(`bytes=${spaces}1${spaces}-${spaces}2`, 10)).toEqual({ first: 1, end: 3 });
  });

  it('of an empty file is not to be had', () => {
    expect(readRange('bytes=0-', 0)).toBe('unsatisfiable');
    expect(readRange('bytes=-1', 0)).toBe('unsatisfiable');
  });
});
