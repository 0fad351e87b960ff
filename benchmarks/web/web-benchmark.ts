/**
 * The page of the built program in a browser, before an agent whose answers are made up: a long history, then changes
 * that come as fast as they are asked for. Measured in the browser: its long tasks and its heap.
 *
 * @module
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { chromium, type Page } from 'playwright-core';
import { findBrowser } from '#support/clients/find-browser.js';
import { FakeAgentServer } from '#support/fakes/fake-agent-server.js';
import { type Progress } from '../progress.js';
import { MadeUpNode } from './made-up-node.js';

/** How it is run. */
export interface WebBenchmarkOptions {
  readonly pods: number;
  /** Of the history when the page is opened. */
  readonly records: number;
  readonly changesPerSecond: number;
  readonly seconds: number;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

/** What was measured. */
export interface WebFigures {
  readonly pods: number;
  readonly records: number;
  readonly changesPerSecond: number;
  readonly seconds: number;
  readonly browser: string;
  /** From the opening of the page until the history is shown. */
  readonly loadedMs: number;
  /** Durations of tasks of more than 50 ms. */
  readonly tasks: { readonly loading: readonly number[]; readonly following: readonly number[] };
  /** Processor time of those of the last minute that took more than 50 ms of it: what is left of them on a machine of one's own. */
  readonly cpuMs: readonly number[];
  readonly heap: {
    /** After full collections. */
    readonly loadedMiB: number;
    readonly endMiB: number;
    /** Seconds and MiB, as it was found. */
    readonly samples: readonly (readonly [number, number])[];
  };
}

const PROGRAM = 'dist/program/podloop.js';
const MIB = 2 ** 20;
const LOAD_LIMIT_MS = 300_000;
const TICK_MS = 100;
/** What was sent last is on its way for a moment. */
const SETTLE_MS = 5_000;
const TRACED_MS = 60_000;
/** What makes a task a long one. */
const LONG_MS = 50;
const SAMPLE_EVERY_MS = 5_000;
const MOVE_EVERY_MS = 2_000;
/** Of each half minute, the last five seconds go to the table of pods. */
const TURN_MS = 30_000;
const PODS_FROM_MS = 25_000;
/** Counts long tasks from the first one of the page on. */
const COUNT_TASKS = `
  window.longTasks = [];
  new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries()) window.longTasks.push([startTime, duration]);
  }).observe({ type: 'longtask', buffered: true });`;

/** Runs it. */
export async function runWebBenchmark(options: WebBenchmarkOptions): Promise<WebFigures> {
  const { pods, records, changesPerSecond, seconds, progress, signal } = options;
  await using agent = await FakeAgentServer.start();
  const node = new MadeUpNode({ pods, records });
  node.serve(agent);
  await using server = await startPage(agent.socketPath, signal);
  const executablePath = findBrowser();
  if (executablePath === undefined) throw new Error('there is no Chromium on this machine');
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--js-flags=--expose-gc'] });
  try {
    const page = await browser.newPage({ viewport: { width: 1_360, height: 800 } });
    await page.addInitScript(COUNT_TASKS);
    progress.begin(`${records} records of ${pods} pods are read`);
    const beganMs = performance.now();
    await page.goto(server.link);
    await page.getByText('Connected').waitFor({ timeout: LOAD_LIMIT_MS });
    await page
      .getByRole('button', { name: /^pod-0/ })
      .first()
      .waitFor({ timeout: LOAD_LIMIT_MS });
    await node.historySent;
    const loadedMs = performance.now() - beganMs;
    await sleep(SETTLE_MS, undefined, { signal });
    const loading = await takeTasks(page);
    const loadedMiB = await collectedMiB(page);
    await takeTasks(page);
    let isTracing = false;
    const tracedFromMs = Math.max(0, seconds * 1_000 - TRACED_MS);
    const onTime = async (forMs: number): Promise<void> => {
      if (isTracing || forMs < tracedFromMs) return;
      isTracing = true;
      await browser.startTracing(page, { categories: ['toplevel'] });
    };
    const samples = await watch(page, node, { changesPerSecond, seconds, progress, signal, onTime });
    const cpuMs = readCpu(await browser.stopTracing());
    const following = await takeTasks(page);
    return {
      ...{ pods, records, changesPerSecond, seconds, loadedMs, browser: `Chromium ${browser.version()}` },
      ...{ tasks: { loading, following }, cpuMs },
      heap: { loadedMiB, endMiB: await collectedMiB(page), samples },
    };
  } finally {
    await browser.close();
  }
}

interface PageProcess extends AsyncDisposable {
  readonly link: string;
}

/** `podloop web` of the build, and its link. */
async function startPage(socketPath: string, signal: AbortSignal): Promise<PageProcess> {
  const args = [PROGRAM, 'web', '--socket', socketPath, '--port', '0', '--end-with-stdin'];
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'], signal });
  child.on('error', () => undefined);
  const ended = once(child, 'close').catch(() => undefined);
  for await (const line of createInterface({ input: child.stdout })) {
    const [link] = /http:\S+/.exec(line) ?? [];
    if (link === undefined) continue;
    child.stdout.resume();
    return {
      link,
      [Symbol.asyncDispose]: async () => {
        child.stdin.end();
        await ended;
      },
    };
  }
  throw new Error('podloop web has printed no link');
}

/** Lets changes come while somebody moves the timeline, and goes to the table of pods now and then; samples of the heap. */
async function watch(
  page: Page,
  node: MadeUpNode,
  {
    changesPerSecond,
    seconds,
    progress,
    signal,
    onTime,
  }: Pick<WebBenchmarkOptions, 'changesPerSecond' | 'seconds' | 'progress' | 'signal'> & {
    readonly onTime: (forMs: number) => Promise<void>;
  },
): Promise<[number, number][]> {
  const client = await page.context().newCDPSession(page);
  await client.send('Performance.enable');
  const samples: [number, number][] = [];
  const canvas = (await page.locator('.drawing canvas').boundingBox())!;
  const beganMs = performance.now();
  let [sent, sampledMs, movedMs, moves] = [0, -Infinity, 0, 0];
  let isAtPods = false;
  for (;;) {
    const forMs = performance.now() - beganMs;
    if (forMs >= seconds * 1_000) return samples;
    await onTime(forMs);
    // Late ticks send what they owe.
    const due = Math.floor((forMs / 1_000) * changesPerSecond);
    node.change(due - sent);
    sent = due;
    if (forMs - sampledMs >= SAMPLE_EVERY_MS) {
      sampledMs = forMs;
      const { metrics } = await client.send('Performance.getMetrics');
      const bytes = metrics.find(({ name }) => name === 'JSHeapUsedSize')?.value ?? NaN;
      samples.push([forMs / 1_000, bytes / MIB]);
      progress.step(Math.round(forMs / 1_000), seconds, 'seconds');
    }
    if (forMs % TURN_MS >= PODS_FROM_MS !== isAtPods) {
      isAtPods = !isAtPods;
      await page.keyboard.press(isAtPods ? '2' : '1');
    }
    if (forMs - movedMs >= MOVE_EVERY_MS && !isAtPods) {
      movedMs = forMs;
      await page.mouse.move(canvas.x + canvas.width / 2, canvas.y + 20 + (moves % 10) * 20);
      await page.keyboard.down('Control');
      await page.mouse.wheel(0, moves++ % 2 === 0 ? 240 : -240);
      await page.keyboard.up('Control');
    }
    await sleep(TICK_MS, undefined, { signal });
  }
}

/** Durations of the long tasks since the last time. */
async function takeTasks(page: Page): Promise<number[]> {
  const tasks = await page.evaluate<readonly (readonly [number, number])[]>('window.longTasks.splice(0)');
  return tasks.map(([, duration]) => duration);
}

interface TraceEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  /** Processor time in microseconds. */
  readonly tdur?: number;
  readonly args?: { readonly name?: string };
}

/** Long tasks of the page's main thread, which is the busiest of its kind, by their processor time. */
function readCpu(trace: Buffer): number[] {
  const { traceEvents } = JSON.parse(trace.toString()) as { readonly traceEvents: readonly TraceEvent[] };
  const threadOf = ({ pid, tid }: TraceEvent): string => `${pid} ${tid}`;
  const mains = new Map(
    traceEvents
      .filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain')
      .map((each) => [threadOf(each), [] as number[]]),
  );
  for (const event of traceEvents)
    if (event.name.endsWith('RunTask')) mains.get(threadOf(event))?.push((event.tdur ?? 0) / 1_000);
  const sum = (all: readonly number[]): number => all.reduce((one, other) => one + other, 0);
  const [busiest = []] = [...mains.values()].sort((one, other) => sum(other) - sum(one));
  return busiest.filter((ms) => ms > LONG_MS);
}

/** What lives in the heap of the page, after a full collection. */
async function collectedMiB(page: Page): Promise<number> {
  const client = await page.context().newCDPSession(page);
  await client.send('HeapProfiler.collectGarbage');
  const { usedSize } = await client.send('Runtime.getHeapUsage');
  await client.detach();
  return usedSize / MIB;
}
