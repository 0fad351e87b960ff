import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';

import { bootMachine, type Machine } from './machine.js';
import { parseLiveReport, parseVitestReport, type TestResult, unreportedResult } from './machine-result.js';
import { type NodeImage } from './node-image.js';
import { installScript, PROJECT_IN_MACHINE } from './payload.js';
import { runDiskReplay } from './power/disk-replay.js';
import { runPowerCuts } from './power/power-cuts.js';
import { runShutdowns } from './power/shutdowns.js';
import { runUserland } from './userland/run-userland.js';
import { liveReportOf, type OutsideSuite, type Suite, suiteCommand } from './suites.js';

const INSTALL_LIMIT_MS = 10 * 60_000;
const REPORT = '/tmp/report.json';

/** What a session needs; paths absolute. */
export interface SessionOptions {
  readonly image: NodeImage;
  /** From makePayload. */
  readonly payload: string;
  /** The root file system that the images are made of. */
  readonly rootTar: () => Promise<string>;
  /** What suites wrote that did not pass is put there, with the consoles of their machines. */
  readonly folder: string;
  readonly say: (sentence: string) => void;
  readonly signal: AbortSignal;
}

/**
 * Runs suites on one image. They share a machine, booted for the first; one that hung or that a suite wants for itself
 * alone is thrown away. Dispose of it to end the machine.
 */
export class MachineSession implements AsyncDisposable {
  readonly #options: SessionOptions;
  #machine: Machine | undefined;

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  /** The results of all tests of the suite; rejects when the machine does not boot or on Ctrl-C. */
  async runSuite(suite: Suite, limitMinutes: number): Promise<TestResult[]> {
    const { say, signal } = this.#options;
    if (suite.ownMachine) await this.#end();
    if (suite.outside !== undefined) return this.#runOutside(suite.outside, limitMinutes);
    const machine = await this.#get();
    say(`${suite.name}: at most ${Math.ceil(limitMinutes)} min`);
    const script = `rm -f ${REPORT} ${liveReportOf(REPORT)}; ${suiteCommand(suite, PROJECT_IN_MACHINE, REPORT)}`;
    const { code, stdout, stderr, timedOut } = await machine.run(script, {
      ...{ timeoutMs: limitMinutes * 60_000, signal },
    });
    const report = await machine.run(`cat ${REPORT}`, { signal });
    const results =
      report.code === 0
        ? parseVitestReport(report.stdout, `${stdout}\n${stderr}`)
        : [
            ...parseLiveReport((await machine.run(`cat ${liveReportOf(REPORT)}`, { signal })).stdout),
            unreportedResult({ timedOut, code, output: `${stdout}\n${stderr}` }),
          ];
    const hasFailed = results.some(({ verdict }) => verdict !== 'passed');
    if (hasFailed) await this.#keepWords(machine, suite.name, `${stdout}\n${stderr}`);
    // What a suite that was cut off left behind is not for the next one.
    if (suite.ownMachine || timedOut || report.code !== 0) await this.#end();
    return results;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end();
  }

  /** What was found so far counts, also where the rest does not come in time. */
  async #runOutside(what: OutsideSuite, limitMinutes: number): Promise<TestResult[]> {
    const { image, payload, folder, say, signal } = this.#options;
    const results: TestResult[] = [];
    const onResult = (result: TestResult): void => {
      results.push(result);
      say(`${result.verdict}: ${result.title}${result.reason === undefined ? '' : `: ${result.reason}`}`);
    };
    const limit = AbortSignal.timeout(Math.ceil(limitMinutes * 60_000));
    const common = {
      image,
      payload,
      say,
      onResult,
      signal: AbortSignal.any([signal, limit]),
    };
    try {
      const place = await mkdtemp(path.join(folder, 'outside-'));
      switch (what.kind) {
        case 'power cuts':
          await runPowerCuts({ ...common, ...what });
          break;
        case 'shutdowns':
          await runShutdowns({ ...common, ...what });
          break;
        case 'disk replay':
          await runDiskReplay({ ...common, ...what, folder: place });
          break;
        case 'userland':
          await runUserland({
            ...common,
            ...what,
            folder: place,
            tar: await this.#options.rootTar(),
            project: process.cwd(),
          });
          break;
      }
      await rm(place, { recursive: true, force: true });
    } catch (error) {
      signal.throwIfAborted();
      const output = error instanceof Error ? error.message : String(error);
      results.push(unreportedResult({ timedOut: limit.aborted, code: 1, output }));
    }
    return results;
  }

  async #get(): Promise<Machine> {
    if (this.#machine !== undefined) return this.#machine;
    const { image, payload, say, signal } = this.#options;
    say(`booting ${image.name}`);
    this.#machine = await bootMachine(image, { payload, signal });
    say('installing the package in the machine');
    await this.#machine.check(installScript(), { timeoutMs: INSTALL_LIMIT_MS, signal });
    return this.#machine;
  }

  /** For whoever looks into a failure: what the suite wrote, and the machine's console. */
  async #keepWords(machine: Machine, suite: string, output: string): Promise<void> {
    const { image, folder } = this.#options;
    const file = path.join(folder, `${image.name}-${suite.replaceAll(/\W+/g, '-')}`);
    await writeFile(`${file}.log`, output);
    await copyFile(machine.consoleLog, `${file}.console.log`).catch(() => undefined);
  }

  async #end(): Promise<void> {
    await this.#machine?.[Symbol.asyncDispose]();
    this.#machine = undefined;
  }
}
