import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FakeClock } from '../testing/fake-clock.js';
import { SystemClock } from '../util/clock.js';
import { parseManifest, type ParseRequest } from './parse-manifest.js';
import { ThreadedManifestParser } from './threaded-manifest-parser.js';

const PROJECT = fileURLToPath(new URL('../..', import.meta.url));
const POD =
  'apiVersion: v1\nkind: Pod\nmetadata: { name: web }\nspec: { containers: [{ name: a, image: b }] }\n';

const never = new AbortController().signal;
const request = (text: string): ParseRequest => ({
  ...{ bytes: Buffer.from(text), file: 'f.yaml', origin: { source: 'file', nodeName: 'node-1' } },
});
/** What {@link STUCK_WORKER} never ends with. */
const ENDLESS = { ...request(''), file: 'endless.yaml' };

/** The thread, with a file that it never gets through, whatever the machine. */
const STUCK_WORKER = `
import { parentPort } from 'node:worker_threads';
parentPort.on('message', ({ file }) => {
  while (file === 'endless.yaml');
});
await import('./manifest-worker.js');
`;

let folder: string;
let entry: URL;
let stuckEntry: URL;

/** A thread runs no TypeScript: its part is compiled, inside of the project, so that its packages are found. */
beforeAll(async () => {
  const cache = join(PROJECT, 'node_modules', '.cache');
  await mkdir(cache, { recursive: true });
  folder = await mkdtemp(join(cache, 'podloop-manifest-worker-'));
  for (const part of ['config', 'model', 'util']) {
    const sources = await readdir(join(PROJECT, 'src', part));
    await mkdir(join(folder, part));
    for (const source of sources.filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))) {
      const { outputText } = ts.transpileModule(await readFile(join(PROJECT, 'src', part, source), 'utf8'), {
        compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext },
      });
      await writeFile(join(folder, part, source.replace(/\.ts$/, '.js')), outputText);
    }
  }
  await cp(join(PROJECT, 'package.json'), join(folder, 'package.json'));
  entry = pathToFileURL(join(folder, 'config', 'manifest-worker.js'));
  await writeFile(join(folder, 'config', 'stuck-worker.js'), STUCK_WORKER);
  stuckEntry = pathToFileURL(join(folder, 'config', 'stuck-worker.js'));
});
afterAll(async () => rm(folder, { recursive: true, force: true }));

describe('a parser in a thread', () => {
  it('finds what the same code finds here', async () => {
    await using parser = new ThreadedManifestParser({ clock: new SystemClock(), entry });
    const objects = [1, 2, 3].map(
      (index) =>
        `apiVersion: v1\nkind: Secret\nmetadata: { name: s-${index} }\ndata: { k: AAEC }\nstringData: { x: ${'y'.repeat(40_000)} }\n`,
    );
    const texts = [POD, `${POD}---\n${POD.replace('image', 'imag')}`, '', 'a: ['];
    for (const text of [...texts, [POD, ...objects].join('---\n'), objects.join('---\n')]) {
      expect(await parser.parse(request(text), never)).toEqual({
        ...{ kind: 'parsed', manifest: parseManifest(request(text)) },
      });
    }
  });

  it('gives up what takes too long, leaves the event loop free meanwhile, and reads the next', async () => {
    await using parser = new ThreadedManifestParser({
      clock: new SystemClock(),
      deadlineMs: 2_000,
      entry: stuckEntry,
    });
    const warm = await parser.parse(request(POD), never);
    expect(warm.kind).toBe('parsed');
    const [slow, next] = [parser.parse(ENDLESS, never), parser.parse(request(POD), never)];
    let turns = 0;
    const counting = setInterval(() => turns++, 5);
    expect(await slow).toEqual({ kind: 'gave-up', why: 'reading it takes longer than 2 s' });
    clearInterval(counting);
    expect(turns).toBeGreaterThan(5);
    expect(await next).toMatchObject({ kind: 'parsed', manifest: { problems: [] } });
  });

  it('rejects when it is no longer wanted, and works on for others', async () => {
    await using parser = new ThreadedManifestParser({ clock: new SystemClock(), entry: stuckEntry });
    const stop = new AbortController();
    const slow = parser.parse(ENDLESS, stop.signal);
    const queued = parser.parse(request(POD), stop.signal);
    stop.abort(new Error('enough'));
    await expect(slow).rejects.toThrow('enough');
    await expect(queued).rejects.toThrow('enough');
    expect(await parser.parse(request(POD), never)).toMatchObject({ kind: 'parsed' });
  });

  it('ends when there is nothing to do, and begins again', async () => {
    const clock = new FakeClock();
    await using parser = new ThreadedManifestParser({ clock, idleMs: 1_000, entry });
    expect(await parser.parse(request(POD), never)).toMatchObject({ kind: 'parsed' });
    expect(clock.pendingTimers).toBe(1);
    await clock.advance(1_000);
    expect(clock.pendingTimers).toBe(0);
    expect(await parser.parse(request(POD), never)).toMatchObject({ kind: 'parsed' });
  });

  it('gives up when the thread cannot run', async () => {
    const lost = pathToFileURL(join(folder, 'not-there.js'));
    await using parser = new ThreadedManifestParser({ clock: new SystemClock(), entry: lost });
    expect(await parser.parse(request(POD), never)).toEqual({
      ...{
        kind: 'gave-up',
        why: expect.stringContaining('the thread that reads manifests failed') as string,
      },
    });
  });

  it('reads nothing once it is closed', async () => {
    const parser = new ThreadedManifestParser({ clock: new SystemClock(), entry });
    await parser[Symbol.asyncDispose]();
    expect(await parser.parse(request(POD), never)).toMatchObject({ kind: 'gave-up' });
  });
});
