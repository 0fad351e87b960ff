import { readdir, readFile } from 'node:fs/promises';

/** Processes whose command line holds this text. */
export async function processesWith(text: string): Promise<number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  const lines = await Promise.all(
    pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')),
  );
  return pids.filter((_, at) => lines[at]!.includes(text)).map(Number);
}
