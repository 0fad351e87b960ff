import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { SystemClock } from '#base/time/clock.js';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { parseManifest, type ParseRequest } from './parse-manifest.js';
import { ThreadedManifestParser, type ThreadedManifestParserOptions } from './threaded-manifest-parser.js';

const PROJECT = fileURLToPath(new URL('../../../..', import.meta.url));
const POD =
  'apiVersion: v1\nkind: Pod\nmetadata: { name: web }\nspec: { containers: [{ name: a, image: b }] }\n';

const never = new AbortController().signal;
const request = (text: string): ParseRequest => ({
  ...{ bytes: Buffer.from(text), file: 'f.yaml', origin: { source: 'file', nodeName: 'node-1' } },
});
const parserOf = (options: Partial<ThreadedManifestParserOptions>): ThreadedManifestParser =>
  new ThreadedManifestParser({ clock: new SystemClock(), logger: SILENT_LOGGER, ...options });
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

const inFolder = (name: string): URL =>
  pathToFileURL(join(folder, 'dist/node/desired/manifests', `${name}.js`));
async function writeThread(name: string, code: string): Promise<URL> {
  await writeFile(inFolder(name), code);
  return inFolder(name);
}

/** A thread runs no TypeScript: its part is compiled, inside of the project, so that its packages are found. */
beforeAll(async () => {
  const cache = join(PROJECT, 'node_modules', '.cache');
  await mkdir(cache, { recursive: true });
  folder = await mkdtemp(join(cache, 'podloop-manifest-worker-'));
  for (const part of ['node/desired', 'kube', 'base']) {
    const sources = await readdir(join(PROJECT, 'src', part), { recursive: true });
    for (const source of sources.filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))) {
      const { outputText } = ts.transpileModule(await readFile(join(PROJECT, 'src', part, source), 'utf8'), {
        compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext },
      });
      const compiled = join(folder, 'dist', part, source.replace(/\.ts$/, '.js'));
      await mkdir(dirname(compiled), { recursive: true });
      await writeFile(compiled, outputText);
    }
  }
  await cp(join(PROJECT, 'package.json'), join(folder, 'package.json'));
  entry = inFolder('manifest-worker');
  stuckEntry = await writeThread('stuck-worker', STUCK_WORKER);
});
afterAll(async () => rm(folder, { recursive: true, force: true }));

describe('a parser in a thread', () => {
  it('finds what the same code finds here', async () => {
    await using parser = parserOf({ entry });
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
    await using parser = parserOf({ deadlineMs: 2_000, entry: stuckEntry });
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
    await using parser = parserOf({ entry: stuckEntry });
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
    await using parser = parserOf({ clock, idleMs: 1_000, entry });
    expect(await parser.parse(request(POD), never)).toMatchObject({ kind: 'parsed' });
    expect(clock.pendingTimers).toBe(1);
    await clock.advance(1_000);
    expect(clock.pendingTimers).toBe(0);
    expect(await parser.parse(request(POD), never)).toMatchObject({ kind: 'parsed' });
  });

  it('gives up when the thread cannot run', async () => {
    const logger = new LogRecorder();
    await using parser = parserOf({
      entry: await writeThread('broken', "throw new Error('broken');"),
      logger,
    });
    expect(await parser.parse(request(POD), never)).toEqual({
      ...{
        kind: 'gave-up',
        why: expect.stringContaining('the thread that reads manifests failed') as string,
      },
    });
    expect(logger.lines).toEqual([]);
  });

  it.each([
    ['the thread begins with', async () => Promise.resolve(inFolder('not-there'))],
    ['the thread imports', async () => writeThread('bereft', "import './not-there.js';")],
  ])('reads here, and says so once, when a file that %s is gone', async (_, makeEntry) => {
    const logger = new LogRecorder();
    await using parser = parserOf({ entry: await makeEntry(), logger });
    const texts = [POD, 'a: [', `${POD}---\n${POD.replace('image', 'imag')}`];
    const found = await Promise.all(texts.map(async (text) => parser.parse(request(text), never)));
    expect(found).toEqual(texts.map((text) => ({ kind: 'parsed', manifest: parseManifest(request(text)) })));
    expect(logger.lines).toEqual([
      {
        level: 'warn',
        message: expect.stringMatching(/replaced, restart the agent/) as string,
        fields: { err: expect.stringContaining('not-there.js') as string },
      },
    ]);
  });

  it('reads on here when its files go while it rests', async () => {
    const clock = new FakeClock();
    const logger = new LogRecorder();
    const mortal = await writeThread('mortal', "import './manifest-worker.js';");
    await using parser = parserOf({ clock, idleMs: 1_000, entry: mortal, logger });
    expect(await parser.parse(request(POD), never)).toMatchObject({ kind: 'parsed' });
    await rm(mortal);
    // A thread that runs has all that it needs.
    expect(await parser.parse(request(POD), never)).toMatchObject({ kind: 'parsed' });
    expect(logger.lines).toEqual([]);
    await clock.advance(1_000);
    expect(await parser.parse(request(POD), never)).toMatchObject({ kind: 'parsed' });
    expect(logger.lines).toHaveLength(1);
  });

  it('lets the event loop turn between what it reads here, and reads nothing that is no longer wanted', async () => {
    await using parser = parserOf({ entry: inFolder('not-there') });
    await parser.parse(request(POD), never);
    const stop = new AbortController();
    const [first, second] = [parser.parse(request(POD), never), parser.parse(request(POD), stop.signal)];
    let turns = 0;
    setImmediate(() => turns++);
    expect(await first).toMatchObject({ kind: 'parsed' });
    expect(turns).toBe(1);
    stop.abort(new Error('enough'));
    await expect(second).rejects.toThrow('enough');
  });

  it('reads nothing once it is closed', async () => {
    const parser = parserOf({ entry });
    await parser[Symbol.asyncDispose]();
    expect(await parser.parse(request(POD), never)).toMatchObject({ kind: 'gave-up' });
  });
});
