import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Runs a script of bash and answers with what it printed, trimmed; rejects with its errors unless it ended with 0. */
export async function shell(script: string): Promise<string> {
  const { stdout } = await run('bash', ['-c', script], { maxBuffer: 16 * 1024 * 1024 });
  return stdout.trim();
}

/** What a script prints whatever it ends with. */
export async function shellOutput(script: string): Promise<string> {
  return shell(`${script}\ntrue`);
}

/** Runs the script again and again until what it prints is as wanted; the test's own limit ends it. */
export async function untilPrints(
  script: string,
  wanted: RegExp | ((text: string) => boolean),
): Promise<string> {
  const isWanted = typeof wanted === 'function' ? wanted : (text: string) => wanted.test(text);
  for (;;) {
    const ranAt = performance.now();
    const text = await shellOutput(script).catch((error: unknown) => String(error));
    if (isWanted(text)) return text;
    // Starting podloop costs an emulated machine many seconds, which it lacks elsewhere.
    await sleep(Math.max(500, performance.now() - ranAt));
  }
}
